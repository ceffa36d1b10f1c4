package elastic

import (
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/tuning"
	"hogwild/internal/machine"
)

// In the first epoch it is looked at how stale updates are, once, and what depends on the steps in flight is chosen
// anew: the run goes on as it does with another number of workers.

// With manySamples it is known within an epoch, and before fewSamples nothing is.
const manySamples, fewSamples = 500, 50

// flightOf returns what the samples so far say of the steps in flight.
func flightOf(r *core.Run, in *control.Instruments) *tuning.Flight {
	return tuning.FlightOf(&r.Job, r.Task.Facts, machine.Cores(), in.StalenessSamples, in.Quantile)
}

// recount corrects the number of steps in flight by this many samples, once, where it is far beyond what was expected.
func (a *ability) recount(r *core.Run, samples int64) {
	if a.recounted || r.Hooks.Change != nil || !r.Job.Asked.TakesTurns() || r.Job.Used.InFlight >= r.Job.Asked.Workers {
		return
	}
	in := r.Mem.Instruments()
	if in.StalenessSamples < samples {
		return
	}
	a.recounted = true
	if f := flightOf(r, in); f != nil && len(r.Position.Scales) == 0 && f.Least >= float64(f.Expected)+1 {
		a.lookAgain(r, f)
	}
}

// lookAgain chooses anew what depends on the steps in flight.
func (a *ability) lookAgain(r *core.Run, f *tuning.Flight) {
	job := r.Job
	r.Task.Machine.Oversubscribed = f.Oversubscribed(job.Asked.Workers)
	t, err := r.Choose(&job.Asked, machine.Cores())
	if err != nil {
		return // what it refuses does not depend on this
	}
	text := job.Recount(f, t, r.Several())
	if !r.Several() {
		r.Hooks.Change = &change{job, atOnce}
	}
	if text != "" {
		r.Report.Event("%s", text)
	}
}
