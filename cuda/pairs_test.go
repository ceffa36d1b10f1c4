//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

// job is the problem on the GPU, with one step in flight.
func (p *pairs) job(g *gpuUnderTest) job {
	zeros := func(n int) uint64 { return put(g, make([]float32, n)) }
	j := job{W: put(g, p.w), Idx: put(g, p.idx), Y: put(g, p.y), Rows: put(g, p.rows), Start: put(g, p.start),
		LR:   put(g, p.lr),
		Loss: zeros(len(p.lr)), Ticket: put(g, make([]int32, ticketBytes/4)), Counts: put(g, make([]int64, 1)),
		Updates: put(g, make([]int64, 1)), Ranks: 1,
		Teams: 1, Steps: int64(len(p.lr)), Features: int64(p.nodes), Weights: int64(len(p.w)),
		MaxBatch:  int64(slices.Max(p.batches)),
		Optimizer: optimizers[config.Optimizer(p.optimizer)], Momentum: pairMu, Beta1: pairBeta1,
		Beta2: pairBeta2, L2: p.l2}
	j.Out, j.Width[0] = j.W, int64(p.k)
	if p.biased {
		j.Bias = 1
	}
	if p.optimizer != "sgd" {
		j.First, j.Second = zeros(len(p.w)), zeros(len(p.w))
	}
	if p.keep {
		j.Gradient, j.Out = 1, zeros(len(p.w))
	}
	if j.ScratchStride = factorScratch(&j); p.cut {
		j.ScratchStride = cutScratch(&j)
	}
	j.Scratch = zeros(int(max(1, j.ScratchStride)))
	return j
}

func (p *pairs) String() string {
	kind := "factor"
	if p.cut {
		kind = "cut"
	}
	return fmt.Sprintf("%s:%d %s %d steps of %d biased=%t l2=%g keep=%t", kind, p.k, p.optimizer, len(p.batches),
		slices.Max(p.batches), p.biased, p.l2, p.keep)
}

// check runs the problem through a kernel and the reference.
func (p *pairs) check(t *testing.T, g *gpuUnderTest, kernel string) {
	p.launch(t, g, kernel, func(*job) {})
}

// launch is check with another job.
func (p *pairs) launch(t *testing.T, g *gpuUnderTest, kernel string, edit func(*job)) {
	g = g.in(t)
	j := p.job(g)
	edit(&j)
	if err := g.kernels[kernel].run(1, cu.DevicePtr(put(g, encode(j)))); err != nil {
		t.Fatal(err)
	}
	p.reference()
	if n := get[int64](g, 1, j.Counts)[0]; int(n) != len(p.lr) {
		t.Fatalf("%d of %d steps are counted", n, len(p.lr))
	}
	zeros := make([]float64, len(p.w))
	closeTo(t, "loss", get[float32](g, len(p.lr), j.Loss), p.steps, make([]float64, len(p.lr)))
	closeTo(t, "w", get[float32](g, len(p.w), j.W), p.weights, widen(p.w))
	switch {
	case p.keep:
		closeTo(t, "gradient", get[float32](g, len(p.w), j.Out), p.first, zeros)
	case p.optimizer != "sgd":
		closeTo(t, "state", get[float32](g, len(p.w), j.First), p.first, zeros)
	}
}

// ones are n steps of one pair.
func ones(n int) []int { return slices.Repeat([]int{1}, n) }

// TestFactorStep has rows shorter and longer than what 2 to 32 lanes keep, multiples of
// four and others, steps of one entry (more than a ticket has) and batches in which nodes
// come again.
func TestFactorStep(t *testing.T) { onEach(t, testFactorStep, "factor") }

func testFactorStep(t *testing.T, g *gpuUnderTest) {
	var ps []pairs
	for i, k := range []int{1, 2, 4, 7, 8, 10, 12, 16, 17, 20, 32, 33, 48, 64, 100, 128, 129, 132, 300} {
		ps = append(ps, pairs{nodes: 12, k: k, optimizer: "sgd", batches: ones(70), biased: i%2 == 0,
			l2: float64(i%3) * .1},
			pairs{nodes: 12, k: k, optimizer: []string{"sgd", "momentum", "adagrad", "adam"}[i%4],
				batches: []int{5, 1, 9}, biased: i%3 == 0, l2: float64(i%2) * .1})
	}
	for _, optimizer := range []string{"momentum", "adagrad", "adam"} {
		ps = append(ps, pairs{nodes: 12, k: 10, optimizer: optimizer, batches: ones(5), biased: true, l2: .1})
	}
	ps = append(ps, pairs{nodes: 12, k: 10, optimizer: "sgd", batches: ones(9), keep: true, biased: true, l2: .1},
		pairs{nodes: 12, k: 10, optimizer: "adam", batches: []int{7, 70}, keep: true, biased: true, l2: .1})
	for i, p := range ps {
		t.Run(p.String(), func(t *testing.T) { drawPairs(p, uint64(i)).check(t, g, "factor_step") })
	}
}

// TestFactorTeams: a gradient is the sum over all entries, each once, in whatever order and by
// however many teams they are taken: all of a CTA, some of a warp, and samples'.
func TestFactorTeams(t *testing.T) { onEach(t, testFactorTeams, "factor") }

func testFactorTeams(t *testing.T, g *gpuUnderTest) {
	for i, k := range []int{3, 8, 10, 16, 32, 40, 64, 100, 300} {
		for _, teams := range []int64{2, 37, 128} {
			p := drawPairs(pairs{nodes: 12, k: k, optimizer: "sgd", batches: ones(1100), keep: true, biased: i%2 == 0,
				l2: .1}, uint64(i))
			t.Run(fmt.Sprintf("k=%d %d teams", k, teams), func(t *testing.T) {
				p.launch(t, g, "factor_step", func(j *job) {
					j.Teams, j.Record = min(teams, threads/factorLanes(j)), put(g, make([]uint64, device.RecordWords))
				})
			})
		}
	}
}

// TestCutStep has points of as many corners as one, two and more lanes have, and as only
// a batch's kernel takes.
func TestCutStep(t *testing.T) { onEach(t, testCutStep, "cut") }

func testCutStep(t *testing.T, g *gpuUnderTest) {
	for i, k := range []int{2, 3, 10, 16, 17, 40, 64, 65, 300} {
		for _, batches := range [][]int{ones(70), {5, 1, 9}} {
			p := pairs{nodes: k + 12, k: k, cut: true, optimizer: "sgd", batches: batches}
			t.Run(p.String(), func(t *testing.T) { drawPairs(p, uint64(i)).check(t, g, "cut_step") })
		}
		p := pairs{nodes: k + 12, k: k, cut: true, optimizer: "sgd", batches: ones(70)}
		if k <= cutShort {
			t.Run("stored "+p.String(), func(t *testing.T) {
				drawPairs(p, uint64(i)).launch(t, g, "cut_step", func(j *job) { j.Racy = 1 })
			})
		}
	}
}

// TestProjection: one edge of weight 0 projects its two ends as model.Project does, also
// points far off the simplex, with equal numbers, and with all but one below t.
func TestProjection(t *testing.T) { onEach(t, testProjection, "cut") }

func testProjection(t *testing.T, g *gpuUnderTest) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, d := range []int{2, 3, 10, 16, 33, 64, 100, 1000} {
		for _, size := range []float64{1e-3, 1, 30} {
			p := drawPairs(pairs{nodes: d + 2, k: d, cut: true, optimizer: "sgd", batches: ones(1)}, 1)
			p.idx[0], p.idx[1], p.y[0], p.rows[0] = uint32(d), uint32(d+1), 0, 0
			for c := range d {
				p.w[d*d+c] = float32(size * r.NormFloat64())
				p.w[(d+1)*d+c] = float32(math.Round(size*r.NormFloat64())) / 2
			}
			t.Run(fmt.Sprintf("d=%d size=%g", d, size), func(t *testing.T) {
				g := g.in(t)
				j := p.job(g)
				if err := g.kernels["cut_step"].run(1, cu.DevicePtr(put(g, encode(j)))); err != nil {
					t.Fatal(err)
				}
				got, want := get[float32](g, len(p.w), j.W), slices.Clone(p.w)
				for v := d; v < d+2; v++ {
					model.Project(want[v*d:(v+1)*d], make([]float32, d))
				}
				for i := range want {
					if math.Abs(float64(got[i]-want[i])) > 1e-6*max(1, 3*size) {
						t.Fatalf("x[%d] is %g, model.Project's %g", i, got[i], want[i])
					}
				}
			})
		}
	}
}

// TestPairsEvaluate compares the sums with the models'.
func TestPairsEvaluate(t *testing.T) { onEach(t, testPairsEvaluate, "factor", "cut") }

func testPairsEvaluate(t *testing.T, g *gpuUnderTest) {
	for _, p := range []*pairs{
		drawPairs(pairs{nodes: 12, k: 10, optimizer: "sgd", batches: []int{333}, biased: true}, 1),
		drawPairs(pairs{nodes: 12, k: 200, optimizer: "sgd", batches: []int{64}}, 2),
		drawPairs(pairs{nodes: 52, k: 40, optimizer: "sgd", batches: []int{100}, cut: true}, 3),
	} {
		j, want := p.job(g), sums{}
		kernel := "factor_evaluate"
		if p.cut {
			kernel = "cut_evaluate"
		}
		j.Sums = put(g, make([]float64, 3*sumsEach))
		if err := g.kernels[kernel].run(3, cu.DevicePtr(put(g, encode(j)))); err != nil {
			t.Fatal(err)
		}
		_, want[1] = p.gradient(widen(p.w), p.rows)
		for _, row := range p.rows {
			y := float64(p.y[row])
			if want[0]++; !p.cut {
				want[3], want[4], want[5] = want[1], want[4]+y, want[5]+y*y
			}
		}
		want.check(t, g, 3, j.Sums, 1e-5)
	}
}
