package bench

import (
	"math"

	"hogwild/hogwild/rundir"
)

// A target that is made from the results: slack above the largest loss with which a run
// ends, so that all reach it. Runs that end with more than outside times the median of
// their group's cases did not learn what the others did (the learning rate is too large or
// too small), and a target that they reach too would be reached by the others at once:
// they are left out, and reach the target on the way or not at all.
const (
	slack   = 1.02
	outside = 1.5
)

// setTargets sets the targets, by group unless one is given, and the times to them.
func (e *Experiment) setTargets(fixed float64) {
	for _, g := range e.groups() {
		cases := e.of(g)
		goal := fixed
		if goal == 0 {
			goal = goalOf(cases)
		}
		for _, c := range cases {
			c.Target = Number(goal)
			c.SecondsToTarget, c.EpochsToTarget = nil, nil
			for i, h := range c.Histories {
				seconds, epochs := math.NaN(), math.NaN()
				if c.Failed[i] == "" {
					seconds, epochs = Reach(h, goal)
				}
				c.SecondsToTarget = append(c.SecondsToTarget, Number(seconds))
				c.EpochsToTarget = append(c.EpochsToTarget, Number(epochs))
			}
		}
	}
}

// goalOf is the test loss that the cases of a group reach, but for those that are
// outside; NaN if all failed.
func goalOf(cases []*Measured) float64 {
	var ends []Number
	for _, c := range cases {
		if s := Summarize(c.TestLoss); s.N > 0 {
			ends = append(ends, Number(s.Median))
		}
	}
	middle := Summarize(ends)
	if middle.N == 0 {
		return math.NaN()
	}
	goal := middle.Median
	for _, c := range cases {
		for _, end := range c.TestLoss {
			if float64(end) <= outside*middle.Median || middle.Median <= 0 && finite(float64(end)) {
				goal = max(goal, float64(end))
			}
		}
	}
	return goal + (slack-1)*math.Abs(goal)
}

// Reach is when a run first had a test loss of goal (with a validation set, a validation loss), in seconds and in epochs: on the line
// from the end of the epoch before to that of the first one below. What the loss was at
// the start is not known: a goal that the first epoch reaches counts from its end. NaN if
// it was never reached.
func Reach(history []rundir.EpochResult, goal float64) (seconds, epochs float64) {
	for i, e := range history {
		loss := e.Judged().Loss
		if !(loss <= goal) {
			continue
		}
		if i == 0 || !finite(history[i-1].Judged().Loss) {
			return e.Seconds, float64(e.Epoch)
		}
		b := history[i-1]
		was := b.Judged().Loss
		part := (was - goal) / (was - loss)
		return b.Seconds + part*(e.Seconds-b.Seconds), float64(b.Epoch) + part*float64(e.Epoch-b.Epoch)
	}
	return math.NaN(), math.NaN()
}
