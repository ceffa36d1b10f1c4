package tuning

import (
	"fmt"
	"math"
)

// Workers beyond the cores take turns, and were counted as if none had a step in flight while another has its core.
// Where a step is about as long as a time slice, nearly all of them do. So a run samples how stale their updates are,
// and chooses anew what depends on the steps in flight.

// Flight is how many steps the workers have in flight at once.
type Flight struct {
	Expected    int     // before the run
	Seen, Least float64 // by the samples so far; and at least, with 97.5% confidence
}

// FlightOf goes by the median of n samples, of which staleness gives quantiles: few steps that land a
// thousand others late do little, but decide the mean. It returns nil where no more than one step is in flight, or
// their number does not depend on who has a core.
func FlightOf(j *Job, f Facts, cores int, n int64, staleness func(share float64) int64) *Flight {
	every := max(1, j.Used.MergeEvery)                      // updates of another that come at once
	fused := every == 1 && fuses(&j.Asked, f, j.Used.Batch) // a sample of those is of many short steps
	if fused || !j.Asked.TakesTurns() || j.Asked.Workers == 1 || n == 0 {
		return nil
	}
	at := func(share float64) float64 { return 1 + float64(staleness(share))/float64(every) }
	return &Flight{min(j.Asked.Workers, cores), at(0.5), at(0.5 - 1/math.Sqrt(float64(n)))}
}

// Oversubscribed returns Machine.Oversubscribed for this many workers.
func (f *Flight) Oversubscribed(workers int) float64 {
	return min((f.Seen-float64(f.Expected))/float64(workers-f.Expected), 1)
}

// Recount makes of the job what t, chosen with the steps that were measured, says of them, and returns a line for
// people; "": nothing is known to depend on their number. With ratesStay the other nodes have agreed on theirs. Changes
// says what comes of it, unless the rate stays.
func (j *Job) Recount(f *Flight, t Tuning, ratesStay bool) string {
	was := j.Used.LR
	if j.Used.InFlight = t.InFlight; !ratesStay {
		j.Used.LR, j.Used.Capped, j.Used.Momentum = t.LR, t.Capped, t.Momentum
	}
	if t.MaxInFlight == 0 {
		return "" // the report has both numbers
	}
	text := fmt.Sprintf("steps in flight: %.2g measured, %d expected", f.Seen, f.Expected)
	if j.Used.MaxInFlight == 0 || j.Used.LR > j.Asked.LR {
		return text
	}
	text += fmt.Sprintf("; lr %.3g is stable up to about %s", j.Asked.LR, Steps(j.Used.MaxInFlight))
	switch {
	case float64(j.Used.InFlight) <= j.Used.MaxInFlight:
		text += ": they are within it"
	case !j.Used.Capped || j.Used.LR == was:
		text += ": an epoch may reduce the loss less; a lower --lr or fewer --workers avoid that"
	}
	return text
}
