//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/half"
)

// unit is the distance of the numbers of half precision around v.
func unit(v float64) float64 {
	_, e := math.Frexp(max(math.Abs(v), 0x1p-14))
	return math.Ldexp(1, e-11)
}

// halved rounds the factors to numbers of half precision, and returns how the weights are stored.
func (p *pairs) halved() *layout {
	l := &layout{P: len(p.w), Halves: p.nodes * p.k}
	for i, v := range p.w[:l.Halves] {
		p.w[i] = half.Float(half.Nearest(v))
	}
	return l
}

// onHalves takes the steps of the problem with factor_half, and returns the weights.
func (p *pairs) onHalves(t *testing.T, g *gpuUnderTest, teams int64) (w, losses []float32) {
	t.Helper()
	l, j := p.halved(), p.job(g)
	j.W = put(g, l.bytesOf(p.w))
	j.Out, j.Racy, j.Teams = j.W, 1, teams
	if err := g.kernels["factor_half"].run(1, cu.DevicePtr(put(g, encode(j)))); err != nil {
		t.Fatal(err)
	}
	w = make([]float32, len(p.w))
	_ = l.read(w, func(b []byte) error { copy(b, get[byte](g, len(b), j.W)); return nil })
	return w, get[float32](g, len(p.lr), j.Loss)
}

// TestFactorHalf takes steps one by one, each from where the last one ended: a factor becomes one of the two numbers of
// half precision around what it becomes in double precision, the biases what they do, and all others stay.
func TestFactorHalf(t *testing.T) { onEach(t, testFactorHalf, "factor") }

func testFactorHalf(t *testing.T, g *gpuUnderTest) {
	for i, k := range []int{1, 2, 4, 7, 8, 10, 16, 17, 20, 33, 64, 100, 128, 129, 132, 300} {
		p := drawPairs(pairs{nodes: 12 + i%2, k: k, optimizer: "sgd", batches: ones(1), biased: i%3 > 0,
			l2: float64(i%2) * .1}, uint64(i))
		t.Run(p.String(), func(t *testing.T) {
			g := g.in(t)
			for step := range 6 {
				p.rows[0], p.lr[0] = int32((7*step+i)%40), []float32{.1, .001}[step%2]
				got, loss := p.onHalves(t, g, 1)
				p.reference()
				closeTo(t, "loss", loss, p.steps, []float64{0})
				for c, want := range p.weights {
					before := float64(p.w[c])
					bound := 2e-5*math.Abs(want-before) + 1e-6*math.Abs(want)
					if c < p.nodes*k && want != before {
						bound += unit(want)
					}
					if e := math.Abs(float64(got[c]) - want); !(e <= bound) {
						t.Fatalf("step %d: weight %d is %g, the reference's %g, before %g", step, c, got[c], want,
							before)
					}
				}
				p.w = got
			}
		})
	}
}

// TestHalvesByChance: the steps of 200 pairs, each a fraction of a unit of the last place, move the factors by their
// sum. Each moves by a unit or not at all, so that the sum has the variance of as many tosses; rounded to the nearest,
// all steps below half a unit were lost.
func TestHalvesByChance(t *testing.T) { onEach(t, testHalvesByChance, "factor") }

func testHalvesByChance(t *testing.T, g *gpuUnderTest) {
	g = g.in(t)
	const n, k = 200, 128
	p := drawPairs(pairs{nodes: 2 * n, k: k, optimizer: "sgd", batches: ones(n)}, 1)
	r := rand.New(rand.NewPCG(1, 1))
	p.idx, p.y = nil, make([]float32, n)
	for i := range n {
		p.idx, p.rows[i] = append(p.idx, uint32(i), uint32(n+i)), int32(i)
		p.y[i], p.lr[i] = float32(70*r.Float64()), 1e-6
	}
	for i := range p.w {
		p.w[i] = float32(.55 + .4*r.Float64()) // units of 2^-11
	}
	got, _ := p.onHalves(t, g, 8)
	p.reference()
	sum, variance, moved := 0.0, 0.0, 0
	for i, want := range p.weights[:2*n*k] {
		by, to := (want-float64(p.w[i]))/0x1p-11, (float64(got[i])-float64(p.w[i]))/0x1p-11
		share := by - math.Floor(by)
		if to != math.Floor(by) && to != math.Ceil(by) {
			t.Fatalf("factor %d moves by %g units, not by %g", i, to, by)
		}
		if to != 0 {
			moved++
		}
		sum, variance = sum+to-by, variance+share*(1-share)
	}
	t.Logf("%d of %d factors moved; their sum is off by %.2f standard deviations", moved, 2*n*k,
		sum/math.Sqrt(variance))
	if math.Abs(sum) > 4*math.Sqrt(variance) || variance < 100 {
		t.Errorf("the sum of all factors is off by %g units, of a standard deviation of %g", sum, math.Sqrt(variance))
	}
}

// TestAllHalves: a step of rate 0 reads, rounds and stores all numbers that are finite, and leaves them as they are.
func TestAllHalves(t *testing.T) { onEach(t, testAllHalves, "factor") }

func testAllHalves(t *testing.T, g *gpuUnderTest) {
	g = g.in(t)
	for _, k := range []int{31, 62, 124} { // 31 x 2^11 numbers, singly and by fours
		nodes := 31 << 11 / k
		p := drawPairs(pairs{nodes: nodes, k: k, optimizer: "sgd", batches: ones(nodes / 2)}, 1)
		p.idx, p.y = nil, make([]float32, nodes/2)
		for i := range nodes / 2 {
			p.idx, p.rows[i], p.lr[i] = append(p.idx, uint32(2*i), uint32(2*i+1)), int32(i), 0
		}
		for i := range nodes * k {
			p.w[i] = half.Float(uint16(i%(31<<10) | i/(31<<10)<<15))
		}
		if got, _ := p.onHalves(t, g, 1); !slices.Equal(got, p.w) {
			t.Errorf("k=%d: a step of rate 0 changes factors", k)
		}
	}
}

// TestHalvesDiverge: a factor beyond the largest half is infinite, the next loss is not finite, so that the run says
// that it diverges, and what is not a number stays that.
func TestHalvesDiverge(t *testing.T) { onEach(t, testHalvesDiverge, "factor") }

func testHalvesDiverge(t *testing.T, g *gpuUnderTest) {
	g = g.in(t)
	for _, k := range []int{3, 4} {
		p := drawPairs(pairs{nodes: 2, k: k, optimizer: "sgd", batches: ones(3)}, 1)
		p.idx, p.y, p.rows = []uint32{0, 1}, []float32{-1e6}, []int32{0, 0, 0}
		copy(p.lr, []float32{-1, -1, -1})
		for i := range p.w {
			p.w[i] = 1
		}
		got, loss := p.onHalves(t, g, 1)
		for i, v := range got[:2*k] {
			if !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) {
				t.Errorf("k=%d: factor %d is %g after losses of %g", k, i, v, loss)
			}
		}
		if finite := func(v float32) bool { return v-v == 0 }; !finite(loss[0]) || finite(loss[1]) || finite(loss[2]) {
			t.Errorf("k=%d: losses %g, want those after the first not to be finite", k, loss)
		}
	}
}

// TestStoredWeights: weights come back from how they are stored, rounded to the nearest, whatever their number.
func TestStoredWeights(t *testing.T) {
	for _, l := range []layout{{P: 9}, {P: 9, Halves: 4}, {P: 10, Halves: 5}, {P: 3, Halves: 2}} {
		w := trialWeights(l.P, 1, 2)
		b, got := l.bytesOf(w), make([]float32, l.P)
		if err := l.read(got, func(to []byte) error {
			if copy(to, b); len(to) != len(b) || len(b) != 4*(l.P-l.Halves/2) {
				return fmt.Errorf("%d weights, %d of half precision, take %d bytes", l.P, l.Halves, len(b))
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		for i, v := range w {
			if want := half.Float(half.Nearest(v)); got[i] != want && (i < l.Halves || got[i] != v) {
				t.Errorf("%v: weight %d is %g, not %g", l, i, got[i], v)
			}
		}
	}
}

// halfRun is a run of ratings in half precision.
func halfRun(t *testing.T, edit func(*config.Config)) config.Config {
	return digits(t, func(c *config.Config) {
		c.Model, c.Data, c.Batch, c.Precision = "factor:32", "synth:lowrank:120x100x8000x4", 1, config.FP16
		edit(c)
	})
}

// TestHalfRuns: whole runs end where runs in single precision on cores do, but for rounding: with rows that begin
// within a word, with biases, and by two workers.
func TestHalfRuns(t *testing.T) {
	for i, edit := range []func(*config.Config){
		func(c *config.Config) { c.InFlight = 1 },
		func(c *config.Config) { c.Model, c.Biases, c.L2, c.InFlight = "factor:7", true, .01, 1 },
		func(c *config.Config) { c.Workers, c.InFlight, c.Epochs, c.LR = 2, 8, 20, 0 }, // on the way turns decide
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			gpu := halfRun(t, func(c *config.Config) { c.Epochs = 4; edit(c) })
			cores := gpu
			cores.GPU, cores.InFlight, cores.Precision, cores.Workers, cores.Run = "", 0, config.Auto, 1, t.TempDir()
			got, want := train(t, gpu), train(t, cores)
			t.Logf("test loss %.5f, in single precision on cores %.5f", got.TestLoss, want.TestLoss)
			if math.Abs(got.TestLoss-want.TestLoss) > .02*want.TestLoss {
				t.Errorf("test loss %g, in single precision on cores %g", got.TestLoss, want.TestLoss)
			}
		})
	}
}

// TestHalfResume: what is saved are floats, from which a run in host memory goes on, and one in half precision.
func TestHalfResume(t *testing.T) {
	first := halfRun(t, func(c *config.Config) { c.SaveEvery, c.InFlight = "1", 1 })
	r := train(t, first)
	_, tensors, err := rundir.ReadTensors(filepath.Join(first.Run, "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tensors[0].Floats()
	for i, v := range rows {
		if half.Float(half.Nearest(v)) != v || tensors[0].DType != "F32" || len(rows) != 120*32 {
			t.Fatalf("factor %d of %d is saved as %g, which no half is, in %s", i, len(rows), v, tensors[0].DType)
		}
	}
	if err != nil {
		t.Error(err)
	}
	for _, gpu := range []string{"0", ""} {
		c := first
		c.Resume, c.Run, c.Epochs, c.GPU = first.Run, t.TempDir(), 4, gpu
		if gpu == "" {
			c.Precision, c.InFlight = config.Auto, 0
		}
		if again := train(t, c); again.Examples != 2*r.Examples || again.TestLoss > r.TestLoss {
			t.Errorf("gpu %q: %d examples, test loss %g; before %d, %g", gpu, again.Examples, again.TestLoss,
				r.Examples, r.TestLoss)
		}
	}
}
