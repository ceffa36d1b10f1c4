//go:build cuda

package cuda

import (
	"math"
	"testing"

	"gorgonia.org/cu"

	"hogwild/hogwild/model"
)

// TestRules is every optimizer and regularizer, centring and the bias's step, on steps of
// one group of samples and of more, of inputs of one tile and of more.
func TestRules(t *testing.T) { onEach(t, testRules) }

func testRules(t *testing.T, g *gpuUnderTest) {
	of := func(d int, edit func(*problem)) problem {
		p := problem{d: d, k: 3, loss: model.CrossEntropy, batches: []int{8, 3, 8, 20, 1}, ctas: 1, bytes: d%2 == 0}
		edit(&p)
		return p
	}
	for i, p := range []problem{
		of(100, func(p *problem) { p.optimizer = "adagrad" }),
		of(101, func(p *problem) { p.optimizer, p.l2 = "adagrad", .1 }),
		of(100, func(p *problem) { p.optimizer = "adam" }),
		of(101, func(p *problem) { p.optimizer, p.l1, p.l2 = "adam", .1, .1 }),
		of(101, func(p *problem) { p.optimizer, p.l1 = "momentum", .05 }),
		of(100, func(p *problem) { p.l1 = .5 }),
		of(101, func(p *problem) { p.l1, p.l2, p.nobias = .2, .3, true }),
		of(100, func(p *problem) { p.center = true }),
		of(101, func(p *problem) { p.center = true }),
		of(100, func(p *problem) { p.center, p.wide = true, true }),
		of(1024, func(p *problem) { p.center = true }),
		of(1025, func(p *problem) { p.center = true }),
		of(100, func(p *problem) { p.bias = .3 }),
		of(1030, func(p *problem) { p.bias, p.k, p.loss = .01, 1, model.Logistic }),
	} {
		for _, widths := range [][]int{nil, {5}, {130}} {
			p.widths = widths
			kernel := "mlp_step"
			if widths == nil {
				kernel = "linear_step"
			} else if p.d > 200 || p.bias != 0 {
				continue
			}
			t.Run(p.String(), func(t *testing.T) { draw(p, uint64(i)).check(t, g, kernel) })
			if t.Failed() {
				return
			}
		}
	}
}

// TestTornState: of steps that share adam's state one may read another's new average of the
// gradients with the old one of their squares, 0 at the beginning. A weight then moves by no more
// than numbers that belong together would have moved it; not by 1e8 times as much.
func TestTornState(t *testing.T) { onEach(t, testTornState) }

func testTornState(t *testing.T, g *gpuUnderTest) {
	for kernel, widths := range map[string][]int{"linear_step": nil, "mlp_step": {130}} {
		s := draw(problem{d: 100, k: 3, widths: widths, loss: model.CrossEntropy, batches: []int{8}, ctas: 1,
			optimizer: "adam", bytes: true}, 1)
		j := s.job(g)
		m := make([]float32, len(s.w))
		for i := range m {
			m[i] = 10
		}
		j.First = put(g, m)
		if err := g.kernels[kernel].run(1, cu.DevicePtr(put(g, encode(j)))); err != nil {
			t.Fatal(err)
		}
		// In the first step m' is m/(1-b1), v' is v/(1-b2), and m^2/v at most (1-b1)^2/(1-b2)/(1-b1^2/b2).
		most := float64(s.lr[0]) / math.Sqrt(1-beta1*beta1/beta2)
		moved := 0.0
		for i, w := range get[float32](g, len(s.w), j.W) {
			moved = max(moved, math.Abs(float64(w-s.w[i])))
		}
		if !(moved < 1.001*most+1e-5 && moved > .9*most) {
			t.Errorf("%s moves a weight by %g, want %g", kernel, moved, most)
		}
	}
}
