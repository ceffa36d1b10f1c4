//go:build cuda

package cuda

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
)

// Each kernel against its reference in float64, through whatever libcuda.so.1 the loader finds,
// as in run_test.go.

// gpuUnderTest is the GPU of $HOGWILD_GPU (default 0) with its kernels. Everything given out is freed at the end.
type gpuUnderTest struct {
	*gpu
	kernels kernels
	t       testing.TB
}

var keepContext sync.Once

func openGPU(t testing.TB, takes func(image) bool, names []string) *gpuUnderTest {
	t.Helper()
	index, _ := strconv.Atoi(os.Getenv("HOGWILD_GPU")) // not there: 0
	c, err := openContext(index, "")
	if err != nil {
		t.Fatal(err)
	}
	release, err := c.use()
	if err != nil {
		t.Fatal(err)
	}
	if !onStandIn() { // hardware takes tenths of a second to make a context: it is kept from test to test
		keepContext.Do(func() { _, _ = c.device.RetainPrimaryCtx() }) // best effort
	}
	t.Cleanup(func() {
		release()
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	ks := kernels{}
	for _, name := range names {
		if err := ks.load(c,
			slices.DeleteFunc(imagesOf(name, c.Major, c.Minor), func(i image) bool { return !takes(i) })); err != nil {
			t.Fatal(err)
		}
	}
	return &gpuUnderTest{c, ks, t}
}

// put copies v to memory of its own, guarded by the stand-in's bounds.
func put[T number](g *gpuUnderTest, v []T) uint64 {
	g.t.Helper()
	p, err := g.allocate(int64(len(v))*int64(unsafe.Sizeof(v[0])), "a test")
	if err == nil {
		err = upload(p, v)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = cu.MemFree(p) })
	return uint64(p)
}

func get[T number](g *gpuUnderTest, n int, p uint64) []T {
	g.t.Helper()
	v := make([]T, n)
	if err := download(v, cu.DevicePtr(p)); err != nil {
		g.t.Fatal(err)
	}
	return v
}

// job is the sample on the GPU, with everything that a kernel may ask for.
func (s *sample) job(g *gpuUnderTest) job {
	j := job{W: put(g, s.w), Y: put(g, s.y), Rows: put(g, s.rows), Start: put(g, s.start), LR: put(g, s.lr),
		Loss: put(g, make([]float32, len(s.lr))), Ticket: put(g, make([]int32, ticketBytes/4)),
		Counts: put(g, make([]int64, 1)), Ranks: 1, Center: -1, Teams: 1, BiasStep: cmp.Or(s.bias, 1),
		Steps: int64(len(s.lr)), Features: int64(s.d), Layers: int64(len(s.widths) + 1), Outputs: int64(s.k),
		Classes:  int64(s.classes()),
		LossKind: lossKinds[s.loss], Momentum: mu, Beta1: beta1, Beta2: beta2, L1: s.l1, L2: s.l2,
		MaxBatch: int64(slices.Max(s.batches)), Bias: 1}
	j.Out = j.W
	hidden := 0
	for i, w := range s.widths {
		j.Width[i] = int64(w)
		hidden += w
	}
	j.ScratchStride = (j.MaxBatch + 7) / 8 * 8 * int64(2*hidden+s.k)
	j.Scratch = put(g, make([]float32, int(j.ScratchStride)*s.ctas))
	if s.nobias {
		j.Bias = 0
	}
	if s.bytes {
		j.X8, j.Mul, j.Add = put(g, s.x8), put(g, s.mul), put(g, s.add)
	} else {
		j.X = put(g, s.x)
	}
	if s.wide {
		j.ScaleWide = 1
	}
	if s.center {
		j.Center, j.M = int64((s.d+1)*s.sizes()[1]), put(g, s.m)
		for _, mu := range s.mean {
			j.Norm2 += float64(mu) * float64(mu)
		}
	}
	if s.optimizer != "" {
		j.Optimizer, j.First, j.Second = optimizers[config.Optimizer(s.optimizer)], put(g, make([]float32, len(s.w))),
			put(g, make([]float32, len(s.w)))
		j.Updates = put(g, make([]int64, 1))
	}
	if s.keep {
		j.Gradient, j.Out = 1, put(g, make([]float32, len(s.w)))
	}
	return j
}

// closeTo fails unless got is want to within some rounding errors of the largest change.
func closeTo[T float32 | float64](t *testing.T, what string, got []T, want, before []float64) {
	t.Helper()
	within(t, 2e-5, what, got, want, before)
}

func within[T float32 | float64](t *testing.T, share float64, what string, got []T, want, before []float64) {
	t.Helper()
	change := 0.0
	for i := range want {
		change = max(change, math.Abs(want[i]-before[i]))
	}
	for i := range want {
		if e := math.Abs(float64(got[i]) - want[i]); !(e <= share*change+1e-6*math.Abs(want[i])) {
			t.Fatalf("%s[%d] is %g, the reference's %g; the largest change is %g", what, i, got[i], want[i], change)
		}
	}
}

// onEach runs a test with the kernels of the given names, or of dense and sparse models if there
// are none: with the PTX for older GPUs, which all take, with that from Hopper on where it is
// another, and on hardware with the machine code.
func onEach(t *testing.T, test func(t *testing.T, g *gpuUnderTest), names ...string) {
	if len(names) == 0 {
		names = []string{"linear", "linear_one", "mlp", "mlp_one", "evaluate", "average", "sparse"}
	}
	t.Run("sm_70",
		func(t *testing.T) { test(t, openGPU(t, func(i image) bool { return !i.cubin && i.arch == 70 }, names)) })
	g, err := describe(0)
	if err != nil {
		t.Fatal(err)
	}
	any := func(takes func(image) bool) bool {
		return slices.ContainsFunc(names,
			func(name string) bool { return slices.ContainsFunc(imagesOf(name, g.Major, g.Minor), takes) })
	}
	if any(func(i image) bool { return !i.cubin && i.arch == 90 }) {
		t.Run("sm_90", func(t *testing.T) { test(t, openGPU(t, func(i image) bool { return !i.cubin }, names)) })
	}
	cubin := func(i image) bool { return i.cubin }
	if any(cubin) && !strings.Contains(g.Name, "stand-in") {
		t.Run("cubin", func(t *testing.T) { test(t, openGPU(t, cubin, names)) })
	}
}

// in is the GPU for a subtest, which is on another thread.
func (g *gpuUnderTest) in(t testing.TB) *gpuUnderTest {
	release, err := g.use()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return &gpuUnderTest{g.gpu, g.kernels, t}
}

// check runs the sample through a kernel and its reference, and returns the losses of both.
func (s *sample) check(t *testing.T, g *gpuUnderTest, kernel string) (got []float32, loss []float64) {
	g = g.in(t)
	j := s.job(g)
	if err := g.kernels[kernel].run(s.ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
		t.Fatal(err)
	}
	want := s.reference()
	got, loss = get[float32](g, len(s.lr), j.Loss), want.loss
	zeros := make([]float64, len(want.w))
	if taken := get[int64](g, 1, j.Counts)[0]; int(taken) != len(s.lr) {
		t.Fatalf("%d of %d steps finished", taken, len(s.lr))
	}
	share := 2e-5
	if s.tf32 { // sums in another order may round both operands the other way, each by a unit of 11 bits
		share = 1. / (1 << 10)
	}
	within(t, share, "loss", got, loss, make([]float64, len(loss)))
	if s.keep {
		within(t, share, "gradient", get[float32](g, len(s.w), j.Out), want.gradient, zeros)
		closeTo(t, "w", get[float32](g, len(s.w), j.W), widen(s.w), widen(s.w))
		return got, loss
	}
	after := get[float32](g, len(s.w), j.W)
	weights, state := share, share
	// a gradient that nearly cancels moves a weight as far as any
	if s.optimizer == "adam" || s.optimizer == "adagrad" {
		weights, state = 1e-3, 1e-4 // and gradients are then those at such weights
	}
	within(t, weights, "w", s.plain(after), want.w, s.plain(s.w))
	if s.optimizer != "" {
		within(t, state, "the first state", get[float32](g, len(s.w), j.First), want.first, zeros)
		within(t, state, "the second state", get[float32](g, len(s.w), j.Second), want.second, zeros)
	}
	for i := range want.w {
		if s.l1 != 0 && (want.w[i] == 0) != (after[i] == 0) {
			t.Fatalf("w[%d] is %g, the reference's %g", i, after[i], want.w[i])
		}
	}
	return got, loss
}

// each is a name for a problem in messages.
func (p *problem) String() string {
	return fmt.Sprintf("%s %d-%d-%d bias=%t bytes=%t wide=%t batches=%d ctas=%d %s l1=%g l2=%g center=%t step=%g "+
		"keep=%t",
		p.loss, p.d, p.widths, p.k, !p.nobias, p.bytes, p.wide, p.batches, p.ctas, p.optimizer, p.l1, p.l2, p.center,
		p.bias, p.keep)
}

// stepsOf are the kernels that take a problem's steps.
func stepsOf(name string, p problem) []string {
	if slices.Max(p.batches) == 1 {
		return []string{name + "_step", name + "_one"}
	}
	return []string{name + "_step"}
}

func TestLinearStep(t *testing.T) { onEach(t, testLinearStep) }

func testLinearStep(t *testing.T, g *gpuUnderTest) {
	ps := problems([]int{1, 2, 3, 10, 16}, [][]int{nil})
	for _, d := range []int{1, 513, 514, 1023, 1024, 2500} { // about a tile, and what sums leave of it
		ps = append(ps, problem{d: d, k: 3, loss: model.CrossEntropy, bytes: d%2 == 0, batches: []int{5, 11}, ctas: 1})
	}
	for _, d := range []int{1023, 2500} {
		ps = append(ps, problem{d: d, k: 3, loss: model.CrossEntropy, bytes: d%2 == 0, batches: []int{1, 1}, ctas: 1})
	}
	for i, p := range ps {
		for _, kernel := range stepsOf("linear", p) {
			t.Run(kernel+" "+p.String(), func(t *testing.T) { draw(p, uint64(i)).check(t, g, kernel) })
		}
		if t.Failed() {
			return
		}
	}
}

func TestMLPStep(t *testing.T) { onEach(t, testMLPStep) }

func testMLPStep(t *testing.T, g *gpuUnderTest) {
	ps := problems([]int{1, 3, 10, 16}, [][]int{{5}, {128}, {7, 130}, nil, {33, 5, 9}})
	ps = append(ps,
		problem{d: 13, k: 300, loss: model.CrossEntropy, batches: []int{9, 4}, ctas: 1},
		problem{d: 13, k: 1100, loss: model.Logistic, widths: []int{20}, batches: []int{3}, ctas: 1,
			optimizer: "momentum", l2: .01},
		problem{d: 40, k: 2, loss: model.CrossEntropy, widths: []int{1200, 3}, batches: []int{9}, ctas: 1},
		problem{d: 1100, k: 2, loss: model.CrossEntropy, widths: []int{140}, bytes: true,
			batches: []int{8, 40}, ctas: 1},
		problem{d: 1101, k: 130, loss: model.CrossEntropy, widths: []int{140, 7}, bytes: true,
			batches: []int{1, 1}, ctas: 1})
	for i, p := range ps {
		for _, kernel := range stepsOf("mlp", p) {
			t.Run(kernel+" "+p.String(), func(t *testing.T) { draw(p, uint64(i)).check(t, g, kernel) })
		}
		if t.Failed() {
			return
		}
	}
}

// TestTensorStep: products in tf32 are of rounded operands, in layers of any width.
func TestTensorStep(t *testing.T) {
	for _, arch := range []int{80, 90} {
		t.Run(fmt.Sprintf("sm_%d", arch), func(t *testing.T) {
			made := func(i image) bool { return !i.cubin && i.arch == arch }
			testTensorStep(t, openGPU(t, made, []string{"mlp_tensor"}), arch >= 90)
		})
	}
}

func testTensorStep(t *testing.T, g *gpuUnderTest, even bool) {
	t.Run("zeros behind a tile where sums are collected", func(t *testing.T) {
		for _, d := range []int{690, 697, 704} { // 480 rows, and then 34 that are taken as 64
			p := problem{d: d, k: 10, loss: model.CrossEntropy, widths: []int{33}, batches: []int{8, 8, 8}, ctas: 1,
				tf32: true, even: even}
			draw(p, 1).check(t, g, "mlp_tensor")
		}
	})
	for i, widths := range [][]int{{128}, {5}, {32}, {33}, {7, 130}, {64, 48, 20}, {300}, nil} {
		for k, outputs := range []int{10, 1, 3, 16, 130} {
			p := problem{d: []int{13, 784, 1100}[(i+k)%3], k: outputs, loss: lossesByOutputs[outputs == 1][(i+k)%3],
				widths: widths, batches: [][]int{{8, 8, 8}, {1, 8, 7}}[k%2], ctas: 1, bytes: i%2 == 0, wide: k == 3,
				nobias: k == 2, keep: k == 1, center: k%3 == 0, tf32: true, even: even}
			t.Run(p.String(), func(t *testing.T) { draw(p, uint64(10*i+k)).check(t, g, "mlp_tensor") })
			if t.Failed() {
				return
			}
		}
	}
}

// TestLargeOutputs has outputs from -90 to 90, where exponentials overflow or vanish:
// a feature of 1 for each sample, and weights that are the outputs.
func TestLargeOutputs(t *testing.T) { onEach(t, testLargeOutputs) }

func testLargeOutputs(t *testing.T, g *gpuUnderTest) {
	for _, k := range []int{1, 3} {
		for _, loss := range lossesByOutputs[k == 1] {
			s := draw(problem{d: 40, k: k, loss: loss, batches: slices.Repeat([]int{1}, 40), ctas: 1, nobias: true,
				keep: true}, 5)
			clear(s.x)
			for i := range 40 {
				s.x[i*s.d+i], s.rows[i] = 1, int32(i)
				for c := range k {
					s.w[i*k+c] = float32(i-20) * 4.5 / float32(1+c)
				}
			}
			t.Run(s.String(), func(t *testing.T) {
				for _, kernel := range stepsOf("linear", s.problem) {
					got, want := s.check(t, g, kernel)
					for i := range want {
						if e := math.Abs(float64(got[i]) - want[i]); e > 1e-5*want[i]+1e-37 {
							t.Errorf("%s: loss %g, the reference's %g", kernel, got[i], want[i])
						}
					}
				}
			})
		}
	}
}

// TestTogether has 16 CTAs train one set of weights at the same time. No addition is lost: with one
// sample in all steps, and a loss of constant slope, the weights are the reference's, in whatever
// order the steps are taken.
func TestTogether(t *testing.T) { onEach(t, testTogether) }

func testTogether(t *testing.T, g *gpuUnderTest) {
	s := draw(problem{d: 784, k: 1, loss: model.L1, batches: slices.Repeat([]int{2}, 100), ctas: 16}, 1)
	clear(s.rows)
	s.y[0] = 1e6
	w := s.reference().w
	for _, kernel := range []string{"linear_step", "mlp_step"} {
		j := s.job(g)
		if err := g.kernels[kernel].run(s.ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
			t.Fatal(err)
		}
		closeTo(t, kernel, get[float32](g, len(w), j.W), w, widen(s.w))
	}
}

func TestEvaluate(t *testing.T) { onEach(t, testEvaluate) }

func testEvaluate(t *testing.T, g *gpuUnderTest) {
	for i, p := range []problem{
		{d: 784, k: 10, loss: model.CrossEntropy, bytes: true, batches: []int{333}, ctas: 3},
		{d: 13, k: 1, loss: model.Logistic, batches: []int{64}, ctas: 1},
		{d: 13, k: 1, loss: model.Hinge, widths: []int{130, 5}, batches: []int{65}, ctas: 4},
		{d: 13, k: 3, loss: model.Hinge, widths: []int{9}, nobias: true, bytes: true, wide: true,
			batches: []int{1}, ctas: 2},
		{d: 13, k: 1, loss: model.Squared, widths: []int{9}, batches: []int{100}, ctas: 2},
		{d: 13, k: 40, loss: model.CrossEntropy, batches: []int{100}, ctas: 1},
	} {
		t.Run(p.String(), func(t *testing.T) { draw(p, uint64(i)).checkEvaluate(t, g.in(t)) })
	}
}

func (s *sample) checkEvaluate(t *testing.T, g *gpuUnderTest) {
	j := s.job(g)
	j.Out, j.LR, j.Loss, j.Counts = 0, 0, 0, 0
	j.Sums = put(g, make([]float64, sumsEach*s.ctas))
	if err := g.kernels["evaluate"].run(s.ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
		t.Fatal(err)
	}
	w, want := widen(s.w), sums{}
	for _, row := range s.rows {
		h := s.forward(w, s.input(row))
		z := h[len(h)-1]
		loss, _ := s.losses(z, s.y[row])
		want.add(z, float64(s.y[row]), loss, s.values())
	}
	want.check(t, g, s.ctas, j.Sums, 1e-5)
}
