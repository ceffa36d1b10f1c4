package tuning

import (
	"math"

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
	if c.Center == "off" || c.Center == "auto" && (set.Kind == data.Sparse || c.writesInPlace()) {
		return nil
	}
	if set.Kind == data.Sparse && c.GPU != "" {
		return config.Usage("center on: a GPU does not centre sparse rows; leave center at auto, or leave out gpu")
	}
	if c.Center == "on" && c.writesInPlace() {
		return config.Usage("center on: with merge-every 1 the %d workers write V, s and k in place, and diverge when updates of V alone are lost; leave merge-every at auto, or center", c.Workers)
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

// TrainedOptions are the options of the model that the run trains; those of the model that
// it leaves behind are ModelOptions.
func (c *Job) TrainedOptions(set *data.Set) model.Options {
	o := c.ModelOptions()
	o.BiasStep = float32(c.Tuning.BiasStep)
	if c.Tuning.Center {
		o.Center, o.Mean = true, set.Mean
	}
	return o
}
