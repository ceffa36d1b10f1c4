//go:build cuda

package cuda

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// The kernels for sparse rows against their reference.

// job is the sample on the GPU.
func (s *sparseSample) job(g *gpuUnderTest) job {
	j := job{W: put(g, s.w), Y: put(g, s.y), Rows: put(g, s.rows), Start: put(g, s.start), LR: put(g, s.lr),
		Ptr: put(g, s.ptr), Idx: put(g, s.idx),
		Val: put(g, append(s.val, 0)), Freq: put(g, s.freq), Loss: put(g, make([]float32, len(s.lr))),
		Ticket: put(g, make([]int32, ticketBytes/4)),
		Counts: put(g, make([]int64, 1)), Updates: put(g, make([]int64, 1)), Ranks: 1, Center: -1,
		BiasStep: s.biasStep, Bias: 1,
		Steps: int64(len(s.lr)), Features: int64(s.d), Layers: 1, Outputs: int64(s.k), Weights: int64(len(s.w)),
		LossKind: lossKinds[s.loss],
		Momentum: .9, Beta1: .9, Beta2: .999, L1: s.l1, L2: s.l2, MaxBatch: int64(slices.Max(s.batches)),
		Teams:     int64(s.teams),
		Optimizer: optimizers[config.Optimizer(cmp.Or(s.optimizer, "sgd"))], First: put(g, make([]float32, len(s.w))),
		Second: put(g, make([]float32, len(s.w)))}
	j.Out = j.W
	if s.loss != model.Squared && s.loss != model.L1 {
		j.Classes = int64(max(2, s.k))
	}
	if s.nobias {
		j.Bias = 0
	}
	if s.racy {
		j.Racy = 1
	}
	if s.keep {
		j.Gradient, j.Out = 1, put(g, make([]float32, len(s.w)))
	}
	j.ScratchStride = sparseScratch(&j)
	if s.whole() {
		j.ScratchStride = wholeScratch(&j)
	}
	j.Scratch = put(g, make([]float32, int(j.ScratchStride)*s.ctas))
	if s.locals > 0 {
		s.copyLocally(g, &j)
	} else if s.mergeEvery > 0 {
		j.Locals, j.MergeEvery = int64(s.k), int64(s.mergeEvery)
	}
	return j
}

// copyLocally gives a CTA a local copy of columns of no order, and of the bias.
func (s *sparseSample) copyLocally(g *gpuUnderTest, j *job) {
	var columns []int64
	slot := map[uint32]uint32{}
	for i := range s.locals {
		column := (i*7 + 3) % s.d
		slot[uint32(column)] = uint32(i)
		columns = append(columns, int64(column))
	}
	if !s.nobias {
		columns = append(columns, int64(s.d))
	}
	idx := make([]uint32, len(s.idx))
	new(scatter).renumber(idx, s.idx, slot)
	j.Idx, j.Plan, j.Locals, j.MergeEvery = put(g, idx), put(g, columns), int64(len(columns)), int64(s.mergeEvery)
}

func (s *sparseSample) kernel() string {
	if s.whole() {
		return "sparse_whole"
	}
	return "sparse_step"
}

// run takes the steps on the GPU.
func (s *sparseSample) run(t *testing.T, g *gpuUnderTest) job {
	t.Helper()
	j := s.job(g)
	if err := g.kernels[s.kernel()].run(s.ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
		t.Fatal(err)
	}
	if taken := get[int64](g, 1, j.Counts)[0]; int(taken) != len(s.lr) {
		t.Fatalf("%d of %d steps were counted", taken, len(s.lr))
	}
	return j
}

func (s *sparseSample) check(t *testing.T, g *gpuUnderTest) {
	g = g.in(t)
	j, want, zeros := s.run(t, g), s.reference(), make([]float64, len(s.w))
	w := get[float32](g, len(s.w), j.W)
	if s.optimizer == "adagrad" || s.optimizer == "adam" {
		// A gradient is divided by its own size: where its terms cancel, so do their digits.
		for i, v := range want.w {
			if e := math.Abs(float64(w[i]) - v); e > 1e-3*math.Abs(v-float64(s.w[i]))+1e-4 {
				t.Fatalf("w[%d] is %g, the reference's %g", i, w[i], v)
			}
		}
	} else {
		closeTo(t, "loss", get[float32](g, len(want.loss), j.Loss), want.loss, make([]float64, len(want.loss)))
		closeTo(t, "w", w, want.w, widen(s.w))
	}
	if s.keep {
		closeTo(t, "gradient", get[float32](g, len(s.w), j.Out), want.out, zeros)
	}
	if s.optimizer != "" {
		closeTo(t, "first", get[float32](g, len(s.w), j.First), want.first, zeros)
		closeTo(t, "second", get[float32](g, len(s.w), j.Second), want.second, zeros)
	}
	if s.whole() {
		for i, v := range get[float32](g, len(s.w), j.Scratch) {
			if v != 0 {
				t.Fatalf("the gradient in scratch is left with %g at %d", v, i)
			}
		}
	}
}

func (p *sparseProblem) String() string {
	return fmt.Sprintf("%s %dx%d %s batches=%d l1=%g l2=%g nobias=%t keep=%t locals=%d/%d racy=%t",
		p.loss, p.d, p.k, cmp.Or(p.optimizer, "sgd"), p.batches, p.l1, p.l2, p.nobias, p.keep, p.locals,
		p.mergeEvery, p.racy)
}

// sparseProblems have each loss with one output and with several, everything else in turns.
func sparseProblems() (ps []sparseProblem) {
	batches := [][]int{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {8, 8, 3}, {40, 65, 1}, slices.Repeat([]int{2}, 30)}
	names := []string{"", "momentum", "adagrad", "adam"}
	for _, k := range []int{1, 2, 3, 16, 17, 40} {
		for _, loss := range lossesByOutputs[k == 1] {
			for _, optimizer := range names {
				i := len(ps)
				p := sparseProblem{d: []int{1200, 40, 300}[i%3], k: k, loss: loss, optimizer: optimizer,
					batches: batches[i/3%len(batches)], nobias: i%5 == 1}
				if i%3 == 2 {
					p.l2 = .01
				}
				if i%7 > 4 {
					p.l1 = .02
				}
				ps = append(ps, p)
			}
		}
	}
	tickets := slices.Repeat([]int{1}, 140) // of 32 steps, and one of 12
	for i, b := range append(batches, tickets) {
		one := sparseProblem{d: 300, k: 1, loss: model.Logistic, batches: b, l1: []float64{0, .1, 0, 0, .05}[i],
			l2: []float64{.01, 0, 0, .01, 0}[i], biasStep: .2}
		racy, local, keep, held := one, one, one, one
		racy.racy, local.locals, local.mergeEvery, keep.keep, keep.biasStep, keep.l1 = true, 50+i, 1+3*i, true, 0, 0
		held.mergeEvery = 2 + 3*i
		plain, many, stored := held, held, held
		plain.l1, plain.l2, many.k, many.loss, stored.racy = 0, 0, 3+18*(i%2), model.CrossEntropy, true
		ps = append(ps, one, racy, local, keep, held, plain, many, stored)
	}
	for _, loss := range lossesByOutputs[true] {
		ps = append(ps, sparseProblem{d: 1200, k: 1, loss: loss, batches: tickets},
			sparseProblem{d: 1200, k: 1, loss: loss, batches: tickets, locals: 400, mergeEvery: 7})
	}
	return append(ps, sparseProblem{d: 50, k: 1, loss: model.Hinge, batches: batches[0], locals: 50,
		mergeEvery: 3, nobias: true},
		sparseProblem{d: 50, k: 3, loss: model.CrossEntropy, batches: batches[1], racy: true, biasStep: .5, l2: .1})
}

func TestSparseStep(t *testing.T) { onEach(t, testSparseStep) }

func testSparseStep(t *testing.T, g *gpuUnderTest) {
	for i, p := range sparseProblems() {
		t.Run(p.String(), func(t *testing.T) { drawSparse(p, uint64(i)).check(t, g) })
	}
}

// alike has steps that all push the same to the same weights, whatever those are: the
// loss is l1, whose slope does not change, on a row that has one column twice. Of two
// lanes that store to it one is the last.
func alike(p sparseProblem) *sparseSample {
	p.d, p.k, p.loss = 40, 1, model.L1
	s := drawSparse(p, 1)
	for i := range s.y {
		s.y[i] = 1e6
	}
	for i := range s.rows {
		s.rows[i] = 2 // of two entries
	}
	for n := s.ptr[2]; n < s.ptr[3]; n++ {
		s.idx[n], s.val[n] = 3, .5
	}
	return s
}

// TestSparseTogether: no addition is lost, be it to device memory or to a CTA's local
// copy; of racy stores at least one of each pair is, and more where warps collide.
func TestSparseTogether(t *testing.T) { onEach(t, testSparseTogether) }

func testSparseTogether(t *testing.T, g *gpuUnderTest) {
	batches := slices.Repeat([]int{1}, 4000)
	for _, p := range []sparseProblem{
		{batches: batches, ctas: 4, teams: 8},
		{batches: batches, ctas: 4, teams: 8, locals: 9, mergeEvery: 16},
		{batches: slices.Repeat([]int{3}, 500), ctas: 3, teams: 5, locals: 1, mergeEvery: 2},
		{batches: batches, ctas: 4, teams: 8, mergeEvery: 5},
		{batches: slices.Repeat([]int{3}, 500), ctas: 3, teams: 5, mergeEvery: 2},
		{batches: slices.Repeat([]int{3}, 300), ctas: 4, optimizer: "adagrad"},
		{batches: batches, ctas: 4, teams: 8, racy: true},
	} {
		s := alike(p)
		want := s.reference().w
		if s.optimizer == "adagrad" { // whose state is written without care: it only ends at all
			s.run(t, g)
			continue
		}
		got := get[float32](g, len(s.w), s.run(t, g).W)
		if !s.racy {
			closeTo(t, s.String(), got, want, widen(s.w))
			continue
		}
		kept := (float64(got[3]) - float64(s.w[3])) / (want[3] - float64(s.w[3]))
		t.Logf("racy stores of %d warps to one weight kept %.0f %% of the updates", p.ctas*p.teams, 100*kept)
		if kept > .5001 || kept < .001 {
			t.Errorf("racy stores kept %g of the updates", kept)
		}
	}
}

func TestSparseEvaluate(t *testing.T) { onEach(t, testSparseEvaluate) }

func testSparseEvaluate(t *testing.T, g *gpuUnderTest) {
	for i, p := range []sparseProblem{
		{d: 300, k: 1, loss: model.Logistic, batches: []int{333}, ctas: 3},
		{d: 300, k: 1, loss: model.Squared, batches: []int{64}, ctas: 1, nobias: true},
		{d: 1200, k: 3, loss: model.Hinge, batches: []int{65}, ctas: 2},
		{d: 300, k: 40, loss: model.CrossEntropy, batches: []int{100}, ctas: 2},
	} {
		t.Run(p.String(), func(t *testing.T) { drawSparse(p, uint64(i)).checkEvaluate(t, g.in(t)) })
	}
}

func (s *sparseSample) checkEvaluate(t *testing.T, g *gpuUnderTest) {
	j := s.job(g)
	j.MaxBatch = 64
	j.Scratch = put(g, make([]float32, int(sparseScratch(&j))*s.ctas))
	j.ScratchStride = sparseScratch(&j)
	j.Out, j.LR, j.Loss, j.Counts = 0, 0, 0, 0
	j.Sums = put(g, make([]float64, sumsEach*s.ctas))
	if err := g.kernels["sparse_evaluate"].run(s.ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
		t.Fatal(err)
	}
	w, want := widen(s.w), sums{}
	for _, r := range s.rows {
		z := s.outputs(w, r)
		loss, _ := s.losses(z, s.y[r])
		want.add(z, float64(s.y[r]), loss, j.Classes == 0)
	}
	want.check(t, g, s.ctas, j.Sums, 1e-5)
}

// sparseSet has d columns, of frequencies in no order.
func sparseSet(d int) *data.Set {
	s := &data.Set{Meta: data.Meta{Kind: data.Sparse, Features: d}}
	for j := range d {
		s.Freq = append(s.Freq, 1/float32(1+j*577%d))
	}
	return s
}
