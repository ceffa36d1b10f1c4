package vec

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// optimizers are the steps as vec takes them, and what float64 makes of one weight, its state and its gradient.
var optimizers = map[string]struct {
	step func(w, a, b, g []float32)
	want func(w, a, b, g float64) (w2, a2, b2 float64)
}{
	"Momentum": {func(w, a, _, g []float32) { Momentum(w, a, g, 0.9, 0.1) },
		func(w, a, b, g float64) (float64, float64, float64) {
			a = 0.9*a + g
			return w - 0.1*a, a, b
		}},
	"AdaGrad": {func(w, _, b, g []float32) { AdaGrad(w, b, g, 0.1, 1e-8) },
		func(w, a, b, g float64) (float64, float64, float64) {
			b += g * g
			return w - 0.1*g/(math.Sqrt(b)+1e-8), a, b
		}},
	"Adam": {func(w, a, b, g []float32) {
		Adam(w, a, b, g, AdamStep{Rate: 0.2, Beta1: 0.9, Beta2: 0.999, Unbias: 1.5, Eps: 1e-8})
	},
		func(w, a, b, g float64) (float64, float64, float64) {
			a, b = 0.9*a+0.1*g, 0.999*b+0.001*g*g
			return w - 0.2*a/(math.Sqrt(b)*1.5+1e-8), a, b
		}},
}

// TestOptimizers: against float64, and with the bits of plain Go.
func TestOptimizers(t *testing.T) {
	for name, o := range optimizers {
		t.Run(name, func(t *testing.T) {
			atLevels(t, func(t *testing.T) {
				for n := range 71 {
					var now, was, plain [4][]float32
					for i := range now {
						now[i] = fresh(t, n+[]int{0, 3, 1, 0}[i])
					}
					for i := range now[2] { // an average of squares; of the first weights nothing was learnt yet
						now[2][i] = max(0.01, now[2][i]*now[2][i])
						if i < n && i%5 == 0 {
							now[1][i], now[2][i], now[3][i] = 0, 0, 0
						}
					}
					for i := range now {
						was[i], plain[i] = slices.Clone(now[i]), slices.Clone(now[i])
					}
					o.step(now[0], now[1], now[2], now[3])
					as := use
					use = [loopCount]ISA{}
					o.step(plain[0], plain[1], plain[2], plain[3])
					use = as
					for i := range n {
						w, a, b := o.want(float64(was[0][i]), float64(was[1][i]), float64(was[2][i]),
							float64(was[3][i]))
						near(t, name, 8, now[0][i], w)
						near(t, name+", state", 1, now[1][i], a)
						near(t, name+", second state", 1, now[2][i], b)
					}
					for i := range now {
						if !slices.Equal(now[i], plain[i]) {
							t.Errorf("length %d: slice %d is not what plain Go makes of it", n, i)
						}
						if i > 0 && !slices.Equal(now[i][n:], was[i][n:]) {
							t.Errorf("length %d: slice %d written beyond the end", n, i)
						}
					}
					if slices.ContainsFunc(now[3], func(g float32) bool { return g != 0 }) {
						t.Errorf("length %d: the gradient is left", n)
					}
				}
				for short := range 3 {
					all := [3][]float32{fresh(t, 10), fresh(t, 10), fresh(t, 10)}
					all[short] = all[short][:9]
					g := fresh(t, 10)
					if name == "Adam" || name == "Momentum" && short < 2 || name == "AdaGrad" && short != 1 {
						panics(t, name, func() { o.step(all[0], all[1], all[2], g[:10:10]) })
					}
				}
			})
		})
	}
}

// BenchmarkOptimizers measures a step of a perceptron of 784, 128 and 10.
func BenchmarkOptimizers(b *testing.B) {
	const n = 101770
	for name, o := range optimizers {
		b.Run(fmt.Sprint(name, "-", n), func(b *testing.B) {
			var v [4][]float32
			for i := range v {
				v[i] = slices.Repeat([]float32{0.5}, n)
			}
			for b.Loop() {
				o.step(v[0], v[1], v[2], v[3])
			}
		})
	}
}

// TestStateEnds: without a gradient a state goes to zero, and does not stay at the numbers just above it, which are
// rounded to themselves.
func TestStateEnds(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		w, a, b, g := fresh(t, 21), fresh(t, 21), fresh(t, 21), make([]float32, 21)
		for i := range a {
			a[i], b[i] = float32(1-2*(i%2))*1e-36, 1e-36
		}
		v := slices.Clone(a)
		for range 200 {
			Momentum(w, v, g, 0.9, 0.1)
			Adam(w, a, b, g, AdamStep{Rate: 0.2, Beta1: 0.9, Beta2: 0.95, Unbias: 1.5, Eps: 1e-8})
		}
		for i := range g {
			if v[i] != 0 || a[i] != 0 || b[i] != 0 {
				t.Fatalf("states of weight %d: %v, %v and %v", i, v[i], a[i], b[i])
			}
		}
	})
}
