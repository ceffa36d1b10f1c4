package run

import (
	"fmt"
	"math"
	"sync"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/display"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/hogwild/tuning"
	"hogwild/hogwild/workers"
	"hogwild/internal/human"
)

// task is what is to be trained on what, and where the run is kept.
type task struct {
	job         tuning.Job
	options     Options
	anyNumber   bool  // the user named no number of workers
	peers       Peers // the other nodes of the job
	train, test *data.Set
	validation  *data.Set // nil without one
	lent        bool      // the sets are the caller's
	facts       tuning.Facts
	newton      *tuning.Newton // nil: no curvature is measured
	held        float64        // see tuning.Machine
	first       model.Model    // makes the first weights
	params      []model.Param  // of the model that the run leaves behind
	trained     []model.Param  // of the model as it trains it: they differ by centring
	spec        model.Spec
	judge       *score.Judge
	given       *rundir.Weights // of --init, until they are the first ones
	back        *rollback       // what it carries on from; nil: it is the first
	dir         string          // the run's folder
	folder      *rundir.Folder  // the same, locked
	remote      remote          // requests from other processes
	report      display.Reporter
	printed     sync.Once // people are told where programs print to
}

// choose decides what a run decides for itself, with settings on a machine with so many cores.
func (r *task) choose(c *config.Config, cores int) (tuning.Tuning, error) {
	t, err := tuning.Choose(c, r.spec, r.facts, tuning.Machine{Cores: cores, Held: r.held})
	t.Auto = r.job.Used.Auto
	return t, err
}

// makeModels makes the model as the run trains it.
func (r *task) makeModels() (err error) {
	if r.first, err = model.New(r.job.TrainedOptions(r.train), r.train.Meta); err != nil {
		return config.Usage("%w", err)
	}
	r.trained = r.first.Params()
	return nil
}

// mayTake refuses weights that memory has no room for: with the optimizers' state, shared and in
// the copy that is saved, and what each worker has of its own or between two merges.
func (r *task) mayTake(p int) error {
	c := &r.job
	copies := 2 * (1 + c.Asked.Optimizers()*c.Asked.Optimizer.Slots())
	if c.Asked.Mode.Kind == config.Sync {
		copies += c.Asked.Workers
	} else if c.Used.MergeEvery > 1 {
		copies += 2 * c.Asked.Workers
	}
	if c.Asked.Program != "" {
		copies++ // it maps one
	}
	sets := data.Sets{Train: r.train, Validation: r.validation, Test: r.test}
	need := min(4*float64(p)*float64(copies), math.MaxInt64/2) // some are more than an int64 counts
	if err := sets.MayTake(c.Asked.MemoryLimit(), int64(need), "model "+c.Asked.Model, human.Count(int64(p))+" weights"); err != nil {
		return config.Usage("%w", err)
	}
	return nil
}

// firstWeights writes those of a new run.
func (r *task) firstWeights(m model.Model, w []float32) {
	m.Init(w, r.job.Asked.Seed)
	r.spec.Start(w, m.Params(), r.train.Y)
}

// readSnapshot reads the snapshot to resume: of several nodes the first does, and gives it to all.
func (r *task) readSnapshot(dir string) (*rundir.Saved, error) {
	var f *rundir.Saved
	file, err := r.peers.Share(func() (file []byte, err error) {
		if f = r.options.Snapshot; f == nil || r.back != nil || !f.IsNewest(dir) {
			f, err = rundir.ReadSnapshot(dir)
		}
		if err == nil {
			file = f.Bytes
		}
		return file, err
	})
	if err != nil || f != nil {
		return f, err
	}
	return rundir.ParseSnapshot(file)
}

// lastGood says what is left after the numbers diverged.
func (r *task) lastGood() string {
	if r.folder == nil {
		return "the last good snapshot is node 0's"
	}
	if !rundir.HasSnapshot(r.dir) {
		return "no snapshot was saved"
	}
	return "the last good snapshot is in " + r.dir
}

// programLog is a log for the program of a rank, or nil if the run has no programs.
func (r *task) programLog(rank int) *workers.Log {
	if r.job.Asked.Program == "" {
		return nil
	}
	name := fmt.Sprintf("program-%d.log", rank)
	if rank == program.Coordinator {
		name = "program-evaluator.log"
	}
	return workers.NewLog(name, r.dir, func(path string) {
		r.printed.Do(func() { r.report.Say("what a program prints is in " + path) })
	})
}

// rollback is what a coordinator knows of the one before it, which diverged.
type rollback struct {
	n        int    // of this call of Run: 1 is the first
	why      error  // what diverged
	from     string // the folder whose snapshot it continues from; "": the first weights
	auto     string // what was chosen where the user left it to the program
	examples int64  // trained until then
	workers  int    // that it had
	position rundir.Position
}

// several reports whether the run is one node of a job.
func (r *task) several() bool { return r.peers.Name() != "" }
