package tuning

import (
	"math"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// worthCentring is how much smaller lambda must become: less is not worth the two
// vectors, and may be chance.
const worthCentring = 0.8

// settleCenter decides whether the run centres its inputs, and if so, sets Lambda to
// that of the centred ones.
func (c *Job) settleCenter(l *Tuning, set *data.Set, sample []data.Row) error {
	if c.Center == "off" || c.Center == "auto" && (set.Kind == data.Sparse || c.loses(set)) {
		return nil
	}
	if set.Kind == data.Sparse && c.GPU != "" {
		return config.Usage("center on: a GPU does not centre sparse rows; leave center at auto, or leave out gpu")
	}
	if err := c.MayCenter("a model without bias", c.Bias); err != nil || !c.Bias || !c.Centres() {
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
		c.DenseMergePeriod(set.Kind, set.Features*max(1, len(set.Classes))) <= 1
}

// TrainedOptions are the options of the model that the run trains; those of the model that
// it leaves behind are modelOptions.
func (c *Job) TrainedOptions(set *data.Set) model.Options {
	o := c.ModelOptions()
	o.BiasStep = float32(c.Tuning.BiasStep)
	if c.Tuning.Center {
		o.Center, o.Mean = true, set.Mean
	}
	return o
}
