package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/data"
)

// convReference is a convolutional network written down once more, in float64 and from
// the definitions, on one image at a time. Dropout is by masks, which are not
// differentiated.
type convReference struct {
	net   *Net
	loss  Loss
	bias  bool
	masks func(layer, example int) []float64 // of each channel or unit
}

func (r convReference) next(tensors *[][]float64, units int) (weight, bias []float64) {
	weight, bias = (*tensors)[0], make([]float64, units)
	*tensors = (*tensors)[1:]
	if r.bias {
		bias, *tensors = (*tensors)[0], (*tensors)[1:]
	}
	return weight, bias
}

// outputs of the image x, example i of the batch, for tensors in the order of Params.
func (r convReference) outputs(tensors [][]float64, x []float64, i int) []float64 {
	channels, h, w := r.net.Channels, r.net.Height, r.net.Width
	layer := 0
	for _, c := range r.net.Convs {
		weight, bias := r.next(&tensors, c.Out)
		mask := r.masks(layer, i)
		ph, pw := (h-c.Kernel+1)/c.Pool, (w-c.Kernel+1)/c.Pool
		y := make([]float64, c.Out*ph*pw)
		for at := range y {
			o, py, px := at/(ph*pw), at/pw%ph, at%pw
			for p := range c.Pool * c.Pool {
				z := bias[o]
				for k := range channels * c.Kernel * c.Kernel {
					from, ky, kx := k/(c.Kernel*c.Kernel), k/c.Kernel%c.Kernel, k%c.Kernel
					iy, ix := py*c.Pool+p/c.Pool+ky, px*c.Pool+p%c.Pool+kx
					z += weight[o*channels*c.Kernel*c.Kernel+k] * x[(from*h+iy)*w+ix]
				}
				y[at] = math.Max(y[at], z*mask[o]) // y is zero: this is the ReLU too
			}
		}
		x, channels, h, w = y, c.Out, ph, pw
		layer++
	}
	for j := range len(r.net.Hidden) + 1 {
		units := len(tensors[0]) / len(x)
		weight, y := tensors[0], make([]float64, units)
		_, bias := r.next(&tensors, units)
		for o := range y {
			y[o] = bias[o]
			for k, v := range x {
				y[o] += weight[o*len(x)+k] * v
			}
			if j < len(r.net.Hidden) {
				y[o] = math.Max(0, y[o]) * r.masks(layer, i)[o]
			}
		}
		x = y
		layer++
	}
	return x
}

func (r convReference) summed(tensors, x [][]float64, y []float32) (sum float64) {
	for i := range x {
		sum += reference{loss: r.loss}.of(r.outputs(tensors, x[i], i), float64(y[i]))
	}
	return sum
}

// TestConvDifferences checks loss and gradient against central differences of the
// reference, at odd sizes, for batches that fill no group, one, and more than one.
func TestConvDifferences(t *testing.T) {
	for i, c := range []struct {
		name, loss string
		shape      []int
		classes    int
		bias       bool
		form       string
	}{
		{"conv:3@2", "", []int{5, 4}, 3, true, "dense"},
		{"conv:3@3p2", "", []int{2, 7, 6}, 3, true, "sparse"},
		{"conv:6@2p2,4@2", "", []int{1, 7, 9}, 3, true, "mixed"},
		{"conv:2@1p3,7@2", "", []int{3, 8, 7}, 2, false, "dense"},
		{"conv:2@3d,3@2p2d.25,6d", "", []int{7, 7}, 4, true, "dense"},
		{"conv:5@2,7,3d.75", "hinge", []int{4, 4}, 3, true, "dense"},
		{"conv:2@2,3", "", []int{4, 4}, 0, true, "sparse"},
		{"conv:2@2,3@2", "", []int{7, 31}, 3, true, "dense"}, // taken back in bands, the last of them smaller
	} {
		t.Run(fmt.Sprint(c.name, c.loss), func(t *testing.T) {
			meta := data.Meta{Name: "random", Features: 1, Shape: c.shape, Classes: make([]string, c.classes)}
			for _, n := range c.shape {
				meta.Features *= n
			}
			spec, err := Resolve(Options{Name: c.name, Loss: c.loss, Bias: c.bias, Seed: 7}, meta)
			if err != nil {
				t.Fatal(err)
			}
			checkConv(t, spec, rand.New(rand.NewPCG(uint64(i), 2)), c.form)
		})
	}
}

func checkConv(t *testing.T, spec Spec, r *rand.Rand, form string) {
	m := newConvNet(spec)
	ps := m.Params()
	w := make([]float32, Size(ps))
	var g Gradient
	for _, n := range []int{3, 1, 18, 16} {
		for i := range w {
			w[i] = r.Float32() - 0.5
		}
		batch, x := randomBatch(r, n, spec.Features, spec.Classes, form)
		batch.Epoch = n
		tensors := widen(Export(ps, w))
		ref := convReference{net: spec.Net, loss: spec.Loss, bias: spec.Bias, masks: masksOf(spec, batch)}

		loss := m.Grad(w, batch, &g)
		if want := ref.summed(tensors, x, batch.Y); !agree(loss, want) {
			t.Fatalf("batch %d: loss %v, want %v", n, loss, want)
		}
		got := Export(ps, materialise(&g, len(w)))
		for i, p := range ps {
			for range 40 { // of the elements of each tensor
				j := r.IntN(len(tensors[i]))
				want := ref.slope(tensors, x, batch.Y, &tensors[i][j])
				if got := float64(got[i][j]); !agree(got, want) {
					t.Errorf("batch %d: d loss / d %s[%d] is %v, want %v", n, p.Name, j, got, want)
				}
			}
		}
		ref.masks = func(int, int) []float64 { return ones }
		if got, want := m.Eval(w, batch).Loss, ref.summed(tensors, x, batch.Y); !agree(got, want) {
			t.Errorf("batch %d: the loss without dropout is %v, want %v", n, got, want)
		}
	}
}

var ones = []float64{1, 1, 1, 1, 1, 1, 1, 1}

// slope returns the derivative of the mean loss by one weight, at a central difference.
func (r convReference) slope(tensors, x [][]float64, y []float32, w *float64) float64 {
	const h = 1e-6
	v := *w
	*w = v + h
	up := r.summed(tensors, x, y)
	*w = v - h
	down := r.summed(tensors, x, y)
	*w = v
	return (up - down) / (2 * h * float64(len(x)))
}

// masksOf returns the dropout masks of a batch, layer by layer.
func masksOf(s Spec, b *data.Batch) func(layer, example int) []float64 {
	return func(layer, example int) []float64 {
		n, rate, convs := s.Outputs, 0.0, len(s.Net.Convs)
		switch {
		case layer < convs:
			n, rate = s.Net.Convs[layer].Out, s.Net.Convs[layer].Drop
		case layer < convs+len(s.Net.Hidden):
			n, rate = s.Net.Hidden[layer-convs].Width, s.Net.Hidden[layer-convs].Drop
		}
		mask := make([]float32, n)
		drop(mask, n, 1, rate, dropKey(s.Options.Seed, b, example), layer)
		return widen([][]float32{mask})[0]
	}
}

// convBatch returns a network on images of 8 x 7, with weights, and a batch of n.
func convBatch(t *testing.T, name string, n int) (Model, []float32, *data.Batch) {
	t.Helper()
	m, err := New(Options{Name: name, Bias: true, Seed: 1}, images(8, 7))
	if err != nil {
		t.Fatal(err)
	}
	w := make([]float32, Size(m.Params()))
	m.Init(w, 1)
	b, _ := randomBatch(rand.New(rand.NewPCG(3, 4)), n, 56, 10, "dense")
	for i := range n {
		b.ID = append(b.ID, int32(3*i+1))
	}
	return m, w, b
}

// TestConvInit: weights and biases are uniform, and bounded by 1/sqrt(inputs).
func TestConvInit(t *testing.T) {
	m, w, _ := convBatch(t, "conv:40@3,30@4,50", 1)
	for i, tensor := range Export(m.Params(), w) {
		p := m.Params()[i]
		inputs := []int{9, 40 * 16, 30 * 3 * 2, 50}[i/2]
		bound := 1 / math.Sqrt(float64(inputs))
		var squares, largest float64
		for _, v := range tensor {
			squares += float64(v) * float64(v)
			largest = max(largest, math.Abs(float64(v)))
		}
		n := float64(len(tensor))
		if sd := math.Sqrt(squares / n); largest > bound*1.0001 ||
			math.Abs(sd-bound/math.Sqrt(3)) > bound/math.Sqrt(n) {
			t.Errorf("%s: largest %v, deviation %v; the bound is %v", p.Name, largest, sd, bound)
		}
	}
}

// TestConvNoAllocation: once warm, at any batch size up to the largest so far.
func TestConvNoAllocation(t *testing.T) {
	m, w, b := convBatch(t, "conv:3@3p2d,6d", 40)
	small := &data.Batch{Rows: b.Rows[:3], Y: b.Y[:3], Features: b.Features}
	var g Gradient
	m.Grad(w, b, &g)
	if n := testing.AllocsPerRun(20, func() {
		m.Grad(w, small, &g)
		m.Grad(w, b, &g)
		m.Eval(w, b)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestConvNaN: what is not a number reaches the loss.
func TestConvNaN(t *testing.T) {
	m, w, b := convBatch(t, "conv:3@3p2d,6d", 5)
	for i, at := range Offsets(m.Params()) {
		m.Init(w, 1)
		w[at] = float32(math.NaN())
		if loss := m.Grad(w, b, &Gradient{}); !math.IsNaN(loss) {
			t.Errorf("%s: loss %v with a weight that is not a number", m.Params()[i].Name, loss)
		}
	}
}
