package config

import (
	"strconv"
	"strings"
	"time"
)

// OptimizerSlots is how many numbers the rule keeps for each weight.
func OptimizerSlots(kind string) int {
	switch kind {
	case "momentum", "adagrad":
		return 1
	case "adam":
		return 2
	}
	return 0
}

// maxDelay bounds K: every update in flight holds a gradient.
const maxDelay = 1<<16 - 1

// DelaySteps reads a mode of the form delayed:K or delayed:geometric:K.
func (c *Config) DelaySteps() (k int, random, ok bool) {
	text, ok := strings.CutPrefix(c.Mode, "delayed:")
	if !ok {
		return 0, false, false
	}
	text, random = strings.CutPrefix(text, "geometric:")
	k, err := strconv.Atoi(text)
	return k, random, err == nil && k >= 0 && k <= maxDelay
}

// Delayed tells whether asynchrony is simulated.
func (c *Config) Delayed() bool { return strings.HasPrefix(c.Mode, "delayed") }

// maxGradientDelay keeps a chunk of 1,024 such steps within what a run that is stopped
// waits for.
const maxGradientDelay = 5 * time.Millisecond

// checkGradientDelay refuses delays that cannot be had.
func (c *Config) checkGradientDelay() error {
	d := c.GradientDelay
	switch {
	case d < 0 || d > maxGradientDelay:
		return Usage("gradient-delay %v: must be from 0 to %v", d, maxGradientDelay)
	case d > 0 && c.GPU != "":
		return Usage("gradient-delay %v with gpu: it keeps a core busy; leave one of them out", d)
	case d > 0 && c.Delayed():
		return Usage("gradient-delay %v with mode %s: there a delay is counted in updates, not in time; leave gradient-delay out", d, c.Mode)
	}
	return nil
}

// CheckSimplex refuses what would leave the simplex: only a step of plain SGD ends with
// a projection. And models of pairs know no l1.
func (c *Config) CheckSimplex() error {
	if strings.HasPrefix(c.Model, "cut") || strings.HasPrefix(c.Model, "factor") {
		if c.L1 != 0 {
			return Usage("l1 %g: the model %s has none; leave it out, or use l2", c.L1, c.Model)
		}
	}
	if !strings.HasPrefix(c.Model, "cut") || c.Optimizer == "sgd" && !c.AveragesGradients() {
		return nil
	}
	if c.AveragesGradients() {
		return Usage("average gradients: model %s projects after each step of a worker; average weights instead", c.Model)
	}
	return Usage("optimizer %s: model %s projects after each step of plain SGD; use sgd", c.Optimizer, c.Model)
}

// Optimizers is the number of optimizer states: one a rank when they are private.
// With averaged gradients all ranks take one step together, with one state.
func (c *Config) Optimizers() int {
	if c.OptimizerState == "shared" || c.AveragesGradients() {
		return 1
	}
	return c.Workers
}

// AveragesGradients tells whether gradients are averaged, and not weights.
func (c *Config) AveragesGradients() bool { return c.Mode == "sync" && c.Average == "gradients" }

// Centres tells whether the steps of the run are such that centring is exact: plain
// SGD, which moves V, s and k by what W = V - s mu' moves by. A regularizer acts on
// W, and the rules with state on each number by itself.
func (c *Config) Centres() bool {
	return c.Optimizer == "sgd" && !c.AveragesGradients() && c.L1 == 0 && c.L2 == 0
}

// MayCenter refuses center on, where it was asked for and cannot be.
func (c *Config) MayCenter(without string, can bool) error {
	if c.Center != "on" {
		return nil
	}
	switch {
	case !can:
		return Usage("center on: %s has no constant to make up for the means; leave center at auto", without)
	case !c.Centres():
		return Usage("center on: it is for plain sgd without l1, l2 and averaged gradients; leave center at auto, or those out")
	}
	return nil
}

// PartOf is how many of n training rows an epoch has: in a short run not all.
func (c *Config) PartOf(n int) int {
	if c.Sample > 0 {
		return min(n, c.Sample)
	}
	return n
}
