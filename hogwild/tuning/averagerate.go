package tuning

import (
	"math"

	"hogwild/hogwild/config"
)

// The mean of n replicas that each train a share of the epoch moves by a mean of their steps: at the same rate an
// example teaches 1/n of what it teaches one replica. With n times the rate it teaches as much, as long as no replica
// leaves the range in which its own steps are stable: docs/nodes.md and docs/modes.md have what was measured. A mean of
// n gradients is the gradient of a batch n times as large, and is likewise taken at n times the rate.

// replicas returns how many replicas the run averages, each with steps of the whole batch: nodes, in mode sync the
// workers of all nodes. A global batch is split over them: then all together take one step on it, however many they
// are.
func replicas(c *config.Config) int {
	switch {
	case c.GlobalBatch > 0:
		return 1
	case c.Mode.Traits().Barrier:
		return c.AllWorkers()
	}
	return c.AllNodes()
}

// scalesRate reports whether the learning rate grows with the number of replicas. By default it does where that is
// known to be as good as one of them: not with steps of adapted length, nor with momentum between nodes, nor where the
// limit is unknown.
func scalesRate(c *config.Config, l limits) bool {
	if replicas(c) < 2 || c.AverageLR == config.Same {
		return false
	}
	return c.AverageLR == config.Scaled || c.Outer == config.Mean && !c.Optimizer.Adaptive() && l.lambda > 0
}

// ofOneStep returns t with all examples of a step: all workers' where gradients are averaged.
func ofOneStep(c *config.Config, t Tuning) Tuning {
	if c.AveragesGradients() {
		t.Batch *= c.AllWorkers()
	}
	return t
}

// averageRate returns the rate of each replica: the one asked for times their number, within what loses nothing with
// inFlight steps in flight in each, but not below the one asked for.
func averageRate(c *config.Config, l limits, inFlight int) float64 {
	lr := c.LR * float64(replicas(c))
	if l.lambda > 0 && c.LRCap != config.Off {
		lr = min(lr, l.inFlightRate(float64(inFlight)))
		if l.noise > 0 && inFlight > 1 {
			lr = min(lr, math.Sqrt(l.noise/float64(inFlight-1)))
		}
		if l.maxLR > 0 {
			lr = min(lr, l.maxLR)
		}
	}
	return max(lr, c.LR)
}
