package config

import (
	"fmt"
	"strings"
	"time"

	"hogwild/hogwild/model"
)

// checkMode refuses a mode that cannot be had together with the rest.
func (c *Config) checkMode() error {
	kind, mode := c.Mode.Kind, c.Mode
	if kind < Async || kind > Blocks || kind == Clock && mode.Speeds.N < 1 && mode.Speeds.Kind != Trace ||
		kind == Blocks && mode.Grid < 1 {
		return Usage("no mode has kind %d: create modes with ParseMode", kind)
	}
	switch {
	case c.GPU != "" && kind == Clock:
		return Usage("mode %s is simulated on one core; leave gpu out", mode)
	case c.GPU != "" && (kind == Locked || kind == Ordered) && c.Workers > 1:
		return Usage("mode %s with gpu: kernels of several workers would wait for each other on the GPU and could "+
			"deadlock; use workers 1, with any number of steps in-flight", mode)
	case kind == Clock && c.Optimizer != SGD && (c.Rule.Kind >= Clip || Whole(c.MergeEvery) > 1):
		return Usage("optimizer %s with mode clock: clip, dc, delayed-nesterov and merge-every are defined for plain "+
			"sgd; use optimizer sgd", c.Optimizer)
	case kind == Clock && c.Workers > 1:
		return Usage("workers %d with mode %s: one worker simulates all of them, so that runs repeat exactly; leave "+
			"workers out", c.Workers, mode)
	case kind == Atomic && c.OptimizerState == "shared" && c.Optimizer.Slots() > 0:
		return Usage("optimizer-state shared with mode atomic: only updates of weights are atomic, not those of the " +
			"optimizer's state; use optimizer-state private, or mode locked")
	}
	if _, every, _ := c.SavePeriod(); kind == Clock && every > 0 {
		return Usage("save-every %s with mode %s: a snapshot within an epoch would apply delayed updates early; give "+
			"a number of epochs", c.SaveEvery, mode)
	}
	return nil
}

// checkBlocks refuses what mode blocks cannot be had with.
func (c *Config) checkBlocks() error {
	refuse := func(what, cure string) error { return Usage("%s with mode %s: %s", what, c.Mode, cure) }
	switch {
	case c.Mode.Kind != Blocks:
	case c.Optimizer != SGD:
		return refuse("optimizer "+string(c.Optimizer), "its steps are plain ones; use sgd")
	case c.GlobalBatch > 0 || c.Batch > 1:
		return refuse("batch and global-batch", "it trains entry by entry; leave them out")
	case c.Partition == "contiguous":
		return refuse("partition contiguous", "any worker takes any block; use dynamic")
	case c.GradientDelay > 0:
		return refuse("gradient-delay", "nobody waits between read and write; use async")
	case c.GPU != "":
		return refuse("gpu "+c.GPU, "blocks are trained on cores; leave gpu out")
	case c.Program != "":
		return refuse("program", "it trains model factor alone; use async or sync")
	case c.Nodes > 1:
		return refuse("several nodes", "blocks share the memory of one; use one node")
	}
	return nil
}

// checkSolver refuses what dual coordinate ascent cannot be had with.
func (c *Config) checkSolver() error {
	refuse := func(setting, cure string) error { return Usage("%s with solver dual: %s", setting, cure) }
	switch kind := c.Mode.Kind; {
	case c.Solver != Dual:
		return nil
	case kind != Async && kind != Atomic:
		return refuse("mode "+c.Mode.String(), "use async or atomic")
	case c.GPU != "":
		return refuse("gpu "+c.GPU, "it computes on cores; leave gpu out")
	case c.Program != "":
		return refuse("program", "it trains linear models that are built in; leave program out")
	case c.Nodes > 0:
		return refuse("nodes", "a dual variable belongs to a row of one machine; leave nodes out")
	case c.L2 <= 0:
		return refuse("l2 0", "the dual problem needs l2 above 0, e.g. l2 1e-4")
	case c.L1 != 0:
		return refuse("l1", "leave l1 out")
	case c.Optimizer != SGD:
		return refuse("optimizer "+string(c.Optimizer), "it has steps of its own; leave optimizer out")
	case c.AskedBatch() != 1 && c.Batch+c.GlobalBatch != 0:
		return refuse(fmt.Sprintf("batch %d", c.AskedBatch()), "a step is on one row; leave batch out")
	case c.Init != "":
		return refuse("init", "it starts at zero, or with resume; leave init out")
	case c.Center == "on":
		return refuse("center on", "leave center out")
	}
	return nil
}

// checkProgram refuses what a program cannot do: it reads and writes the weights by itself.
func (c *Config) checkProgram() error {
	switch {
	case c.Program == "":
		return nil
	case strings.TrimSpace(c.Program) == "":
		return Usage("program %q: name a command, e.g. 'python3 step.py'", c.Program)
	case c.Mode.Kind != Async && c.Mode.Kind != Sync:
		return Usage("mode %s with program: the program writes to the weights with plain stores; use async or sync",
			c.Mode)
	case c.Optimizer != SGD && !c.AveragesGradients():
		return Usage("optimizer %s with program: use one of torch.optim in the program, or mode sync with average "+
			"gradients", c.Optimizer)
	case c.severalGPUs():
		return Usage("gpu %s with program: a program trains on one GPU; name one, e.g. gpu 0", c.GPU)
	case c.Nodes > 1:
		return Usage("program on %d nodes: a program trains on one machine; start it without nodes and mpi", c.Nodes)
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

// checkStopAfter refuses a time that is none, and one on several nodes: each would end by its own clock.
func (c *Config) checkStopAfter() error {
	switch d := c.StopAfter; {
	case d < 0:
		return Usage("stop-after %v: must be a time such as 90s or 2h, or 0 for no limit", d)
	case d > 0 && c.Nodes > 1:
		return Usage("stop-after %v on %d nodes: each node has its own clock; send node 0 a SIGTERM, which saves the "+
			"job", d, c.Nodes)
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

// CheckFamily refuses what cannot be had with a family of models. A cut would leave its simplex:
// only a step of plain SGD ends with a projection.
func (c *Config) CheckFamily(f model.Family) error {
	switch {
	case c.Mode.Kind == Blocks && f != model.Factor:
		return Usage("mode %s: model %s has no rows and columns whose entries can be trained apart; use model "+
			"factor:32, or mode sync", c.Mode, c.Model)
	case f != model.Cut:
		return nil
	case c.AveragesGradients():
		return Usage("average gradients: model %s projects its weights after each local step; use average weights",
			c.Model)
	case c.Nodes > 1 && c.Outer == "nesterov":
		return Usage("outer nesterov: model %s keeps its weights on simplexes, which steps beyond a mean would "+
			"leave; use outer mean", c.Model)
	case c.Mode.Kind == Clock && (c.Rule.Kind >= Compensate || Whole(c.MergeEvery) > 1):
		return Usage("mode clock: model %s keeps its weights on simplexes, which the rules dc and delayed-nesterov, "+
			"and local steps, would leave; use another rule, without merge-every", c.Model)
	case c.Optimizer != SGD:
		return Usage("optimizer %s: model %s trains by projected SGD; use sgd", c.Optimizer, c.Model)
	}
	return nil
}

// Optimizers is the number of optimizer states: one a rank when they are private.
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

// Ranks is for how many workers there is room in shared memory: some may join while the run
// goes on. Memory that nobody touches is not taken from the system.
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
	case c.Mode.Kind == Clock:
		return Usage("mode %s is one process that simulates all workers: there is nothing to scale", c.Mode)
	case c.Solver == Dual && c.Workers == 1:
		return refuse("the one worker of solver dual trains as if nobody else wrote weights")
	case c.Nodes > 1:
		return refuse("with several nodes each keeps the workers that it began with")
	case c.GPU == "":
		return nil
	case c.Mode.Kind == Sync:
		return refuse("with mode sync on a GPU the replicas of all workers are allocated when the run starts")
	case strings.ContainsAny(c.GPU, ",:"):
		return refuse("with several GPUs each worker has its place when the run starts")
	case c.PrivateState():
		return refuse("with optimizer-state private on a GPU the state of each worker is allocated when the run starts")
	}
	return nil
}

// AveragesGradients reports whether gradients are averaged, and not weights.
func (c *Config) AveragesGradients() bool { return c.Mode.Kind == Sync && c.Average == "gradients" }

// AsyncOnCores reports whether nothing keeps workers from each other's weights but the copies
// that they train. The dual solver merges copies by compare-and-swap, too.
func (c *Config) AsyncOnCores() bool {
	return (c.Mode.Kind == Async || c.Mode.Kind == Atomic && c.Solver == Dual) && c.GPU == ""
}

// TakesTurns reports whether workers on cores wait for nothing but a core.
func (c *Config) TakesTurns() bool {
	return (c.Mode.Kind == Async || c.Mode.Kind == Atomic) && c.GPU == ""
}

// Centres reports whether the steps of the run are such that centring is exact: plain
// SGD, which moves V, s and k by what W = V - s mu' moves by. A regularizer acts on
// W, and the rules with state on each number by itself.
func (c *Config) Centres() bool {
	return c.Optimizer == SGD && !c.AveragesGradients() && c.L1 == 0 && c.L2 == 0 &&
		c.Rule.Kind != Clip && c.Rule.Kind != Compensate
}

// Steps is how many local steps there are between two averages; 0: those of an epoch.
func (c *Config) Steps() int {
	if c.AveragesGradients() {
		return 1
	}
	return c.AverageEvery
}

// PartOf is how many of n training rows an epoch has: in a short run not all.
func (c *Config) PartOf(n int) int {
	if c.Sample > 0 {
		return min(n, c.Sample)
	}
	return n
}

// NoValidation is the Validation of a run that trains on all rows, whatever the model.
const NoValidation = "none"

// HoldsOut reports whether the run holds out a tenth of its training rows by itself, if there are enough, and stops by
// the loss on them: a network that goes over a small set often enough learns it by heart, and nobody has said how often
// to.
func (c *Config) HoldsOut() bool {
	f := model.FamilyOf(c.Model)
	return (f == model.Perceptron || f == model.Convolutional) && c.Epochs == 0 && c.Validation == "" && !c.hasTarget()
}

// StopsEarly reports whether the run may end before its last epoch, or nobody has said which that is.
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

// checkNodes refuses what a run can do on one node only.
func (c *Config) checkNodes() error {
	switch {
	case c.Nodes < 2:
		return nil
	case c.Mode.Kind == Clock:
		return Usage("mode %s on %d nodes: one process simulates all workers of a run; use one node", c.Mode, c.Nodes)
	case c.OnDivergence == Rollback:
		return Usage("on-divergence %s on %d nodes: one node cannot go back alone; use stop, then resume the run "+
			"with a lower lr", c.OnDivergence, c.Nodes)
	}
	return nil
}
