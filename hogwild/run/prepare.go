package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/display"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/hogwild/tuning"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// coordinator is the life of a run.
type coordinator struct {
	*elastic
	next *coordinator // carries on after divergence
	heed func()       // has a signal cancel the run
}

func newCoordinator(c config.Config, o Options) *coordinator {
	silenced, giveUp := context.WithCancelCause(context.Background())
	t := &task{job: tuning.Job{Asked: c}, options: o, peers: alone{}, remote: newRemote(), report: display.Reporter{Display: display.New(o.Progress, o.Quiet)}}
	e := &epochs{shared: &shared{task: t, patience: answerTime, silenced: silenced, giveUp: giveUp}, rounds: alone{}}
	v := &view{scorer: &scorer{saver: &saver{epochs: e, evaluated: make(chan evaluation, 1)}}}
	return &coordinator{elastic: &elastic{crew: &crew{view: v}}}
}

// prepare does all that can fail because of what the user gave, before any process
// is started: data, model, memory, what is resumed, the run folder.
func (r *coordinator) prepare() error {
	start := time.Now()
	var err error
	_ = r.peers.Together(func() error { err = r.take(); return nil }) // the error is this node's: all hear of it now
	r.shown.loadTime = time.Since(start)
	if err = r.settleJob(err); err != nil {
		return err // all nodes have one
	}
	if err = r.peers.Agree(nil, r.allocate()); err != nil {
		return err
	}
	if err = r.begin(); err == nil {
		err = r.renewed(r.owner.Upload())
	}
	if err == nil {
		err = r.startRounds()
	}
	if err = r.peers.Agree(nil, err); err == nil {
		_, err = r.rounds.Align() // processors with other instructions may round the first weights in another way
	}
	if err == nil {
		err = inFolder(r.openFolder())
	}
	if err == nil && r.prints != nil {
		r.prints.Open(r.dir)
	}
	return r.peers.Agree(nil, err)
}

// take locks the run folder and reads the data.
func (r *coordinator) take() error {
	err := r.claim()
	if err == nil {
		err = errors.Join(mayWrite("cpuprofile", r.options.CPUProfile, atomicfile.Profile), mayWrite("trace", r.options.Trace, atomicfile.Trace))
	}
	if err == nil {
		err = r.load()
	}
	return err
}

// allocate makes the shared memory.
func (r *coordinator) allocate() error {
	err := r.makeModels()
	if err == nil {
		err = r.mayTake(model.Size(r.trained))
	}
	if err != nil {
		return err
	}
	if r.mem, err = control.CreateWeights(&r.job, model.Size(r.trained)); err != nil {
		return config.Usage("%w", err) // as of the data that do not fit
	}
	if err := r.own(); err != nil {
		return err
	}
	sum, err := r.mem.Seg.Checksum()
	if err != nil {
		return err
	}
	r.announced = control.Header{Version: config.Version, Job: r.job, Rows: r.train.Rows,
		Weights: sum, Data: r.train.Checksum, Device: r.owner.Handle(), Start: control.Start{Epoch: 1},
		CPUProfile: r.options.CPUProfile, Trace: r.options.Trace}
	r.block, err = control.Create(r.announced)
	return err
}

// mayWrite is an error if the file of a flag cannot be written, or is of another kind: better now than by worker 0.
func mayWrite(flag, path string, kind atomicfile.Kind) error {
	if path == "" {
		return nil
	}
	if err := atomicfile.Check(path, kind, false); errors.Is(err, atomicfile.ErrOther) {
		return config.Usage("%s: %w", flag, err)
	}
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		err = f.Close()
	}
	if err == nil && missing != nil {
		err = os.Remove(path) // the run may not come so far
	}
	if err != nil {
		return config.Usage("%s: %w; name a file in a folder that can be written", flag, err)
	}
	return nil
}

// load reads the data, and finds the model that fits them.
func (r *coordinator) load() error {
	c := &r.job
	if err := r.lookAtGiven(); err != nil {
		return err
	}
	defer r.report.During("reading " + rundir.DataText(c.Asked.Data) + " ...")()
	if err := r.describe(); err != nil {
		return err
	}
	stops := false
	if r.train == nil {
		s, err := c.Asked.ReadSets(data.Options{Memory: r.options.TrainData, TestMemory: r.options.TestData, Unjudged: r.options.unjudged})
		if err != nil {
			return err
		}
		r.train, r.validation, r.test = s.Train, s.Validation, s.Test
		stops = score.HoldOut(&c.Asked, s.HeldOut)
	}
	if r.train.Rows < c.Asked.Workers && r.anyNumber {
		c.Asked.Workers = r.train.Rows
	}
	if r.train.Rows < c.Asked.Workers {
		return config.Usage("workers %d: %s has only %s; use --workers %d", c.Asked.Workers, c.Asked.Data, human.Plural(r.train.Rows, "training row"), r.train.Rows)
	}
	if c.Asked.TargetAccuracy > 0 && len(r.train.Classes) == 0 && r.evaluator == nil { // a program measures what it likes
		return config.Usage("target-accuracy %g: %s has values to predict, not classes; use target-loss", c.Asked.TargetAccuracy, c.Asked.Data)
	}
	auto := tuning.SettleRatings(&c.Asked, &r.train.Meta)
	spec, err := model.Resolve(c.Asked.ModelOptions(), r.train.Meta)
	if err != nil {
		return config.Usage("%w", err)
	}
	c.Asked.Model, c.Asked.Loss = spec.Name, string(spec.Loss)
	for _, err := range []error{c.Asked.CheckIdle(&r.train.Meta), c.Asked.CheckFamily(spec.Family()), c.Asked.CheckWrite(spec.Family(), r.train.Kind)} {
		if err != nil {
			return err
		}
	}
	plain, err := model.New(c.Asked.ModelOptions(), r.train.Meta)
	if err != nil {
		return config.Usage("%w", err)
	}
	r.facts = tuning.Measure(&c.Asked, spec, plain, r.train)
	if c.Asked.Tuned != "" {
		auto = append(auto, fmt.Sprintf("lr %g (%s)", c.Asked.LR, c.Asked.Tuned))
	}
	auto = slices.Concat(auto, tuning.Settle(&c.Asked, spec, r.facts))
	if err := r.mayTake(model.Size(plain.Params())); err != nil { // merges come on top: before a rehearsal takes time and memory
		return err
	}
	r.rehearse(spec, plain)
	if stops {
		auto = append(auto, score.HoldOutNote(&c.Asked, r.validation.Rows))
	}
	c.Used.Auto = strings.Join(auto, ", ")
	if r.back != nil {
		c.Used.Auto = r.back.auto
	}
	r.spec, r.params = spec, plain.Params()
	r.judge = score.NewJudge(spec, data.Sets{Train: r.train, Validation: r.validation, Test: r.test})
	return c.Asked.CheckLRMin()
}

// begin writes the first weights: the model's own, or those of the run to resume.
func (r *coordinator) begin() error {
	r.position = rundir.Position{Epoch: 1}
	from := r.job.Asked.Resume
	if r.back != nil {
		from = r.back.from
	}
	if from == "" {
		if err := r.welcome(true, r.mem.W); err != nil {
			return err
		}
		r.firstWeights(r.first, r.mem.W)
		if err := r.givenWeights(); err != nil {
			return err
		}
		if c, ok := model.CenteredOf(r.trained); ok && r.job.Used.MergesCentered() {
			c.ToMerged(r.mem.W, r.train.Mean)
		}
		return nil
	}
	f, err := r.readSnapshot(from)
	if err != nil {
		return err
	}
	if l := f.Job.Asked.Layout; l != nil && r.job.Asked.Layout != nil {
		if err := program.Compare(l, r.job.Asked.Layout); err != nil {
			return config.Usage("resume %s: %w", from, err)
		}
	}
	if err := f.SameData(&r.job.Asked, r.train.Checksum); err != nil {
		return err
	}
	s, err := f.Load(&r.job, r.params, r.trained, r.train.Mean)
	f.Release()
	if err != nil {
		return err
	}
	if err := s.MayResume(&r.job, r.train.Meta); err != nil {
		return err
	}
	if err := s.Check(r.params, r.trained); err != nil {
		return err
	}
	r.position, r.copy.Best, r.copy.Damaged = s.Pos, s.Best, s.Damaged
	r.before = s.Pos.Wall
	if f.Damage != nil {
		r.report.Event("%v; the run continues from the previous snapshot, after epoch %d", f.Damage, s.Pos.Epoch-1)
	}
	if err := r.mayContinue(&s.Pos); err != nil {
		return err
	}
	if n := len(r.position.History); n > 0 {
		r.last = &r.position.History[n-1]
	}
	r.announced.Start = r.startOf(&s.Pos)
	if err := r.block.Announce(r.announced); err != nil {
		return err
	}
	if s.Pos.Within {
		r.block.Set(control.WordEpoch, s.Pos.Epoch) // whose chunks these are
	}
	r.resumed = s
	if err := r.welcome(false, nil); err != nil {
		return err
	}
	return s.Restore(r.mem, r.block, r.job.Asked.Optimizer)
}

// close gives back whatever was made.
func (r *coordinator) close() {
	defer close(r.remote.over) // last of all: then the run has ended
	r.remote.close()           // while the folder is locked
	defer r.folder.Close()
	r.interrupted = nil // the run has ended: this is no time for hurry
	r.endEvaluator()
	stays := r.workers != nil && !r.workers.Close(r.patience/hurry)
	if r.owner != nil && !stays {
		_ = r.ask(r.patience, r.owner.Close) // after the last use: there is nothing left to lose
	}
	if r.silenced.Err() != nil || stays {
		return // who does not return may yet use the shared memory: it goes when this process ends
	}
	if r.block != nil {
		_ = r.block.Seg.Close()
	}
	if r.mem != nil {
		_ = r.mem.Seg.Close()
	}
	for _, s := range []*data.Set{r.train, r.validation, r.test} {
		if s != nil && !r.lent {
			_ = s.Close()
		}
	}
}
