package config

import (
	"strings"
	"time"

	"hogwild/hogwild/model"
)

// checkMode refuses a mode that no text has.
func (c *Config) checkMode() error {
	kind, speeds := c.Mode.Kind, c.Mode.Speeds
	if uint(kind) >= uint(len(modes)) || kind == Clock && speeds.N < 1 && speeds.Kind != Trace ||
		kind == Blocks && c.Mode.Grid < 1 {
		return Usage("no mode has kind %d: create modes with ParseMode", kind)
	}
	return nil
}

// checkTargetAccuracy refuses one out of range.
func (c *Config) checkTargetAccuracy() error {
	if x := c.TargetAccuracy; x > 1 && x <= 100 {
		return Usage("target-accuracy %g: must be from 0 to 1; write %g for %g%%", x, x/100, x)
	}
	return between("target-accuracy", c.TargetAccuracy, 0, 1)
}

// leastHangTimeout leaves a worker that waits for others the time to wake up several times.
const leastHangTimeout = time.Second

// checkHangTimeout refuses times out of range.
func (c *Config) checkHangTimeout() error {
	if d := c.HangTimeout; d != 0 && d < leastHangTimeout {
		return Usage("hang-timeout %v: must be at least %v, or 0 for no limit", d, leastHangTimeout)
	}
	return nil
}

// checkStopAfter refuses a time that is none.
func (c *Config) checkStopAfter() error {
	if d := c.StopAfter; d < 0 {
		return Usage("stop-after %v: must be a time such as 90s or 2h, or 0 for no limit", d)
	}
	return nil
}

// maxGradientDelay keeps a chunk of 1,024 such steps within what a run that is stopped
// waits for.
const maxGradientDelay = 5 * time.Millisecond

// checkGradientDelay refuses delays out of range.
func (c *Config) checkGradientDelay() error {
	if d := c.GradientDelay; d < 0 || d > maxGradientDelay {
		return Usage("gradient-delay %v: must be from 0 to %v", d, maxGradientDelay)
	}
	return nil
}

// Optimizers returns the number of optimizer states: one a rank when they are private.
// With averaged gradients all ranks take one step together, with one state.
func (c *Config) Optimizers() int {
	if c.PrivateState() {
		return c.Workers
	}
	return 1
}

// PrivateState reports whether each worker has an optimizer's state for itself.
func (c *Config) PrivateState() bool {
	return c.Optimizer.Slots() > 0 && c.OptimizerState != "shared" && !c.AveragesGradients()
}

// Ranks returns how many workers shared memory has room for: some may join while the run goes on. The system gives no
// memory for pages that stay untouched.
func (c *Config) Ranks() int {
	if c.MayScale() != nil {
		return c.Workers
	}
	return max(c.Workers, mostScaled)
}

const mostScaled = 64

// MayScale says why the number of workers cannot change while the run goes on.
func (c *Config) MayScale() error {
	refuse := func(why string) error {
		return Usage("%s; stop the run, and continue it with hogwild train --resume RUN --workers N", why)
	}
	switch {
	case c.Mode.Traits().Simulated:
		return Usage("mode %s is one process that simulates all workers: there is nothing to scale", c.Mode)
	case c.Ascends() && c.Workers == 1:
		return refuse("the one worker of solver dual trains as if nobody else wrote weights")
	case known{c, nil}.several():
		return refuse("with several nodes each keeps the workers that it began with")
	case c.GPU == "":
		return nil
	case c.Mode.Traits().Barrier:
		return refuse("with mode sync on a GPU the replicas of all workers are allocated when the run starts")
	case strings.ContainsAny(c.GPU, ",:"):
		return refuse("with several GPUs each worker has its place when the run starts")
	case c.PrivateState():
		return refuse("with optimizer-state private on a GPU the state of each worker is allocated when the run starts")
	}
	return nil
}

// AveragesGradients reports whether gradients are averaged, and not weights.
func (c *Config) AveragesGradients() bool { return c.Average == "gradients" && c.Mode.Traits().Barrier }

// Ascends reports whether the run takes the steps of a dual solver: along one variable of a row each, as long as is
// best. Then there is no learning rate, and the loss may rise on the way.
func (c *Config) Ascends() bool { return c.Solver == Dual }

// Ascend settles what the steps of a dual solver do not need: each is on one row, and as long as is best.
func (c *Config) Ascend() { c.Batch, c.LR, c.LRCap = 1, ascentRate, Off }

// ascentRate stands for the learning rate in the settings of a dual solver that are saved.
const ascentRate = 1

// SeeksOptimum reports whether the weights of a run may be replaced by the optimum: see package exact.
func (c *Config) SeeksOptimum() bool { return c.Solver != PlainSGD }

// AsyncOnCores reports whether nothing keeps workers from each other's weights but the copies
// that they train. The dual solver merges copies by compare-and-swap, too.
func (c *Config) AsyncOnCores() bool {
	return c.GPU == "" && (c.Mode.Traits().Copies || c.Ascends() && c.Mode.Traits().Atomic)
}

// KeepsApart returns by how many blocks by how many the entries of a matrix are sorted, so that workers of async mostly
// write different rows and columns; 0 where they are not: one worker has none to be kept apart from.
func KeepsApart(c *Config) int {
	if c.Model != "" && !model.FamilyOf(c.Model).Entries || !c.AsyncOnCores() || !c.Mode.Traits().Free || c.Ascends() ||
		c.Workers < 2 || c.AllNodes() > 1 || c.AskedBatch() > 1 || c.Optimizer != SGD || c.Partition != Dynamic ||
		c.GradientDelay > 0 || c.Program != "" {
		return 0
	}
	return defaultGrid
}

// GridOf returns by how many blocks by how many the entries of a matrix lie; 0: in no order.
func GridOf(c *Config) int { return max(c.Mode.Grid, c.Apart) }

// TakesTurns reports whether workers on cores wait for nothing but a core.
func (c *Config) TakesTurns() bool { return c.GPU == "" && c.Mode.Traits().Free }

// Centres reports whether the steps of the run are such that centring is exact: plain
// SGD, which moves V, s and k by what W = V - s mu' moves by. A regularizer acts on
// W, and the rules with state on each number by itself.
func (c *Config) Centres() bool {
	return c.Optimizer == SGD && !c.AveragesGradients() && c.L1 == 0 && c.L2 == 0 &&
		c.Rule.Kind != Clip && c.Rule.Kind != Compensate
}

// Steps returns how many local steps there are between two averages; 0: an epoch's.
func (c *Config) Steps() int {
	if c.AveragesGradients() {
		return 1
	}
	return c.AverageEvery
}

// PartOf returns how many of n training rows an epoch has: in a short run not all.
func (c *Config) PartOf(n int) int {
	if c.Sample > 0 {
		return min(n, c.Sample)
	}
	return n
}

// HoldsOut reports whether the run holds out a tenth of its training rows by itself, if there are enough, and stops by
// the loss on them: a network that goes over a small set often enough learns it by heart, and the user has not said how
// often to.
func (c *Config) HoldsOut() bool {
	return model.FamilyOf(c.Model).Network && c.Epochs == 0 && c.Validation == "" && !c.hasTarget()
}

// StopsEarly reports whether the run may end before its last epoch, or no last epoch was given.
func (c *Config) StopsEarly() bool { return c.Epochs == 0 || c.Patience > 0 || c.hasTarget() }

func (c *Config) hasTarget() bool { return c.TargetLoss != 0 || c.TargetAccuracy != 0 }

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
