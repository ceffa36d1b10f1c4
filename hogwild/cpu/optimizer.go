package cpu

import (
	"math"
	"sync/atomic"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/tuning"
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

// update makes of g, the gradient of the weights from the from-th on, the step to be
// subtracted from them, in place; t is the number of the step.
//
//	momentum  v = mu v + g              lr v                    (as torch.optim.SGD)
//	adagrad   s += g^2                  lr g/(sqrt(s) + eps)    (Duchi et al. 2011)
//	adam      m, v: moving averages     lr m'/(sqrt(v') + eps)  (Kingma and Ba 2015, algorithm 1)
//
// A shared state is read and written here without locks, as the weights are.
func (o *optimizer) update(g []float32, from int, lr float64, t uint64) {
	rate := float32(lr)
	slot := func(i int) []float32 { return o.Slots[i][from : from+len(g)] }
	switch o.kind {
	case config.SGD:
		for i := range g {
			g[i] *= rate
		}
	case config.Momentum:
		v := slot(0)
		for i := range g {
			v[i] = o.mu*v[i] + g[i]
			g[i] = rate * v[i]
		}
	case config.AdaGrad:
		s := slot(0)
		for i, gi := range g {
			if gi != 0 {
				s[i] += gi * gi
				g[i] = rate * gi / (sqrt(s[i]) + epsilon)
			}
		}
	case config.Adam:
		m, v := slot(0), slot(1)
		b1, b2 := float32(o.beta1), float32(o.beta2)
		rate = float32(lr / (1 - math.Pow(o.beta1, float64(t))))
		unbias := float32(1 / math.Sqrt(1-math.Pow(o.beta2, float64(t))))
		for i, gi := range g {
			m[i] = b1*m[i] + (1-b1)*gi
			v[i] = b2*v[i] + (1-b2)*gi*gi
			g[i] = rate * m[i] / (sqrt(v[i])*unbias + epsilon)
		}
	}
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
