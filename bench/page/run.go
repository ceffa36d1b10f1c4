package page

import (
	"cmp"
	"fmt"

	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// run is a run and how a page of several tells it from the others.
type run struct {
	*rundir.Recorded
	name   string
	legend string // the name, if there are several runs
	color  int
	got    *rundir.Result      // to which the run has got
	now    rundir.Status       // its last moment
	best   *rundir.EpochResult // its best epoch, if it has a validation set; else an empty one
}

func modelOf(r *run) string {
	return cmp.Or(r.Config.Program, r.Config.Model, "model")
}

// state says whether the run has ended, and how.
func (r *run) state() string {
	switch {
	case r.Result == nil:
		return fmt.Sprintf("at epoch %d of %d", max(r.got.Epochs, r.now.Epoch), r.Config.Epochs)
	case r.Result.Stopped != "":
		return "stopped early: " + r.Result.Stopped
	}
	return "finished"
}

// rate returns a number of examples as a rate over the run's seconds.
func (r *run) rate(examples int64) string {
	return human.IfFinite(float64(examples)/r.got.Seconds, human.Rate)
}
