package ability

import (
	"math"
	"slices"
	"time"

	"hogwild/hogwild/core"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
)

// The curvature of a network grows as it learns: most of all in the first epoch, which a rehearsal has seen (see
// tuning.Rehearse), but sometimes later. So it is measured again, on the copy of the weights at the ends of epochs 1,
// 2, 4, 8 and so on, as long as all measurements take MeasuredShare of the training time at most. On a GPU the copy is
// not in host memory.

// Curvature measures the largest curvature of a network, on which the limit of steps in flight depends.
func Curvature() core.Ability { return &curvature{} }

// curvature is what is known of the limit of steps in flight while the run trains.
type curvature struct {
	newton *tuning.Newton // nil: no curvature is measured
	found  float64        // the curvature of the copy; 0: none was measured, or it cannot be read
	due    int            // the epoch after which it is next measured
	spent  time.Duration  // on all measurements
	least  float64        // steps; 0: none was made
	said   bool           // that they are fewer than those in flight
}

// MeasuredShare is the part of the training time that all measurements may take. Tests have another.
var MeasuredShare = 0.01

// Handle rehearses the beginning of a run, and measures copies of the weights during training.
func (a *curvature) Handle(r *core.Run, e core.Event) error {
	switch e := e.(type) {
	case *core.Settled:
		set := r.Task.Train.As(r.Job.Asked.Standard)
		a.newton = tuning.NewNewton(&r.Job.Asked, r.Task.Spec, e.Plain, set, r.Task.Facts)
		// which it reaches at the beginning
		r.Task.Facts.Newton = tuning.Rehearse(&r.Job.Asked, r.Task.Spec, a.newton, set, r.Task.Facts)
	case *core.Evaluates:
		if a.measures(r, e.Epoch) {
			e.Beside = func() { a.found = a.measure(r) }
		}
	case *core.Evaluated:
		if a.found > 0 {
			a.measured(r, a.found, e.Epoch)
		}
		a.found = 0
	case *core.Reports:
		e.Result.LeastInFlight = a.least
	}
	return nil
}

// measures reports whether the copy of the weights after an epoch is to be measured.
func (a *curvature) measures(r *core.Run, e *rundir.EpochResult) bool {
	return a.newton != nil && r.Mem.Traits.InHost && r.Peers.First() && e.Epoch >= a.due &&
		(a.spent+a.newton.Took).Seconds() <= MeasuredShare*e.Seconds
}

// measure returns the curvature of the copy; 0: it cannot be read.
func (a *curvature) measure(r *core.Run) (g float64) {
	w, err := r.Mem.Owner.Kept()
	if err == nil {
		w = slices.Clone(w)
		model.ToStandard(r.Job.Asked.Standard, r.Task.Params, w)
		err = r.Task.Train.Guard(func() { g = a.newton.Largest(w) })
	}
	if err != nil {
		return 0 // what else looks at the data says why
	}
	return g
}

// measured takes a curvature in, and says once that the limit of steps in flight has fallen below those that there are.
func (a *curvature) measured(r *core.Run, g float64, e *rundir.EpochResult) {
	flight := float64(r.Job.Used.InFlight)
	a.due, a.spent = 2*e.Epoch, a.spent+a.newton.Took
	allows := func(g float64) float64 { return tuning.InFlightAt(&r.Job, r.Task.Spec, r.Task.Facts, e.LR, g) }
	now := allows(g)
	if !(now > 0) {
		return
	}
	if a.least == 0 || now < a.least {
		a.least = now
	}
	if a.said || flight < 2 || math.Round(now) >= flight || now > 0.9*min(flight, allows(r.Task.Facts.Newton)) {
		return
	}
	a.said = true
	r.Report.Event("the limit has fallen to about %s in flight at epoch %d (lr %.3g): lower --lr or --workers",
		tuning.Steps(now), e.Epoch, e.LR)
}
