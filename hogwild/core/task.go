package core

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/hogwild/tuning"
)

// Task is what is trained on what.
type Task struct {
	data.Sets      // the data: Train, Validation, Test
	Borrowed  bool // the sets are the caller's
	Facts     tuning.Facts
	Machine   tuning.Machine
	Backend   device.Backend // of the weights
	Spec      model.Spec
	Model     model.Model   // as the run trains it
	Trained   []model.Param // of Model
	Params    []model.Param // of the model that the run leaves behind: they differ by centring
	Judge     *score.Judge
}

// Rollback is how a run carries on from another in the same folder, on the same data.
type Rollback struct {
	Config   config.Config
	Attempt  int    // of this call of Run: 1 is the first
	Cause    error  // what ended the run before
	Snapshot string // the folder whose snapshot it continues from; "": the first weights
	Auto     string // what was chosen where the user left it to the program
	Examples int64  // trained until then
	Workers  int    // that it had
	Position rundir.Position
}

// Attempts returns how often this call of Run has carried on.
func (b *Rollback) Attempts() int {
	if b == nil {
		return 0
	}
	return b.Attempt
}

// Choose decides what a run decides for itself, with settings on a machine with this many cores.
func (r *Run) Choose(c *config.Config, cores int) (tuning.Tuning, error) {
	m := r.Task.Machine
	m.Cores = cores
	t, err := tuning.Choose(c, r.Task.Spec, r.Task.Facts, m)
	t.Auto = r.Job.Used.Auto
	return t, err
}

// FirstWeights writes the first weights of a new run, for values as the data have them.
func (r *Run) FirstWeights(m model.Model, w []float32) {
	m.Init(w, r.Job.Asked.Seed)
	model.FromStandard(r.Job.Asked.Standard, m.Params(), w)
	r.Task.Spec.Start(w, m.Params(), r.Task.Train.Y)
}

// LastGood says what is left after the numbers diverged.
func (r *Run) LastGood() string {
	if r.Folder == nil {
		return "the last good snapshot is node 0's"
	}
	if !rundir.HasSnapshot(r.Dir) {
		return "no snapshot was saved"
	}
	return "the last good snapshot is in " + r.Dir
}
