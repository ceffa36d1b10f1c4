package core

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/display"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/hogwild/tuning"
)

// Task is what is trained on what, and where the run is kept.
type Task struct {
	Job tuning.Job
	data.Sets
	Borrowed bool // the sets are the caller's
	Facts    tuning.Facts
	Machine  tuning.Machine
	Backend  device.Backend // of the weights
	Spec     model.Spec
	Model    model.Model   // as the run trains it
	Trained  []model.Param // of Model
	Params   []model.Param // of the model that the run leaves behind: they differ by centring
	Judge    *score.Judge
	Begin    *Begin         // what it carries on from; nil: it is the first
	Dir      string         // the run's folder
	Folder   *rundir.Folder // the same, locked; nil on nodes that have none
	Report   display.Reporter
}

// Begin is how a run carries on from another in the same folder, on the same data.
type Begin struct {
	Config   config.Config
	N        int    // of this call of Run: 1 is the first
	Why      error  // what ended the run before
	From     string // the folder whose snapshot it continues from; "": the first weights
	Auto     string // what was chosen where the user left it to the program
	Examples int64  // trained until then
	Workers  int    // that it had
	Position rundir.Position
}

// Begun returns how often this call of Run has carried on.
func (r *Task) Begun() int {
	if r.Begin == nil {
		return 0
	}
	return r.Begin.N
}

// Choose decides what a run decides for itself, with settings on a machine with so many cores.
func (r *Task) Choose(c *config.Config, cores int) (tuning.Tuning, error) {
	m := r.Machine
	m.Cores = cores
	t, err := tuning.Choose(c, r.Spec, r.Facts, m)
	t.Auto = r.Job.Used.Auto
	return t, err
}

// FirstWeights writes those of a new run, of values as the data have them.
func (r *Task) FirstWeights(m model.Model, w []float32) {
	m.Init(w, r.Job.Asked.Seed)
	model.FromStandard(r.Job.Asked.Standard, m.Params(), w)
	r.Spec.Start(w, m.Params(), r.Train.Y)
}

// LastGood says what is left after the numbers diverged.
func (r *Task) LastGood() string {
	if r.Folder == nil {
		return "the last good snapshot is node 0's"
	}
	if !rundir.HasSnapshot(r.Dir) {
		return "no snapshot was saved"
	}
	return "the last good snapshot is in " + r.Dir
}
