package config

import (
	"slices"
)

// Modes are the ways in which workers may update one set of weights, beside the
// simulated ones: see ModeHelp.
var Modes = []string{"async", "atomic", "locked", "ordered", "sync"}

// ModeHelp says what each mode is, a line each.
const ModeHelp = `  async                   plain stores, no locks: an update may be lost; Hogwild! with --merge-every 1,
                          else by default small models are trained on copies that are merged often
  atomic                  adds by compare-and-swap: none is lost
  locked                  each update under the locks of the blocks of weights that it writes
  ordered                 gradients in parallel, updates in the order of their gradients: round robin
  sync                    each trains a replica or a share of the batch, and all are averaged at a barrier
  delayed:K               one worker, whose updates are stale by K: repeatable bit for bit
  delayed:geometric:K     the same, stale by K on average
`

// checkMode refuses a mode that does not exist, or not together with the rest.
func (c *Config) checkMode() error {
	_, _, ok := c.DelaySteps()
	switch {
	case c.Delayed() && !ok:
		return Usage("mode %q: write delayed:K or delayed:geometric:K, with K from 0 to %d updates", c.Mode, maxDelay)
	case !c.Delayed() && !slices.Contains(Modes, c.Mode):
		return Usage("mode %q: choose one of async, atomic, locked, ordered, sync, delayed:K, delayed:geometric:K", c.Mode)
	case c.GPU != "" && c.Delayed():
		return Usage("mode %s: it is simulated by one core; leave gpu out", c.Mode)
	case c.GPU != "" && (c.Mode == "locked" || c.Mode == "ordered") && c.Workers > 1:
		return Usage("mode %s with gpu: the kernel of one worker would wait on the GPU for that of another, which may not be running: choose workers 1, with as many steps in-flight as you like", c.Mode)
	case c.Delayed() && c.Workers > 1:
		return Usage("workers %d with mode %s: one worker plays them all, or the run could not be repeated; leave workers out", c.Workers, c.Mode)
	case c.Mode == "atomic" && c.OptimizerState == "shared" && OptimizerSlots(c.Optimizer) > 0:
		return Usage("optimizer-state shared with mode atomic: only weights are added to by compare-and-swap; use a private state, or mode locked")
	}
	if _, every, _ := c.SavePeriod(); c.Delayed() && every > 0 {
		return Usage("save-every %s with mode %s: saving within an epoch would land updates early; give a number of epochs", c.SaveEvery, c.Mode)
	}
	return nil
}
