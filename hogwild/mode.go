package hogwild

import "slices"

// Modes are the ways in which workers may update one set of weights, beside the
// simulated ones: see ModeHelp.
var Modes = []string{"async", "atomic", "locked", "ordered", "sync"}

// ModeHelp says in a line what each mode is.
const ModeHelp = "async: no locks; atomic: adds by compare-and-swap; locked: a lock per block of weights; " +
	"ordered: updates in the order of their gradients; sync: barriers and averages; " +
	"delayed:K, delayed:geometric:K: each update K others late, simulated by one worker"

// checkMode refuses a mode that does not exist, or not together with the rest.
func (c *Config) checkMode() error {
	_, _, ok := c.delay()
	switch {
	case c.delayed() && !ok:
		return usage("mode %q: write delayed:K or delayed:geometric:K, with K from 0 to %d updates", c.Mode, maxDelay)
	case !c.delayed() && !slices.Contains(Modes, c.Mode):
		return usage("mode %q: choose one of async, atomic, locked, ordered, sync, delayed:K, delayed:geometric:K", c.Mode)
	case c.GPU != "" && c.Mode != "async" && c.Mode != "atomic" && c.Mode != "sync":
		return usage("mode %s: it is for host memory; with gpu choose async, atomic (there they are the same) or sync", c.Mode)
	case c.delayed() && c.Workers > 1:
		return usage("workers %d with mode %s: one worker plays them all, or the run could not be repeated; leave workers out", c.Workers, c.Mode)
	case c.Mode == "atomic" && c.OptimizerState == "shared" && optimizerSlots(c.Optimizer) > 0:
		return usage("optimizer-state shared with mode atomic: only weights are added to by compare-and-swap; use a private state, or mode locked")
	}
	if _, every, _ := c.saveEvery(); c.delayed() && every > 0 {
		return usage("save-every %s with mode %s: saving within an epoch would land updates early; give a number of epochs", c.SaveEvery, c.Mode)
	}
	return nil
}
