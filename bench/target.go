package bench

import (
	"math"

	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// Targets that are made from the results: multiples of the median loss at the end of the best case of the group. The
// first is for the comparison: a case that ends within the margin of the best gets there, and one that learned less
// does not. It reaches the others, if it is not far behind. No other case moves them.
var levels = []float64{1 + margin, 1.1, 1.3}

// setTargets sets the targets, by group unless one is given, and the times to them.
func (e *Experiment) setTargets(fixed float64) {
	for _, g := range e.groups() {
		cases := e.of(g)
		goals := []float64{fixed}
		if fixed == 0 {
			goals = goalsOf(cases)
		}
		for _, c := range cases {
			c.reach(goals)
		}
	}
}

// reach sets the targets, and how long the runs took to them.
func (c *Measured) reach(goals []float64) {
	c.Targets = nil
	for k, goal := range goals {
		c.Targets = append(c.Targets, human.Number(goal))
		for i := range c.Runs {
			r := &c.Runs[i]
			seconds, epochs := math.NaN(), math.NaN()
			if r.Failed == "" {
				seconds, epochs = Reach(r.History, goal)
			}
			r.SecondsToTarget = append(r.SecondsToTarget[:k], human.Number(seconds))
			r.EpochsToTarget = append(r.EpochsToTarget[:k], human.Number(epochs))
		}
	}
}

// goalsOf are the targets of a group; one that is NaN if all failed.
func goalsOf(cases []*Measured) (goals []float64) {
	best := Summarize(TestLoss.Of(ByLoss(cases)[0]))
	if best.N == 0 {
		return []float64{math.NaN()}
	}
	for _, times := range levels {
		goals = append(goals, best.Median+(times-1)*math.Abs(best.Median))
	}
	return goals
}

// Reach is when a run first had a test loss of goal (with a validation set, that loss), in seconds and in epochs: on
// the line from the end of the epoch before to the end of the first one below. What the loss was at the start is not
// known: a goal that the first epoch reaches counts from its end. NaN if it was never reached.
func Reach(history []rundir.EpochResult, goal float64) (seconds, epochs float64) {
	b, e, part := crossing(history, goal)
	return b.Seconds + part*(e.Seconds-b.Seconds), float64(b.Epoch) + part*float64(e.Epoch-b.Epoch)
}

// VirtualTime is when that was by the clock of the run's virtual workers.
func VirtualTime(history []rundir.EpochResult, goal float64) float64 {
	b, e, part := crossing(history, goal)
	return OnClock(b) + part*(OnClock(e)-OnClock(b))
}

// OnClock is the virtual time at the end of an epoch.
func OnClock(e rundir.EpochResult) float64 { return e.TrainMetrics[control.VirtualTime] }

// crossing is the epochs between whose ends a run first had a loss of goal, and how far between them.
func crossing(history []rundir.EpochResult, goal float64) (b, e rundir.EpochResult, part float64) {
	loss := func(i int) float64 { return history[i].Judged().Loss }
	for i, e := range history {
		switch {
		case !(loss(i) <= goal):
		case i == 0 || !human.Finite(loss(i-1)):
			return e, e, 0
		default:
			return history[i-1], e, (loss(i-1) - goal) / (loss(i-1) - loss(i))
		}
	}
	return b, e, math.NaN()
}
