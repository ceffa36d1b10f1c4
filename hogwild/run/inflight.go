package run

import (
	"hogwild/hogwild/tuning"
	"hogwild/internal/machine"
)

// Workers beyond the cores take turns, and were counted as if none had a step in flight while another has its core. Where a step
// is about as long as a time slice, nearly all of them do. So in the first epoch it is looked at how stale their updates
// are, once, and what depends on the steps in flight is chosen anew: the run goes on as it does with another number of workers.

// With manySamples it is known within an epoch, and before fewSamples nothing is.
const manySamples, fewSamples = 500, 50

// recount corrects the number of steps in flight by so many samples, once, where it is far beyond what was expected.
func (r *elastic) recount(samples int64) {
	if r.recounted || r.scaling != nil || !r.job.Asked.TakesTurns() || r.job.Used.InFlight >= r.job.Asked.Workers {
		return
	}
	in := r.instruments()
	if in.StalenessSamples < samples {
		return
	}
	r.recounted = true
	if f := r.flight(in); f != nil && len(r.position.Scales) == 0 && f.least >= float64(f.expected)+1 {
		r.lookAgain(f)
	}
}

// lookAgain chooses anew what depends on the steps in flight.
func (r *elastic) lookAgain(f *flight) {
	job := r.job
	r.held = min((f.seen-float64(f.expected))/float64(job.Asked.Workers-f.expected), 1)
	t, err := tuning.Choose(&job.Asked, r.spec, r.facts, tuning.Machine{Cores: machine.Cores(), Held: r.held})
	if err != nil {
		return // what it refuses does not depend on this
	}
	job.Used.InFlight = t.InFlight
	if !r.several() { // nodes have agreed on theirs
		job.Used.LR, job.Used.Capped, job.Used.Momentum = t.LR, t.Capped, t.Momentum
		r.scaling = &scaling{job, atOnce}
	}
	if t.MaxInFlight == 0 {
		return // nothing depends on them that is known: the report has both numbers
	}
	r.report.Event("%s", job.Recounted(f.seen, f.expected, job.Used.LR == r.job.Used.LR))
}
