package config

import (
	"time"
)

// checkRounds refuses Rounds that are no number.
func (c *Config) checkRounds() error {
	if c.Rounds != "auto" && Whole(c.Rounds) == 0 {
		return Usage("rounds %q: give auto, or a number of rounds an epoch from 1", c.Rounds)
	}
	return nil
}

// leastNodeTimeout leaves a node on a busy machine the time to answer.
const leastNodeTimeout = time.Second

// checkNodeTimeout refuses one that is too short.
func (c *Config) checkNodeTimeout() error {
	if c.NodeTimeout < leastNodeTimeout {
		return Usage("node-timeout %v: must be at least %v", c.NodeTimeout, leastNodeTimeout)
	}
	return nil
}

// checkNodes refuses what a run can do on one node only.
func (c *Config) checkNodes() error {
	switch {
	case c.Nodes < 2:
		return nil
	case c.Mode.Kind == Delayed:
		return Usage("mode %s on %d nodes: one process simulates all workers of a run; use one node", c.Mode, c.Nodes)
	case c.OnDivergence == Rollback:
		return Usage("on-divergence %s on %d nodes: one node cannot go back alone; use stop, then resume the run "+
			"with a lower lr", c.OnDivergence, c.Nodes)
	}
	return nil
}
