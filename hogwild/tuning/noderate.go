package tuning

import (
	"math"

	"hogwild/hogwild/config"
)

// The mean of n nodes that each train a share of the epoch moves by a mean of their steps: at the same rate an example
// teaches 1/n of what it teaches one node. With n times the rate it teaches as much, as long as no node leaves the range in
// which its own steps are stable: docs/nodes.md has what was measured.

// scalesNodes tells whether the nodes' learning rate grows with their number. By default it does where that is known to be
// as good as one node: not with steps of adapted length, nor with momentum between the nodes, nor where the limit is unknown.
// In mode sync the workers of all nodes are those of one run, which has the rate that it would have on one machine.
func scalesNodes(c *config.Config, l limits) bool {
	if c.Nodes < 2 || c.NodeLR == "same" {
		return false
	}
	return c.NodeLR == "scaled" || c.Outer == "mean" && !c.Optimizer.Adaptive() && l.lambda > 0 && c.Mode.Kind != config.Sync
}

// nodeRate is the rate of each node: the one asked for times the nodes, within what loses nothing with so
// many steps in flight, but not below the one asked for.
func nodeRate(c *config.Config, l limits, inFlight int) float64 {
	lr := c.LR * float64(c.Nodes)
	if l.lambda > 0 && c.LRCap != "off" {
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
