package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/data"
)

// The reference: the same models and losses written down once more, in float64,
// from their definitions, on dense inputs and on tensors as files have them. Grad
// is compared with its central differences, so no derivative is trusted.
type reference struct {
	loss   Loss
	bias   bool
	layers int
}

// outputs of one example. Tensors are weight (out x in) and bias, layer by layer.
func (r reference) outputs(tensors [][]float64, x []float64) []float64 {
	for l := range r.layers {
		weight, bias := tensors[0], []float64(nil)
		tensors = tensors[1:]
		if r.bias {
			bias, tensors = tensors[0], tensors[1:]
		}
		z := make([]float64, len(weight)/len(x))
		for o := range z {
			for i, v := range x {
				z[o] += weight[o*len(x)+i] * v
			}
			if r.bias {
				z[o] += bias[o]
			}
			if l < r.layers-1 {
				z[o] = math.Max(0, z[o])
			}
		}
		x = z
	}
	return x
}

func (r reference) of(z []float64, y float64) (sum float64) {
	target := func(c int) float64 {
		positive := int(y) == c
		if len(z) == 1 {
			positive = y == 1
		}
		if positive {
			return 1
		}
		return -1
	}
	for c, v := range z {
		switch r.loss {
		case CrossEntropy:
			sum += math.Exp(v)
		case Logistic:
			sum += math.Log(1 + math.Exp(-target(c)*v))
		case Hinge:
			sum += math.Max(0, 1-target(c)*v)
		case SquaredHinge:
			sum += math.Pow(math.Max(0, 1-target(c)*v), 2)
		case Squared:
			sum += math.Pow(v-y, 2)
		case L1:
			sum += math.Abs(v - y)
		}
	}
	if r.loss == CrossEntropy {
		return math.Log(sum) - z[int(y)]
	}
	return sum
}

// summed returns the loss over a batch of dense rows.
func (r reference) summed(tensors, x [][]float64, y []float32) (sum float64) {
	for i := range x {
		sum += r.of(r.outputs(tensors, x[i]), float64(y[i]))
	}
	return sum
}

// difference returns the derivative of the mean loss by every element of the tensors.
func (r reference) difference(tensors, x [][]float64, y []float32) [][]float64 {
	const h = 1e-6
	g := make([][]float64, len(tensors))
	for t := range tensors {
		g[t] = make([]float64, len(tensors[t]))
		for i, v := range tensors[t] {
			tensors[t][i] = v + h
			up := r.summed(tensors, x, y)
			tensors[t][i] = v - h
			down := r.summed(tensors, x, y)
			tensors[t][i] = v
			g[t][i] = (up - down) / (2 * h * float64(len(x)))
		}
	}
	return g
}

// materialise adds up the factored gradient, by the definition of Part.
func materialise(g *Gradient, n int) []float32 {
	sum := make([]float32, n)
	for _, p := range g.Parts {
		for i, v := range p.G {
			sum[p.Offset+i] += v
		}
		for i, x := range p.X {
			for o, d := range p.D[i*p.Out : (i+1)*p.Out] {
				if p.Bias >= 0 {
					sum[p.Bias+o] += d
				}
				for j, v := range x.Val {
					if x.Idx != nil {
						j = int(x.Idx[j])
					}
					sum[p.Offset+j*p.Out+o] += v * d
				}
			}
		}
	}
	return sum
}

// randomBatch returns b rows of d features, about half of them zero, alternately
// sparse and dense if mixed, else all sparse or all dense; and the same in float64.
func randomBatch(r *rand.Rand, b, d, classes int, form string) (*data.Batch, [][]float64) {
	batch := &data.Batch{Features: d}
	var dense [][]float64
	for i := range b {
		row, x := data.Row{Idx: []uint32{}}, make([]float64, d)
		for j := range d {
			v := float32(0)
			if r.IntN(2) == 0 {
				v = 2*r.Float32() - 1
				row.Idx = append(row.Idx, uint32(j))
				row.Val = append(row.Val, v)
			}
			x[j] = float64(v)
		}
		if form == "dense" || form == "mixed" && i%2 == 1 {
			row = data.Row{Val: narrow(x)}
		}
		y := float32(r.NormFloat64())
		if classes > 0 {
			y = float32(r.IntN(classes))
		}
		batch.Rows, batch.Y, dense = append(batch.Rows, row), append(batch.Y, y), append(dense, x)
	}
	return batch, dense
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func widen(tensors [][]float32) [][]float64 {
	wide := make([][]float64, len(tensors))
	for i, t := range tensors {
		wide[i] = make([]float64, len(t))
		for j, v := range t {
			wide[i][j] = float64(v)
		}
	}
	return wide
}

func agree(got, want float64) bool { return math.Abs(got-want) <= 3e-6*(1+math.Abs(want)) }

// TestDifferences checks loss and gradient of every model and loss. The seeds are
// fixed: a kink within h of an output would be a false alarm.
func TestDifferences(t *testing.T) {
	seed := uint64(0)
	for _, c := range []struct {
		name, loss string
		classes    int
	}{
		{"softmax", "", 2}, {"softmax", "", 5},
		{"logistic", "", 2}, {"logistic", "", 5},
		{"hinge", "", 2}, {"hinge", "", 5}, {"squared-hinge", "", 2}, {"squared-hinge", "", 5},
		{"linear", "", 0}, {"l1", "", 0},
		{"mlp:9", "cross-entropy", 2}, {"mlp:9", "cross-entropy", 3},
		{"mlp:9", "logistic", 2}, {"mlp:9", "logistic", 3},
		{"mlp:9", "hinge", 2}, {"mlp:9", "hinge", 3},
		{"mlp:9", "squared", 0}, {"mlp:9", "l1", 0},
		{"mlp:11,5", "", 3}, {"mlp:1", "", 0}, {"mlp:6,3,7", "", 0},
	} {
		for _, bias := range []bool{true, false} {
			for _, form := range []string{"sparse", "dense", "mixed"} {
				seed++
				name := fmt.Sprintf("%s %s %d %v %s", c.name, c.loss, c.classes, bias, form)
				t.Run(name, func(t *testing.T) { checkModel(t, c.name, c.loss, c.classes, bias, form, seed) })
			}
		}
	}
}

func checkModel(t *testing.T, name, loss string, classes int, bias bool, form string, seed uint64) {
	const features = 13
	meta := data.Meta{Name: "random", Features: features, Classes: make([]string, classes)}
	spec, err := Resolve(Options{Name: name, Loss: loss, Bias: bias}, meta)
	if err != nil {
		t.Fatal(err)
	}
	m, ref := spec.New(), reference{spec.Loss, bias, len(spec.Widths) + 1}
	ps := m.Params()
	r := rand.New(rand.NewPCG(seed, 1))
	w := make([]float32, Size(ps))
	var g Gradient
	for _, b := range []int{7, 1, 8} { // the scratch grows, and is too large in between
		for i := range w {
			w[i] = 2*r.Float32() - 1
		}
		batch, x := randomBatch(r, b, features, classes, form)
		tensors := widen(Export(ps, w))

		got := m.Grad(w, batch, &g)
		if want := ref.summed(tensors, x, batch.Y); !agree(got, want) {
			t.Errorf("batch %d: loss %v, want %v", b, got, want)
		}
		gradient := Export(ps, materialise(&g, len(w)))
		for i, want := range ref.difference(tensors, x, batch.Y) {
			for j := range want {
				if got := float64(gradient[i][j]); !agree(got, want[j]) {
					t.Errorf("batch %d: d loss / d %s[%d] is %v, want %v", b, ps[i].Name, j, got, want[j])
				}
			}
		}
		checkScore(t, m.Eval(w, batch), ref, tensors, x, batch.Y, classes)
	}
}

func checkScore(t *testing.T, got Score, ref reference, tensors, x [][]float64, y []float32, classes int) {
	want := Score{N: len(x), Loss: ref.summed(tensors, x, y)}
	for i := range x {
		z, v := ref.outputs(tensors, x[i]), float64(y[i])
		switch {
		case classes == 0:
			want.SqErr += (z[0] - v) * (z[0] - v)
			want.Y, want.Y2 = want.Y+v, want.Y2+v*v
		case len(z) == 1:
			if (z[0] > 0) == (v == 1) {
				want.Correct++
			}
		case slices.Index(z, slices.Max(z)) == int(v): // the first of equals
			want.Correct++
		}
	}
	if got.N != want.N || got.Correct != want.Correct || !agree(got.Loss, want.Loss) ||
		!agree(got.SqErr, want.SqErr) || !agree(got.Y, want.Y) || !agree(got.Y2, want.Y2) {
		t.Errorf("score %+v, want %+v", got, want)
	}
}
