package tuning

import (
	"cmp"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// worthCentring is how much smaller lambda must become: less is not worth the two
// vectors, and may be chance.
const worthCentring = 0.8

// centers decides whether the run learns on inputs less their means. CenteredLambda is 0
// where it cannot, and for sparse rows unless told to.
func centers(c *config.Config, f Facts) bool {
	return f.CenteredLambda > 0 && (c.Center == config.On || f.CenteredLambda < worthCentring*f.RawLambda)
}

// triesCentring reports whether it is to be measured what centring does.
func triesCentring(c *config.Config, spec model.Spec, kind data.Kind) bool {
	asked := c.Center == config.On || c.Center == config.Auto && !kind.Sparse()
	return asked && mayCenter(c, spec, kind) == nil
}

// mayCenter returns an error that says why center on cannot be had, or nil.
func mayCenter(c *config.Config, spec model.Spec, kind data.Kind) error {
	noConstant := func(without string) error {
		return config.Usage("center on: %s cannot absorb the means of the inputs in a bias; leave center at auto",
			without)
	}
	switch {
	case !spec.Family().Layered || kind.Entries():
		return noConstant("the model " + c.Model)
	case kind.Sparse() && c.GPU != "":
		return config.Usage("center on: a GPU does not centre sparse rows; leave center at auto, or leave out gpu")
	case c.AsyncOnCores() && c.Workers > 1 && c.MergeEvery == config.InPlace:
		return config.Usage("center on with merge-every 1: the %d workers would write the centred weights in place "+
			"and diverge when they lose updates; leave merge-every or center at auto", c.Workers)
	case !c.Bias:
		return noConstant("a model without bias")
	case !c.Centres():
		return config.Usage("center on: centring needs plain sgd without l1, l2 and averaged gradients; leave those " +
			"out, or center at auto")
	}
	return nil
}

// biasStep returns the step of the bias. Where rows are sparse and short (words of
// a text, scaled to length 1), the bias's column of ones is by far the longest
// direction, and it alone would decide how many steps may be in flight.
func biasStep(c *config.Config, f Facts) float64 {
	if c.BiasStep == config.Off {
		return 1
	}
	return cmp.Or(min(1, f.FeaturesLambda), 1)
}

// scalesBias reports whether the bias may have a step of its own.
func scalesBias(c *config.Config, spec model.Spec) bool {
	f := spec.Family()
	return f.Layered && !f.Network && c.Bias && c.Optimizer == config.SGD && !c.AveragesGradients()
}
