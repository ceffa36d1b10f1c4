package config

import (
	"strconv"
	"time"
)

// checkNodes refuses settings between nodes that are out of range, and what a run can do on one node only.
func (c *Config) checkNodes() error {
	if n, err := strconv.Atoi(c.Rounds); c.Rounds != "auto" && (err != nil || n < 1) {
		return Usage("rounds %q: give auto, or a number of rounds an epoch from 1", c.Rounds)
	}
	if err := positive("outer-lr", c.OuterLR); err != nil {
		return err
	}
	if err := between("outer-momentum", c.OuterMomentum, 0, maxShare); err != nil {
		return err
	}
	switch {
	case c.NodeTimeout < leastNodeTimeout:
		return Usage("node-timeout %v: must be at least %v", c.NodeTimeout, leastNodeTimeout)
	case c.Nodes < 2:
		return nil
	case c.Mode.Kind == Delayed:
		return Usage("mode %s on %d nodes: one process simulates all workers of a run; use one node", c.Mode, c.Nodes)
	case c.OnDivergence == Rollback:
		return Usage("on-divergence %s on %d nodes: one node cannot go back alone; use stop, then resume the run with a lower lr", c.OnDivergence, c.Nodes)
	}
	return nil
}

// leastNodeTimeout leaves a node on a busy machine the time to answer.
const leastNodeTimeout = time.Second
