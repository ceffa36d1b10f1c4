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
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// The convolutional kernels against hogwild/model, whose gradients are checked by finite
// differences of a reference in float64.

// convProblem is a network, images, and steps on them.
type convProblem struct {
	shape          string
	image          []int // [channels] height, width
	classes        int   // 0: values
	loss           model.Loss
	nobias         bool
	bytes, wide    bool // as in problem
	batches        []int
	optimizer      string // "" is sgd
	l1, l2         float64
	keep, numbered bool // add the gradient up instead of stepping; rows have numbers of their own
}

func (p *convProblem) String() string {
	return fmt.Sprintf("%s on %d, %s of %d, bias=%t bytes=%t wide=%t batches=%d %s l1=%g l2=%g keep=%t",
		p.shape, p.image, p.loss, p.classes, !p.nobias, p.bytes, p.wide, p.batches, p.optimizer, p.l1, p.l2, p.keep)
}

const convSeed, convEpoch = 5, 3

// convSample is one with random numbers.
type convSample struct {
	convProblem
	*sample // x8, x, y, mul, add, rows, start, lr
	spec    model.Spec
	model   model.Model
	params  []model.Param
	ids     []int32
}

func drawConv(t *testing.T, p convProblem, seed uint64) *convSample {
	t.Helper()
	d := 1
	for _, n := range p.image {
		d *= n
	}
	s := &convSample{convProblem: p}
	s.sample = draw(problem{d: d, k: max(1, p.classes), loss: p.loss, bytes: p.bytes, wide: p.wide, batches: p.batches,
		ctas: 1, keep: p.keep}, seed)
	m := data.Meta{Name: "random", Features: d, Shape: p.image, Classes: make([]string, p.classes)}
	var err error
	if s.spec, err = model.Resolve(model.Options{Name: p.shape, Loss: string(p.loss), Bias: !p.nobias, Seed: convSeed},
		m); err != nil {
		t.Fatal(err)
	}
	s.model = s.spec.New()
	s.params = s.model.Params()
	r := rand.New(rand.NewPCG(seed, 8))
	s.w = nil
	for _, p := range s.params {
		in := max(1, p.Len()/p.Shape[0])
		for range p.Len() {
			s.w = append(s.w, float32(r.NormFloat64()/math.Sqrt(float64(in))))
		}
	}
	for range len(s.y) {
		s.ids = append(s.ids, int32(r.IntN(1000)))
	}
	return s
}

// batch is the rows of a step.
func (s *convSample) batch(rows []int32) *data.Batch {
	b := &data.Batch{Features: s.d, Epoch: convEpoch}
	for _, row := range rows {
		x := make([]float32, s.d)
		for j, v := range s.input(row) {
			x[j] = float32(v)
		}
		id := row
		if s.numbered {
			id = s.ids[row]
		}
		b.Rows, b.Y, b.ID = append(b.Rows, data.Row{Val: x}), append(b.Y, s.y[row]), append(b.ID, id)
	}
	return b
}

// convJob is the sample on the GPU.
func (s *convSample) convJob(g *gpuUnderTest) job {
	j := s.job(g)
	j.Outputs, j.Classes, j.L1, j.L2, j.Weights = int64(s.spec.Outputs), int64(s.classes), s.l1, s.l2, int64(len(s.w))
	j.Seed, j.Epoch, j.Optimizer, j.Momentum, j.Beta1, j.Beta2 = convSeed, convEpoch,
		optimizers[config.Optimizer(s.optimizer)], .9, .9, .99
	if s.optimizer != "" {
		j.First, j.Second, j.Updates = put(g, make([]float32, len(s.w))), put(g, make([]float32, len(s.w))),
			put(g, make([]int64, 1))
	}
	if s.numbered {
		var ids []int32
		for _, row := range s.rows {
			ids = append(ids, s.ids[row])
		}
		j.IDs = put(g, ids)
	}
	p := planConv(&s.spec)
	j.sizeConv(p)
	j.Plan = put(g, p.encode())
	j.ScratchStride = convScratch(&j)
	j.Scratch = put(g, slices.Repeat([]float32{float32(math.NaN())}, int(j.ScratchStride)*s.ctas))
	return j
}

// update takes a step down g in float64; first and second are the optimizer's state.
func (s *convSample) update(w, g, first, second []float64, lr float64, t int) {
	for i, g := range g {
		switch s.optimizer {
		case "momentum":
			first[i] = .9*first[i] + g
			g = first[i]
		case "adagrad":
			first[i] += g * g
			g /= math.Sqrt(first[i]) + 1e-8
		case "adam":
			first[i] = .9*first[i] + .1*g
			second[i] = .99*second[i] + .01*g*g
			g = first[i] / (1 - math.Pow(.9, float64(t))) / (math.Sqrt(second[i]/(1-math.Pow(.99, float64(t)))) + 1e-8)
		}
		w[i] -= lr * g
	}
}

// softThreshold brings the weights, but no bias, nearer to zero by l1, and no further.
func (s *convSample) softThreshold(w []float64, l1 float64) {
	for k, from := range model.Offsets(s.params) {
		for j := from; j < from+s.params[k].Len() && s.params[k].Decay; j++ {
			w[j] = math.Copysign(max(0, math.Abs(w[j])-l1), w[j])
		}
	}
}

// reference takes the steps on the CPU, or adds the gradients up.
func (s *convSample) reference() (w []float64, loss []float64) {
	w = widen(s.w)
	sum, first, second := make([]float64, len(w)), make([]float64, len(w)), make([]float64, len(w))
	for i, lr := range s.lr {
		at := make([]float32, len(w))
		for j, v := range w {
			at[j] = float32(v)
		}
		rows := s.rows[s.start[i]:s.start[i+1]]
		g, sum1 := []float64(nil), 0.0
		if s.tf32 {
			g, sum1 = s.gradient(widen(at), rows)
		} else {
			var gradient model.Gradient
			sum1 = s.model.Grad(at, s.batch(rows), &gradient)
			g = widen(gradient.Parts[0].G)
		}
		loss = append(loss, sum1)
		for k, from := range model.Offsets(s.params) {
			for j := from; j < from+s.params[k].Len() && s.params[k].Decay; j++ {
				g[j] += s.l2 * float64(at[j])
			}
		}
		for j := range sum {
			sum[j] += g[j]
		}
		if !s.keep {
			s.update(w, g, first, second, float64(lr), i+1)
			s.softThreshold(w, s.l1*float64(lr))
		}
	}
	if s.keep {
		return sum, loss
	}
	return w, loss
}

// convCloseTo is closeTo with the tolerance of two sums in float32. Rules that divide a
// gradient by its size make as much of a tiny one, with all its rounding, as of any.
func (s *convSample) convCloseTo(t *testing.T, what string, got []float32, want, before []float64) {
	t.Helper()
	change, tolerance := 0.0, 1e-4
	if s.optimizer == "adagrad" || s.optimizer == "adam" {
		tolerance = 1e-2
	} else if s.tf32 { // sums in another order may round an operand the other way, by a unit of 11 bits
		tolerance = 1. / (1 << 10)
	}
	for i := range want {
		change = max(change, math.Abs(want[i]-before[i]))
	}
	for i := range want {
		if e := math.Abs(float64(got[i]) - want[i]); !(e <= tolerance*change+1e-6*math.Abs(want[i])) {
			t.Fatalf("%s[%d] of %d is %g, the CPU's %g; the largest change is %g", what, i, len(want), got[i],
				want[i], change)
		}
	}
}

func (s *convSample) check(t *testing.T, g *gpuUnderTest, kernel string, shared bool) {
	g = g.in(t)
	j := s.convJob(g)
	if !shared { // the room is in scratch, as for large images
		j.Width[3], j.Width[4] = convSamples, 0
		j.ScratchStride = convScratch(&j)
		j.Scratch = put(g, slices.Repeat([]float32{float32(math.NaN())}, int(j.ScratchStride)*s.ctas))
	}
	if err := g.kernels[kernel].run(s.ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
		t.Fatal(err)
	}
	w, loss := s.reference()
	zeros := make([]float64, len(w))
	s.convCloseTo(t, "loss", get[float32](g, len(loss), j.Loss), loss, zeros[:len(loss)])
	if s.keep {
		s.convCloseTo(t, "gradient", get[float32](g, len(w), j.Out), w, zeros)
		return
	}
	after := get[float32](g, len(w), j.W)
	s.convCloseTo(t, "w", after, w, widen(s.w))
	zero := func(v float64) bool { return v == 0 }
	if want, got := slices.ContainsFunc(w, zero), slices.Contains(after, 0); s.l1 != 0 && !(want && got) {
		t.Errorf("l1: weights that are zero: %t, in float64 %t; want some", got, want)
	}
}

var convProblems = []convProblem{
	{shape: "conv:2@3p2d,4", image: []int{8, 8}, classes: 3, loss: model.CrossEntropy, bytes: true,
		batches: []int{1, 3, 8}},
	{shape: "conv:3@3p2,5@2d.3,9d.25,6", image: []int{3, 11, 9}, classes: 2, loss: model.Logistic,
		batches: []int{20, 5}, numbered: true},
	{shape: "conv:6@2p3d,7@3", image: []int{2, 17, 15}, classes: 5, loss: model.CrossEntropy, nobias: true, bytes: true,
		wide: true, batches: []int{4, 2}, l2: .1},
	{shape: "conv:1@1,2@1p2", image: []int{1, 5, 7}, classes: 0, loss: model.Squared, batches: []int{3, 9},
		optimizer: "momentum"},
	{shape: "conv:5@7p2d,3@1,33", image: []int{12, 13}, classes: 0, loss: model.L1, batches: []int{2, 7}, l2: .01},
	{shape: "conv:4@5p2,6@3p2d,12d,3", image: []int{16, 20}, classes: 4, loss: model.Hinge, bytes: true,
		batches: []int{8, 3}, keep: true},
	{shape: "conv:4@3p2d,3@3,8d", image: []int{12, 12}, classes: 3, loss: model.CrossEntropy, batches: []int{4, 4, 4},
		optimizer: "adam"},
	{shape: "conv:2@3,3@3p4d.1", image: []int{3, 13, 12}, classes: 2, loss: model.CrossEntropy, batches: []int{4, 4, 4},
		optimizer: "adagrad", l2: .01},
	// long lists
	{shape: "conv:3@5p2d,4", image: []int{24, 25}, classes: 3, loss: model.CrossEntropy, batches: []int{4, 2}, l1: .1},
	{shape: "conv:3@3p2,4", image: []int{2, 12, 12}, classes: 3, loss: model.CrossEntropy, batches: []int{3, 3},
		optimizer: "momentum", l1: .05, l2: .1},
}

// TestConvStep has every loss, optimizer, odd sizes, and both kinds of memory.
func TestConvStep(t *testing.T) {
	onEach(t, func(t *testing.T, g *gpuUnderTest) {
		for i, p := range convProblems {
			t.Run(p.String(), func(t *testing.T) { drawConv(t, p, uint64(i)).check(t, g, "conv_step", true) })
			t.Run("scratch "+p.String(), func(t *testing.T) {
				drawConv(t, p, uint64(i)).check(t, g, "conv_step", false)
			})
			if t.Failed() {
				return
			}
		}
	}, "conv")
}

// TestConvTensorStep: the products of the convolutions are of operands rounded to tf32.
func TestConvTensorStep(t *testing.T) {
	ps := append([]convProblem{{shape: "convnet", image: []int{28, 28}, classes: 10, loss: model.CrossEntropy,
		bytes: true, batches: []int{4, 9}}, {shape: "conv:30@3p2,40@3p2,20", image: []int{3, 16, 18}, classes: 4,
		loss: model.CrossEntropy, batches: []int{4, 5}}, {shape: "conv:4@3,5@7p2,6", image: []int{20, 21}, classes: 3,
		loss: model.CrossEntropy, batches: []int{2, 3}, wide: true, bytes: true}}, convProblems...)
	for _, arch := range []int{80, 90} {
		t.Run(fmt.Sprintf("sm_%d", arch), func(t *testing.T) {
			made := func(i image) bool { return !i.cubin && i.arch == arch }
			g := openGPU(t, made, []string{"conv_tensor"})
			for i, p := range ps {
				t.Run(p.String(), func(t *testing.T) {
					s := drawConv(t, p, uint64(i))
					s.tf32, s.even = true, arch >= 90
					s.check(t, g, "conv_tensor", true)
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

// TestConvNetStep is the classic one.
func TestConvNetStep(t *testing.T) {
	onEach(t, func(t *testing.T, g *gpuUnderTest) {
		p := convProblem{shape: "convnet", image: []int{28, 28}, classes: 10, loss: model.CrossEntropy, bytes: true,
			batches: []int{4, 9}}
		drawConv(t, p, 1).check(t, g, "conv_step", true)
	}, "conv")
}

// TestConvEvaluate compares the sums over more rows than a ticket has, from several CTAs.
func TestConvEvaluate(t *testing.T) {
	onEach(t, func(t *testing.T, g *gpuUnderTest) {
		for i, p := range convProblems[:4] {
			p.batches = []int{150}
			s := drawConv(t, p, uint64(i))
			s.ctas = 3
			j := s.convJob(g)
			j.Sums = put(g, make([]float64, sumsEach*s.ctas))
			if err := g.kernels["conv_evaluate"].run(s.ctas, cu.DevicePtr(put(g, encode(j)))); err != nil {
				t.Fatal(err)
			}
			score := s.model.Eval(s.w, s.batch(s.rows))
			want := sums{float64(score.N), score.Loss, float64(score.Correct), score.SqErr, score.Y, score.Y2}
			want.check(t, g, s.ctas, j.Sums, 1e-4)
		}
	}, "conv")
}

// TestConvSameAsCPU trains on both devices, one step after the other.
func TestConvSameAsCPU(t *testing.T) {
	for _, shape := range []string{"conv:3@3p2,4@3p2d,8d", "convnet"} {
		t.Run(shape, func(t *testing.T) {
			gpu := digits(t, func(c *config.Config) {
				c.Model, c.Data, c.Epochs, c.InFlight = shape, "digits:400", 2, 1
				if shape == "convnet" {
					c.Data, c.Epochs = "digits:60", 1
				}
			})
			sameAsCPU(t, gpu, 1e-4)
		})
	}
}
