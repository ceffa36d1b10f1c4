package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/tuning"
)

// exact is an optimizer in double precision, one weight at a time, written from the
// papers: momentum as torch.optim.SGD has it, AdaGrad, and Adam's algorithm 1.
type exact struct {
	kind      string
	mu        float64
	b1, b2    float64
	v, m, sum float64
	t         int
}

func (e *exact) step(g, lr float64) float64 {
	e.t++
	switch e.kind {
	case "momentum":
		e.v = e.mu*e.v + g
		return lr * e.v
	case "adagrad":
		e.sum += g * g
		return lr * g / (math.Sqrt(e.sum) + 1e-8)
	case "adam":
		e.m = e.b1*e.m + (1-e.b1)*g
		e.v = e.b2*e.v + (1-e.b2)*g*g
		m := e.m / (1 - math.Pow(e.b1, float64(e.t)))
		v := e.v / (1 - math.Pow(e.b2, float64(e.t)))
		return lr * m / (math.Sqrt(v) + 1e-8)
	}
	return lr * g
}

// privateOptimizer has a state for p weights, in private memory.
func privateOptimizer(kind string, p int) *optimizer {
	o := newOptimizer(tuning.AsAsked(config.Config{Optimizer: config.Optimizer(kind), Beta1: 0.9, Beta2: 0.999,
		Momentum: 0.9}), control.OptimizerState{Steps: new(uint64)})
	for range config.Optimizer(kind).Slots() {
		o.Slots = append(o.Slots, make([]float32, p))
	}
	return o
}

// gradientsOf returns gradients of all sizes; one in five is zero.
func gradientsOf(r *rand.Rand, p int) []float32 {
	g := make([]float32, p)
	for i := range g {
		if r.IntN(5) > 0 {
			g[i] = float32(r.NormFloat64() * math.Pow(10, float64(i%7-3)))
		}
	}
	return g
}

func TestOptimizersFollowTheirPapers(t *testing.T) {
	const p, steps = 37, 400
	for _, kind := range []string{"sgd", "momentum", "adagrad", "adam"} {
		r := rand.New(rand.NewPCG(rand.Uint64(), 1))
		o := privateOptimizer(kind, p)
		references := make([]exact, p)
		for i := range references {
			references[i] = exact{kind: kind, mu: 0.9, b1: 0.9, b2: 0.999}
		}
		for step := range steps {
			g := gradientsOf(r, p)
			lr := 0.1 / (1 + float64(step)/50)
			w := make([]float32, p)
			o.update(w, append([]float32(nil), g...), 0, lr, o.begin())
			for i := range g {
				want := references[i].step(float64(g[i]), lr)
				size := lr // of a step of adagrad and adam, whatever the gradient's
				if kind == "sgd" || kind == "momentum" {
					size *= 10 * math.Pow(10, float64(i%7-3))
				}
				if math.Abs(-float64(w[i])-want) > 2e-5*size {
					t.Fatalf("%s, step %d, weight %d: %v, want %v", kind, step+1, i, -w[i], want)
				}
			}
		}
		if *o.Steps != steps {
			t.Errorf("%s counted %d steps", kind, *o.Steps)
		}
	}
}

// A slice of the weights can be turned alone, with its slice of the state.
func TestOptimizerTurnsASlice(t *testing.T) {
	const p, from, to = 23, 5, 17
	for _, kind := range []string{"momentum", "adagrad", "adam"} {
		whole, part := privateOptimizer(kind, p), privateOptimizer(kind, p)
		r := rand.New(rand.NewPCG(rand.Uint64(), 1))
		for step := range uint64(5) {
			g := gradientsOf(r, p)
			all, slice := make([]float32, p), make([]float32, to-from)
			part.update(slice, append([]float32(nil), g[from:to]...), from, 0.1, step+1)
			whole.update(all, g, 0, 0.1, step+1)
			for i, v := range slice {
				if v != all[from+i] {
					t.Fatalf("%s, weight %d: %v alone, %v among all", kind, from+i, v, all[from+i])
				}
			}
		}
		for _, s := range part.Slots {
			for i, v := range s {
				if (i < from || i >= to) && v != 0 {
					t.Errorf("%s wrote %v to the state of weight %d, which is not its own", kind, v, i)
				}
			}
		}
	}
}
