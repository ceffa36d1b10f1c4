package hogwild

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"math"
	"strconv"
	"strings"
)

// worthCentring is how much smaller lambda must become: less is not worth the two
// vectors, and may be chance.
const worthCentring = 0.8

// settleCenter decides whether the run centres its inputs, and if so, sets Lambda to
// that of the centred ones.
func (c *Job) settleCenter(l *Law, set *data.Set, sample []data.Row) error {
	if c.Center == "off" || c.Center == "auto" && (set.Kind == data.Sparse || c.loses(set)) {
		return nil
	}
	if set.Kind == data.Sparse && c.GPU != "" {
		return usage("center on: a GPU does not centre sparse rows; leave center at auto, or leave out gpu")
	}
	if err := c.mayCenter("a model without bias", c.Bias); err != nil || !c.Bias || !c.centres() {
		return err
	}
	centred := eigenvalue(sample, set.Features, set.Mean, math.Sqrt(l.BiasStep), c.Seed)
	if c.Center == "on" || centred < worthCentring*l.Lambda {
		l.Center, l.Lambda = true, centred
	}
	return nil
}

// loses tells whether workers of the run write a linear model where it lies, at the same
// time, all of it at every step: centring does not bear what is lost then (see
// mergesAlone). Perceptrons that are too large to be held back, whose steps are longer, bear it.
func (c *Job) loses(set *data.Set) bool {
	return c.Mode == "async" && c.GPU == "" && c.Workers > 1 && !strings.HasPrefix(c.Model, "mlp") &&
		c.flushDense(set.Kind, set.Features*max(1, len(set.Classes))) <= 1
}

// trained are the options of the model that the run trains; those of the model that
// it leaves behind are modelOptions.
func (c *Job) trained(set *data.Set) model.Options {
	o := c.modelOptions()
	o.BiasStep = float32(c.Law.BiasStep)
	if c.Law.Center {
		o.Center, o.Mean = true, set.Mean
	}
	return o
}

// flushEvery is how many updates of w weights a worker holds back. Too few, and merging
// takes longer than training; too many, and each of the workers goes most of the way
// alone, so that they overshoot together (docs/asynchrony.md): the product with the
// number of workers counts.
func (c *Job) flushEvery(w int) int {
	if n, err := strconv.Atoi(c.FlushEvery); err == nil {
		return n
	}
	every := 512
	if w > 1<<14 {
		every = 4096 // merging all of so many takes as long as a hundred steps
	}
	every /= c.Workers
	if c.Law.Hold > 0 {
		every = min(every, c.Law.Hold)
	}
	return max(16, every)
}

// mergesAlone tells whether workers merge one after the other. Two that merge at once lose
// updates where they meet, which plain weights bear. With centring they do not: V, s and
// k hold one function together (model.Center), and when a share e of V's updates is lost, but
// not of k's, the bias of the centred model is left with 1 - e (1 + |mu|^2) of its steps.
// On MNIST that is less than nothing from 2.6% on, and the run diverges: cores that are far
// apart, or busy with other programs, lose more.
func (c *Job) mergesAlone() bool { return c.Mode == "async" && c.GPU == "" && c.Law.Center }

// maxHot is the largest model that is copied whole, a megabyte of it: copy and base
// then stay in a core's cache. In a larger one most weights are rare, and two workers seldom
// meet at one: at its bias alone, which is copied by itself (see holdBias).
const maxHot = 1 << 18

// momentum is the one that the run uses; without a Law, the one asked for.
func (c *Job) momentum() float64 {
	if c.Law.LR == 0 {
		return c.Momentum
	}
	return c.Law.Momentum
}
