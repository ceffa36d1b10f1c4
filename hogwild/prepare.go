package hogwild

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

func newCoordinator(c Config) *coordinator {
	n := c.Workers
	return &coordinator{cfg: Job{Config: c}, launch: newLauncher(), display: newDisplay(c.Progress, c.Quiet),
		procs: make([]*process, n), restarts: make([]int, n), gone: make([]bool, n), rates: make([]int64, n),
		evaluated: make(chan evaluation, 1), respawn: make(chan int, n)}
}

// prepare does all that can fail because of what the user gave, before any process
// is started: data, model, memory, what is resumed, the run folder.
func (r *coordinator) prepare() error {
	start := time.Now()
	if err := r.load(); err != nil {
		return err
	}
	r.loadTime = time.Since(start)
	var err error
	if r.mem, err = createWeights(&r.cfg, model.Size(r.trained)); err != nil {
		return err
	}
	if err := r.own(); err != nil {
		return err
	}
	sum, err := r.mem.seg.Checksum()
	if err != nil {
		return err
	}
	r.world, err = createWorld(worldHeader{Version: Version, Job: r.cfg, Rows: r.train.Rows,
		Weights: sum, Data: r.train.Checksum, Device: r.owner.Handle(),
		CPUProfile: r.cfg.CPUProfile, Trace: r.cfg.Trace})
	if err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.mirror(r.owner.Upload()); err != nil {
		return err
	}
	if err := r.openFolder(); err != nil {
		return usage("run folder: %w", err)
	}
	return nil
}

// own makes the memory of the place where the weights are to be.
func (r *coordinator) own() error {
	b, err := backend(&r.cfg.Config)
	if err != nil {
		return err
	}
	setup, err := newSetup(&r.cfg, r.mem, r.train)
	if err != nil {
		return err
	}
	if r.owner, err = b.Own(setup); err != nil {
		return usage("%w", err)
	}
	return nil
}

// load reads the data and makes the model that fits them.
func (r *coordinator) load() error {
	c := &r.cfg
	if r.train == nil {
		var err error
		if r.train, r.test, err = readData(&c.Config); err != nil {
			return err
		}
	}
	if r.train.Rows < c.Workers {
		return usage("workers %d: %s has %d training rows, fewer than workers", c.Workers, c.Data, r.train.Rows)
	}
	if c.TargetAccuracy > 0 && len(r.train.Classes) == 0 {
		return usage("target-accuracy %g: %s has values to predict, not classes; use target-loss", c.TargetAccuracy, c.Data)
	}
	if !model.Registered(c.Model) {
		spec, err := model.Resolve(c.modelOptions(), r.train.Meta)
		if err != nil {
			return usage("%w", err)
		}
		c.Model, c.Loss = spec.Name, string(spec.Loss)
		if err := c.checkSimplex(); err != nil {
			return err
		}
	}
	if err := c.checkWrite(r.train.Kind); err != nil {
		return err
	}
	c.fillBatch(r.train.Kind)
	plain, err := model.New(c.modelOptions(), r.train.Meta)
	if err != nil {
		return usage("%w", err)
	}
	if c.Law, err = c.law(r.train); err != nil {
		return err
	}
	if r.first, err = model.New(c.trained(r.train), r.train.Meta); err != nil {
		return usage("%w", err)
	}
	r.params, r.trained = plain.Params(), r.first.Params()
	return nil
}

// readData reads the training and the test set.
func readData(c *Config) (train, test *data.Set, err error) {
	task, err := model.Task(c.Model, c.Loss)
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	train, test, err = data.Load(data.Options{Path: c.Data, Test: c.Test, Format: c.Format,
		Target: c.Target, Scale: c.Scale, Limit: c.Limit, Task: task, Seed: c.Seed})
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	return train, test, nil
}

// begin writes the first weights: the model's own, or those of the run to resume.
func (r *coordinator) begin() error {
	r.pos = position{Epoch: 1}
	if r.cfg.Resume == "" {
		r.first.Init(r.mem.w, r.cfg.Seed)
		return nil
	}
	f, err := readSnapshot(r.cfg.Resume)
	if err != nil {
		return err
	}
	s, err := f.load(r.params, r.trained, r.cfg.Law.Center)
	if err != nil {
		return err
	}
	if err := s.mayResume(&r.cfg, r.train.Meta); err != nil {
		return err
	}
	if int(s.pos.Epoch) > r.cfg.Epochs {
		return usage("resume %s: its %d epochs are done; give --epochs more than that to go on", r.cfg.Resume, s.pos.Epoch-1)
	}
	r.pos = s.pos
	if n := len(r.pos.History); n > 0 {
		r.last = &r.pos.History[n-1]
	}
	return s.restore(r.mem, r.world, r.cfg.Optimizer)
}

// FreshRun is the run folder that Run would choose for c now. (Where the model is chosen
// by the data, Run names it too.)
func FreshRun(c Config) string {
	if folder := cmp.Or(c.Run, c.Resume); folder != "" {
		return folder
	}
	return freshFolder(filepath.Join("runs", time.Now().Format("20060102-150405")+"-"+runName(&c)))
}

// openFolder makes the run folder: the one to resume, or a new one.
func (r *coordinator) openFolder() error {
	r.dir = FreshRun(r.cfg.Config)
	r.cfg.Run = r.dir
	if r.cfg.Resume != r.dir {
		if _, err := os.Stat(filepath.Join(r.dir, snapshotFile)); err == nil {
			return fmt.Errorf("%s holds a run already: resume it with --resume %s, or name another folder", r.dir, r.dir)
		}
	}
	if err := os.MkdirAll(r.dir, 0o777); err != nil {
		return err
	}
	// That of a run which this one takes the place of, or goes on from: until it ends it
	// has none.
	if err := os.Remove(filepath.Join(r.dir, resultFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	text, err := yaml.Marshal(r.cfg.Config)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.dir, configFile), text, 0o666); err != nil {
		return err
	}
	if r.metrics, err = openMetrics(r.dir, r.cfg.Resume == r.dir); err != nil {
		return err
	}
	r.board, err = openEvents(r.dir, r.cfg.Resume == r.dir, r.pos.Examples)
	return err
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// runName is a folder's name from what is trained on what.
func runName(c *Config) string {
	name := filepath.Base(c.Data) + "-" + c.Model
	return strings.Trim(notInNames.ReplaceAllString(name, "-"), "-.")
}

// freshFolder is a name that is not taken.
func freshFolder(name string) string {
	for i, try := 2, name; ; i++ {
		if _, err := os.Lstat(try); errors.Is(err, os.ErrNotExist) {
			return try
		}
		try = fmt.Sprintf("%s-%d", name, i)
	}
}

// close gives back whatever was made.
func (r *coordinator) close() {
	r.launch.close()
	if r.owner != nil {
		_ = r.owner.Close() // after the last use: there is nothing left to lose
	}
	if r.board != nil {
		_ = r.board.close()
	}
	if r.metrics != nil {
		_ = r.metrics.close() // every line was written, and checked, by a call of its own
	}
	if r.world != nil {
		_ = r.world.seg.Close()
	}
	if r.mem != nil {
		_ = r.mem.seg.Close()
	}
	for _, s := range []*data.Set{r.train, r.test} {
		if s != nil && !r.lent {
			_ = s.Close()
		}
	}
}
