package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
)

// repeated returns the batch with each row as often as its weight says.
func repeated(b *data.Batch) *data.Batch {
	many := &data.Batch{Features: b.Features}
	for i, a := range b.W {
		for range int(a) {
			many.Rows, many.Y = append(many.Rows, b.Rows[i]), append(many.Y, b.Y[i])
			if b.ID != nil {
				many.ID = append(many.ID, b.ID[i])
			}
		}
	}
	return many
}

// TestWeightsAreRepeatedRows: gradient and loss of weighted rows are those of as many copies of each, by the float64
// reference, for each loss and each kind of layers. A row of weight 0 may be as bad as it likes.
func TestWeightsAreRepeatedRows(t *testing.T) {
	const features = 13
	for i, c := range []struct {
		name, loss string
		classes    int
	}{
		{"softmax", "", 5}, {"logistic", "", 2}, {"logistic", "", 5}, {"hinge", "", 2}, {"hinge", "", 5},
		{"squared-hinge", "", 2}, {"squared-hinge", "", 5}, {"linear", "", 0}, {"l1", "", 0},
		{"mlp:9", "", 3}, {"mlp:9", "squared", 0},
	} {
		spec, err := Resolve(Options{Name: c.name, Loss: c.loss, Bias: true},
			data.Meta{Name: "random", Features: features, Classes: make([]string, c.classes)})
		if err != nil {
			t.Fatal(err)
		}
		m, ref := spec.New(), reference{spec.Loss, true, len(spec.Widths) + 1}
		r, ps := rand.New(rand.NewPCG(uint64(i), 7)), m.Params()
		w := make([]float32, Size(ps))
		for j := range w {
			w[j] = 2*r.Float32() - 1
		}
		b, x := randomBatch(r, 8, features, c.classes, "dense")
		b.W = []float32{1, 0, 3, 2, 0, 1, 5, 1}
		var many [][]float64
		for i, a := range b.W {
			for range int(a) {
				many = append(many, x[i])
			}
		}
		b.Rows[1].Val[0] = float32(math.NaN())
		tensors, times := widen(Export(ps, w)), repeated(b)
		var g Gradient
		got, want := m.Grad(w, b, &g), ref.summed(tensors, many, times.Y)
		if !agree(got, want) || !agree(m.Eval(w, b).Loss, want) {
			t.Errorf("%s %s: loss %v, Eval %v, want %v", c.name, c.loss, got, m.Eval(w, b).Loss, want)
		}
		b.Rows[1].Val[0] = 0
		m.Grad(w, b, &g)
		gradient := Export(ps, materialise(&g, len(w)))
		for i, of := range ref.difference(tensors, many, times.Y) {
			for j := range of {
				if want := of[j] * float64(len(many)) / 8; !agree(float64(gradient[i][j]), want) {
					t.Errorf("%s %s: d loss / d %s[%d] is %v, want %v", c.name, c.loss, ps[i].Name, j,
						gradient[i][j], want)
				}
			}
		}
	}
}

// TestWeightsOfOtherModels: weighted rows are repeated rows for networks of images, lines of text and entries too.
func TestWeightsOfOtherModels(t *testing.T) {
	check := func(name string, m Model, w []float32, b *data.Batch) {
		t.Helper()
		for range b.Rows {
			b.W = append(b.W, float32(len(b.W)%4))
		}
		var g Gradient
		loss := m.Grad(w, b, &g)
		got, score := materialise(&g, len(w)), m.Eval(w, b)
		many := repeated(b)
		want, scale := m.Grad(w, many, &g), float64(len(many.Y))/float64(len(b.Y))
		if math.Abs(loss-want) > 1e-4*(1+want) {
			t.Errorf("%s: loss %v, want %v", name, loss, want)
		}
		if want := m.Eval(w, many).Loss; math.Abs(score.Loss-want) > 1e-4*(1+want) || score.N != len(b.Y) {
			t.Errorf("%s: evaluated %+v, want the loss %v", name, score, want)
		}
		m.Grad(w, many, &g)
		for i, v := range materialise(&g, len(w)) {
			if math.Abs(float64(got[i])-scale*float64(v)) > 1e-5 {
				t.Fatalf("%s: the gradient of weight %d is %v, want %v", name, i, got[i], scale*float64(v))
			}
		}
	}
	m, w, b := convBatch(t, "conv:3@3p2,6", 20)
	check("conv", m, w, b)
	m, w = newFactor(t, "factor:10", true, 0.1)
	m.Init(w, 1)
	check("factor", m, w, pairBatch(rand.New(rand.NewPCG(3, 3)), 50))
	lines := &data.Set{Meta: data.Meta{Name: "lines", Kind: data.Sparse, Features: 9, Rows: 3,
		Classes: []string{"a", "b", "c"}, Text: &text.Options{Kind: text.Labels}},
		Ptr: []int64{0, 4, 6, 8}, Idx: []uint32{1, 5, 5, 8, 0, 1, 2, 3},
		Val: []float32{.25, .25, .25, .25, .5, .5, .5, .5}, Y: []float32{2, 0, 1}}
	for _, loss := range []string{"cross-entropy", "logistic"} {
		m, err := New(Options{Name: "text:6", Loss: loss, Bias: true}, lines.Meta)
		if err != nil {
			t.Fatal(err)
		}
		w := make([]float32, Size(m.Params()))
		for i := range w {
			w[i] = rand.Float32() - 0.5
		}
		check("text "+loss, m, w, lines.NewReader().Batch([]int32{0, 1, 2}))
	}
}

// weightedSet returns n rows of d features for a model, some of them with the weight 0.
func weightedSet(r *rand.Rand, name string, kind data.Kind, n, d int) *data.Set {
	set := &data.Set{Meta: data.Meta{Name: "rows", Kind: kind, Rows: n, Features: d, Classes: make([]string, 2)},
		Ptr: []int64{0}}
	b, _ := randomBatch(r, n, d, 2, map[data.Kind]string{data.Sparse: "sparse", data.Floats: "dense"}[kind])
	if kind == data.Pairs {
		b, set.Shape, set.Features = pairBatch(r, n), []int{5, 7}, 12
	}
	if name == "linear" || name == "l1" {
		set.Classes = nil
	}
	if name == "text:6" {
		set.Text = &text.Options{Kind: text.Labels}
	}
	for i, x := range b.Rows {
		if set.Y, set.W = append(set.Y, b.Y[i]), append(set.W, float32(i%5)/2); kind == data.Floats {
			set.X = append(set.X, x.Val...)
			continue
		}
		set.Idx, set.Val = append(set.Idx, x.Idx...), append(set.Val, x.Val...)
		set.Ptr = append(set.Ptr, int64(len(set.Idx)))
	}
	if name == "text:6" { // all values of a row are alike
		for i := range n {
			for k := set.Ptr[i]; k < set.Ptr[i+1]; k++ {
				set.Val[k] = 1 / float32(set.Ptr[i+1]-set.Ptr[i])
			}
		}
	}
	set.Freq = make([]float32, set.Features)
	return set
}

// TestWeightedSteps: steps on a weighted set, whole and in two halves, are w -= lr g of each row alone.
func TestWeightedSteps(t *testing.T) {
	const n, d, lr = 100, 11, 0.05
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name string
		kind data.Kind
	}{{"logistic", data.Sparse}, {"hinge", data.Floats}, {"linear", data.Sparse}, {"l1", data.Floats},
		{"logistic", data.Floats}, {"factor:10", data.Pairs}, {"text:6", data.Sparse}} {
		set := weightedSet(r, c.name, c.kind, n, d)
		m, err := New(Options{Name: c.name, Bias: true, Biases: true, L2: 0.1}, set.Meta)
		if err != nil {
			t.Fatal(err)
		}
		step := Step{LR: lr}
		first := make([]float32, Size(m.Params()))
		for i := range first {
			first[i] = r.Float32() - 0.5
		}
		whole, halves, slow, want := append([]float32(nil), first...), append([]float32(nil), first...),
			append([]float32(nil), first...), 0.0
		var rows []int32
		var g Gradient
		reader := set.NewReader()
		for i := range int32(n) {
			rows = append(rows, i)
			if c.name == "text:6" && set.Ptr[i] == set.Ptr[i+1] {
				continue
			}
			want += m.Grad(slow, reader.Batch(rows[i:]), &g)
			for j, v := range materialise(&g, len(slow)) {
				slow[j] -= lr * v
			}
		}
		ways := map[string]float64{"Steps": m.(Stepper).Steps(whole, set, rows, step)}
		all := [][]float32{whole}
		if h, ok := m.(HalfStepper); ok {
			sum, coef := 0.0, make([]float32, h.CoefLen())
			for i := range rows {
				_, loss, p := h.Read(halves, set, rows[i:], step, coef, nil)
				h.Write(halves, set, rows[i], step, coef)
				sum += loss - math.Log(p)
			}
			ways["halves"], all = sum, append(all, halves)
		}
		for way, got := range ways {
			if math.Abs(got-want) > 1e-4*(1+want) {
				t.Errorf("%s, %s: %s: loss %v, want %v", c.name, c.kind, way, got, want)
			}
		}
		for _, w := range all {
			for i, v := range slow {
				if math.Abs(float64(w[i]-v)) > 1e-4*(1+math.Abs(float64(v))) {
					t.Fatalf("%s, %s: weight %d is %v, want %v", c.name, c.kind, i, w[i], v)
				}
			}
		}
	}
}
