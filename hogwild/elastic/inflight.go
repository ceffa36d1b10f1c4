package elastic

import (
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/internal/machine"
)

// Workers beyond the cores take turns, and were counted as if none had a step in flight while another has its core.
// Where a step is about as long as a time slice, nearly all of them do. So in the first epoch it is looked at how stale
// their updates are, once, and what depends on the steps in flight is chosen anew: the run goes on as it does with
// another number of workers.

// With manySamples it is known within an epoch, and before fewSamples nothing is.
const manySamples, fewSamples = 500, 50

// recount corrects the number of steps in flight by so many samples, once, where it is far beyond what was expected.
func (a *ability) recount(r *core.Run, samples int64) {
	if a.recounted || r.Hooks.Change != nil || !r.Job.Asked.TakesTurns() || r.Job.Used.InFlight >= r.Job.Asked.Workers {
		return
	}
	in := r.Mem.Instruments()
	if in.StalenessSamples < samples {
		return
	}
	a.recounted = true
	if f := flightOf(r, in); f != nil && len(r.Position.Scales) == 0 && f.least >= float64(f.expected)+1 {
		a.lookAgain(r, f)
	}
}

// lookAgain chooses anew what depends on the steps in flight.
func (a *ability) lookAgain(r *core.Run, f *flight) {
	job := r.Job
	r.Task.Machine.Held = min((f.seen-float64(f.expected))/float64(job.Asked.Workers-f.expected), 1)
	t, err := r.Choose(&job.Asked, machine.Cores())
	if err != nil {
		return // what it refuses does not depend on this
	}
	job.Used.InFlight = t.InFlight
	if !r.Several() { // nodes have agreed on theirs
		job.Used.LR, job.Used.Capped, job.Used.Momentum = t.LR, t.Capped, t.Momentum
		r.Hooks.Change = &change{job, atOnce}
	}
	if t.MaxInFlight == 0 {
		return // nothing depends on them that is known: the report has both numbers
	}
	r.Report.Event("%s", job.Recounted(f.seen, f.expected, job.Used.LR == r.Job.Used.LR))
}

// flight is how many steps the workers have in flight at once.
type flight struct {
	expected    int     // before the run
	seen, least float64 // by the samples so far; and at least, with 97.5% confidence
}

// flightOf returns nil where no more than one step is in flight, or their number does not depend on who has a core. It
// goes by the median staleness: while most steps are on time, few that land a thousand others late do little, but they
// decide the mean.
func flightOf(r *core.Run, in *control.Instruments) *flight {
	c := &r.Job
	fused := r.Task.Facts.Steps && c.Used.MergeEvery <= 1 && c.Used.Batch == 1 && c.Asked.Optimizer == config.SGD &&
		c.Asked.GradientDelay == 0
	// a sample of those is of many short steps
	if fused || !c.Asked.TakesTurns() || c.Asked.Workers == 1 || in.StalenessSamples == 0 {
		return nil
	}
	every := float64(max(1, c.Used.MergeEvery)) // updates of another that come at once
	at := func(share float64) float64 { return 1 + float64(in.Quantile(share))/every }
	return &flight{min(c.Asked.Workers, machine.Cores()), at(0.5), at(0.5 - 1/math.Sqrt(float64(in.StalenessSamples)))}
}
