package tuning

import (
	"strconv"
	"strings"

	"hogwild/hogwild/data"
)

// maxHeldDense is the largest dense model of which a worker trains a copy: half of a
// core's second-level cache of a megabyte, so that the copy stays there.
const maxHeldDense = 1 << 17

// DenseMergePeriod is how many updates of a layered model of w weights on dense inputs, their
// zeros skipped or not, a worker holds back; 1: none. Each step writes most of the
// weights then, and without a copy every cache line of them would travel at every step.
//
// The differences of all workers are added up, so that held updates are as if made
// in flight together. Two workers bear it: on MNIST at batch 64, rate 0.1, and at batch 1,
// rate 0.005, accuracies are the same with 1, 16 and 128 updates held back. With eight,
// perceptrons diverge at 16 (simulated with exact delays), so that beyond two workers they
// hold nothing back unless told to, but on centred inputs: there four updates late are
// borne better than some lost (see mergesAlone).
func (c *Job) DenseMergePeriod(kind string, w int) int {
	if c.Optimizer != "sgd" || kind == data.Sparse || !layered(c.Model) || w > maxHeldDense {
		return 1
	}
	if n, err := strconv.Atoi(c.FlushEvery); err == nil {
		return n
	}
	every := max(8, 128/c.Batch)
	switch {
	case c.Workers <= 2 || !strings.HasPrefix(c.Model, "mlp"):
	case c.MergesAlone():
		every = 4
	default:
		return 1
	}
	if c.Tuning.MaxInFlight > 0 { // an eighth of what the rate bears in flight
		every = min(every, max(1, int(c.Tuning.MaxInFlight/8)))
	}
	if c.Tuning.Hold > 0 {
		every = min(every, c.Tuning.Hold)
	}
	if c.MergesAlone() { // or all would be written in place
		every = max(every, 2)
	}
	return every
}

// MergePeriod is how many updates of w weights a worker holds back. Too few, and merging
// takes longer than training; too many, and each of the workers goes most of the way
// alone, so that they overshoot together (docs/asynchrony.md): the product with the
// number of workers counts.
func (c *Job) MergePeriod(w int) int {
	if n, err := strconv.Atoi(c.FlushEvery); err == nil {
		return n
	}
	every := 512
	if w > 1<<14 {
		every = 4096 // merging all of so many takes as long as a hundred steps
	}
	every /= c.Workers
	if c.Tuning.Hold > 0 {
		every = min(every, c.Tuning.Hold)
	}
	return max(16, every)
}

// MergesAlone tells whether workers merge one after the other. Two that merge at once lose
// updates where they meet, which plain weights bear. With centring they do not: V, s and
// k hold one function together (model.Center), and when a share e of V's updates is lost, but
// not of k's, the bias of the centred model is left with 1 - e (1 + |mu|^2) of its steps.
// On MNIST that is less than nothing from 2.6% on, and the run diverges: cores that are far
// apart, or busy with other programs, lose more.
func (c *Job) MergesAlone() bool { return c.Mode == "async" && c.GPU == "" && c.Tuning.Center }

// MaxHot is the largest model that is copied whole, a megabyte of it: copy and base
// then stay in a core's cache. In a larger one most weights are rare, and two workers seldom
// meet at one: at its bias alone, which is copied by itself (see holdBias).
const MaxHot = 1 << 18
