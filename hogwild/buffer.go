package hogwild

import (
	"strconv"
	"strings"

	"hogwild/hogwild/data"
)

// maxHeldDense is the largest dense model of which a worker trains a copy: half of a
// core's second-level cache of a megabyte, so that the copy stays there.
const maxHeldDense = 1 << 17

// flushDense is how many updates of a layered model of w weights on dense inputs, their
// zeros skipped or not, a worker holds back; 1: none. Each step writes most of the
// weights then, and without a copy every cache line of them would travel at every step.
//
// The differences of all workers are added up, so that held updates are as if made
// in flight together. Two workers bear it: on MNIST at batch 64, rate 0.1, and at batch 1,
// rate 0.005, accuracies are the same with 1, 16 and 128 updates held back. With eight,
// perceptrons diverge at 16 (simulated with exact delays), so that beyond two workers they
// hold nothing back unless told to, but on centred inputs: there four updates late are
// borne better than some lost (see mergesAlone).
func (c *Job) flushDense(kind string, w int) int {
	if c.Optimizer != "sgd" || kind == data.Sparse || !layered(c.Model) || w > maxHeldDense {
		return 1
	}
	if n, err := strconv.Atoi(c.FlushEvery); err == nil {
		return n
	}
	every := max(8, 128/c.Batch)
	switch {
	case c.Workers <= 2 || !strings.HasPrefix(c.Model, "mlp"):
	case c.mergesAlone():
		every = 4
	default:
		return 1
	}
	if c.Law.Knee > 0 { // an eighth of what the rate bears in flight
		every = min(every, max(1, int(c.Law.Knee/8)))
	}
	if c.Law.Hold > 0 {
		every = min(every, c.Law.Hold)
	}
	if c.mergesAlone() { // or all would be written in place
		every = max(every, 2)
	}
	return every
}
