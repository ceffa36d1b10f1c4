package cpu

import (
	"math"
	"sync/atomic"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/tuning"
	"hogwild/internal/vec"
)

// optimizer turns a gradient into a step where that needs state. Plain SGD needs none:
// see cpu.addGradient.
type optimizer struct {
	kind         config.Optimizer
	mu           float32 // momentum
	beta1, beta2 float64
	control.OptimizerState
}

// newOptimizer returns the optimizer of a run with a state.
func newOptimizer(c *tuning.Job, s control.OptimizerState) *optimizer {
	return &optimizer{kind: c.Asked.Optimizer, mu: float32(c.Used.Momentum), beta1: c.Asked.Beta1, beta2: c.Asked.Beta2,
		OptimizerState: s}
}

const epsilon = 1e-8 // keeps the divisor from zero, as in PyTorch

// begin counts a step and returns its number, from 1. All ranks of a shared state
// count together, as the bias correction of Adam needs it.
func (o *optimizer) begin() uint64 { return atomic.AddUint64(o.Steps, 1) }

// update takes the step down g, the gradient of the weights w from the from-th on; t is the number of the step. It
// leaves g at zero, but for sgd.
//
//	momentum  v = mu v + g              w -= lr v                    (as torch.optim.SGD)
//	adagrad   s += g^2                  w -= lr g/(sqrt(s) + eps)    (Duchi et al. 2011)
//	adam      m, v: moving averages     w -= lr m'/(sqrt(v') + eps)  (Kingma and Ba 2015, algorithm 1)
//
// A shared state is read and written here without locks, as the weights are.
func (o *optimizer) update(w, g []float32, from int, lr float64, t uint64) {
	var state [2][]float32
	for i, s := range o.Slots {
		state[i] = s[from : from+len(g)]
	}
	o.updateState(w, g, state, lr, t)
}

// updateState is update with the state of these weights.
func (o *optimizer) updateState(w, g []float32, state [2][]float32, lr float64, t uint64) {
	rate := float32(lr)
	switch o.kind {
	case config.SGD:
		for i := range g {
			g[i] *= rate
		}
		vec.Axpy(-1, g, w[:len(g)])
	case config.Momentum:
		vec.Momentum(w, state[0], g, o.mu, rate)
	case config.AdaGrad:
		vec.AdaGrad(w, state[0], g, rate, epsilon)
	case config.Adam:
		vec.Adam(w, state[0], state[1], g, o.adamStep(lr, t))
	}
}

// adamStep returns what step t of Adam is made of.
func (o *optimizer) adamStep(lr float64, t uint64) vec.AdamStep {
	return vec.AdamStep{Rate: float32(lr / (1 - math.Pow(o.beta1, float64(t)))), Beta1: float32(o.beta1),
		Beta2: float32(o.beta2), Unbias: float32(1 / math.Sqrt(1-math.Pow(o.beta2, float64(t)))), Eps: epsilon}
}
