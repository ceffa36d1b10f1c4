package hogwild

import (
	"math"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// Centring: SGD on inputs less their means, while zeros stay zeros (model.Center).
// All that leaves the run is plain weights and bias, on inputs as they are: the
// weights are folded first. Only a snapshot has, beside those, what the run goes on
// with.

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

// centres tells whether the steps of the run are such that centring is exact: plain
// SGD, which moves V, s and k by what W = V - s mu' moves by. A regularizer acts on
// W, and the rules with state on each number by itself.
func (c *Config) centres() bool {
	return c.Optimizer == "sgd" && !c.averagesGradients() && c.L1 == 0 && c.L2 == 0
}

// mayCenter refuses center on, where it was asked for and cannot be.
func (c *Config) mayCenter(without string, can bool) error {
	if c.Center != "on" {
		return nil
	}
	switch {
	case !can:
		return usage("center on: %s has no constant to make up for the means; leave center at auto", without)
	case !c.centres():
		return usage("center on: it is for plain sgd without l1, l2 and averaged gradients; leave center at auto, or those out")
	}
	return nil
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

// isCenter tells s from the other tensors of a model that centres.
func isCenter(p model.Param) bool { return strings.HasSuffix(p.Name, ".center") }

// fold makes of the weights of a model that centres, whose tensors are ps, those of
// the plain one: V - s mu', the bias k, and no s.
func fold(ps []model.Param, w, mean []float32) []float32 {
	plain := make([]float32, 0, len(w))
	for i, at := range model.Offsets(ps) {
		if !isCenter(ps[i]) {
			plain = append(plain, w[at:at+ps[i].Len()]...)
			continue
		}
		s := w[at : at+ps[i].Len()]
		for j, mu := range mean { // the first layer's weights lie first, in x out
			for k, sk := range s {
				plain[j*len(s)+k] -= mu * sk
			}
		}
	}
	return plain
}

// unfold is a model that centres as it begins from plain weights: s is zero.
func unfold(ps []model.Param, plain []float32) []float32 {
	var w []float32
	for _, p := range ps {
		if isCenter(p) {
			w = append(w, make([]float32, p.Len())...)
			continue
		}
		w, plain = append(w, plain[:p.Len()]...), plain[p.Len():]
	}
	return w
}
