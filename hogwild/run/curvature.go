package run

import (
	"math"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/internal/machine"
)

// The curvature of a network grows as it learns: most of all in the first epoch, which a rehearsal has seen (see tuning.Rehearse),
// but sometimes later. So it is measured again, on the copy of the weights at the ends of epochs 1, 2, 4, 8 and so on, as
// long as all measurements take measuredShare of the training time at most. On a GPU the copy is not in host memory.

// limit is what is known of the limit of steps in flight while the run trains.
type limit struct {
	due   int           // the epoch after which it is next measured
	spent time.Duration // on all measurements
	least float64       // steps; 0: none was made
	said  bool          // that they are fewer than those in flight
}

var measuredShare = 0.01 // tests have another

// rehearse measures the curvature that a network comes to at the beginning of the run.
func (r *task) rehearse(spec model.Spec, plain model.Model) {
	r.newton = tuning.NewNewton(&r.job.Asked, spec, plain, r.train, r.facts)
	r.facts.Newton = tuning.Rehearse(&r.job.Asked, spec, r.newton, r.train, r.facts)
}

// measures reports whether the copy of the weights after an epoch is to be measured.
func (r *scorer) measures(e *rundir.EpochResult) bool {
	return r.newton != nil && r.job.Asked.GPU == "" && r.peers.First() && e.Epoch >= r.limit.due &&
		(r.limit.spent+r.newton.Took).Seconds() <= measuredShare*e.Seconds
}

// curvature is that of the copy; 0: it cannot be read.
func (r *scorer) curvature() (g float64) {
	w, err := r.owner.Kept()
	if err == nil {
		err = r.train.Guard(func() { g = r.newton.Largest(w) })
	}
	if err != nil {
		return 0 // what else looks at the data says why
	}
	return g
}

// measured takes a curvature in, and says once that the limit of steps in flight has fallen below those that there are.
func (r *scorer) measured(g float64, e *rundir.EpochResult) {
	limit, flight := &r.limit, float64(r.job.Used.InFlight)
	limit.due, limit.spent = 2*e.Epoch, limit.spent+r.newton.Took
	allows := func(g float64) float64 { return tuning.InFlightAt(&r.job, r.spec, r.facts, e.LR, g) }
	now := allows(g)
	if !(now > 0) {
		return
	}
	if limit.least == 0 || now < limit.least {
		limit.least = now
	}
	if limit.said || flight < 2 || math.Round(now) >= flight || now > 0.9*min(flight, allows(r.facts.Newton)) {
		return
	}
	limit.said = true
	r.report.Event("the limit has fallen to about %s in flight at epoch %d (lr %.3g): lower --lr or --workers", tuning.Steps(now), e.Epoch, e.LR)
}

// flight is how many steps the workers have in flight at once.
type flight struct {
	expected    int     // before the run
	seen, least float64 // by the samples so far; and at least, with 97.5% confidence
}

// flight is nil where no more than one step is in flight, or their number does not depend on who has a core. It goes by the
// median staleness: while most steps are on time, few that land a thousand others late do little, but they decide the mean.
func (r *shared) flight(in *control.Instruments) *flight {
	c := &r.job
	fused := r.facts.Steps && c.Used.MergeEvery <= 1 && c.Used.Batch == 1 && c.Asked.Optimizer == config.SGD && c.Asked.GradientDelay == 0
	if fused || !c.Asked.TakesTurns() || c.Asked.Workers == 1 || in.StalenessSamples == 0 { // a sample of those is of many short steps
		return nil
	}
	every := float64(max(1, c.Used.MergeEvery)) // updates of another that come at once
	at := func(share float64) float64 { return 1 + float64(in.Quantile(share))/every }
	return &flight{min(c.Asked.Workers, machine.Cores()), at(0.5), at(0.5 - 1/math.Sqrt(float64(in.StalenessSamples)))}
}
