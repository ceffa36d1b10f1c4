package model

import (
	"fmt"

	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
	"hogwild/internal/vec"
)

// textModel is fastText's classifier (Joulin, Grave, Bojanowski, Mikolov 2016, "Bag of tricks for efficient text
// classification"): the mean h of the vectors of a line's words and n-grams, and a linear model on it without biases,
//
//	z = Out h,
//
// under the cross-entropy, or the logistic loss of each label against the rest. The values of a row are 1/n each.
type textModel struct {
	features, labels, k int
	loss                Loss
	touched
	h, e, z []float32
	y, w    [1]float32
}

// Text is the family of text:K. Its defaults are fastText's.
var Text = &Family{
	Reads: text.Labels, Rate: 0.1, Epochs: 5, Schedule: "linear", Weighs: true, forms: []string{"text:K (text:100)"},
	task: func(name, loss string) (string, error) {
		_, _, err := parseText(name, loss)
		return "labels", err
	},
	resolve: func(o Options, m data.Meta) (Spec, error) {
		k, l, err := parseText(o.Name, o.Loss)
		switch {
		case err != nil:
			return Spec{}, err
		case m.Text == nil || !m.Sparse():
			return Spec{}, fmt.Errorf("model: %s needs lines of text with labels, and %s has none", o.Name, m.Name)
		}
		return Spec{Options: o, Name: fmt.Sprintf("text:%d", k), Loss: l, Widths: []int{k}, Features: m.Features,
			Outputs: len(m.Classes), Classes: len(m.Classes)}, nil
	},
	build: func(s Spec) Model {
		k := s.Widths[0]
		return &textModel{features: s.Features, labels: s.Outputs, k: k, loss: s.Loss, touched: newTouched(k),
			h: make([]float32, k), e: make([]float32, k), z: make([]float32, s.Outputs)}
	},
}

// parseText reads the length of the vectors, and the loss.
func parseText(name, loss string) (int, Loss, error) {
	l := Loss(loss)
	switch l {
	case "":
		l = CrossEntropy
	case CrossEntropy, Logistic:
	default:
		return 0, "", fmt.Errorf("model: %s has the loss cross-entropy, or logistic for each label against the rest, "+
			"not %q", name, loss)
	}
	k, err := parseWidth(name, "")
	return k, l, err
}

func (m *textModel) Params() []Param {
	return []Param{{Name: "in.weight", Shape: []int{m.features, m.k}},
		{Name: "out.weight", Shape: []int{m.labels, m.k}}}
}

// Init draws the vectors in from U(-1, 1)/k; the vectors out are zero, as in fastText.
func (m *textModel) Init(w []float32, seed uint64) {
	n := m.features * m.k
	newSource(seed).uniform(w[:n], 1/float32(m.k))
	clear(w[n:])
}

func (m *textModel) split(w []float32) (in, out []float32) {
	n := m.features * m.k
	return w[:n], w[n : n+m.labels*m.k]
}

// outputs sets h and z of a row.
func (m *textModel) outputs(w []float32, x data.Row, z []float32) {
	in, out := m.split(w)
	a := float32(0)
	if len(x.Val) > 0 {
		a = x.Val[0]
	}
	vec.GatherRows(in, m.k, x.Idx, a, m.h)
	for j := range z {
		z[j] = vec.Dot(m.h, out[j*m.k:][:m.k])
	}
}

// Suits returns true for lines of text. A worker's copy would have all vectors.
func (m *textModel) Suits(set *data.Set) (steps, copied bool) { return set.Sparse(), false }

// Steps takes the steps of the rows, in place.
func (m *textModel) Steps(w []float32, set *data.Set, rows []int32, s Step) (loss float64) {
	in, out := m.split(w)
	weight := m.w[:]
	if !set.Weighted() {
		weight = nil
	}
	for _, r := range rows {
		from, to := set.Ptr[r], set.Ptr[r+1]
		if from == to {
			continue
		}
		x := data.Row{Idx: set.Idx[from:to], Val: set.Val[from:to]}
		m.outputs(w, x, m.z)
		m.y[0], m.w[0] = set.Y[r], set.WeightOf(r)
		loss += m.loss.weighted(m.z, m.y[:], weight, m.labels)
		clear(m.e)
		for j, d := range m.z {
			o := out[j*m.k:][:m.k]
			vec.Axpy(d, o, m.e)
			vec.Axpy(-s.LR*d, m.h, o)
		}
		vec.ScatterRows(in, m.k, x.Idx, -s.LR*x.Val[0], m.e)
	}
	return loss
}

// Grad sets g to the gradient of the batch's mean loss by its words' vectors, and by all labels' vectors.
func (m *textModel) Grad(w []float32, b *data.Batch, g *Gradient) (loss float64) {
	_, out := m.split(w)
	rows, mean := m.labels, 1/float32(len(b.Rows))
	for _, x := range b.Rows {
		rows += len(x.Idx)
	}
	m.begin((rows + 1) / 2)
	for i, x := range b.Rows {
		m.outputs(w, x, m.z)
		loss += m.loss.weighted(m.z, b.Y[i:i+1], b.W[min(i, len(b.W)):min(i+1, len(b.W))], m.labels)
		clear(m.e)
		for j, d := range m.z {
			vec.Axpy(d*mean, out[j*m.k:][:m.k], m.e)
			vec.Axpy(d*mean, m.h, m.row(m.at(uint32(m.features+j))))
		}
		for c, j := range x.Idx {
			vec.Axpy(x.Val[c], m.e, m.row(m.at(j)))
		}
	}
	g.Parts = m.gradient()
	return loss
}

// all returns the outputs of a batch: rows x labels.
func (m *textModel) all(w []float32, b *data.Batch) []float32 {
	z := make([]float32, len(b.Rows)*m.labels)
	for i, x := range b.Rows {
		m.outputs(w, x, z[i*m.labels:(i+1)*m.labels])
	}
	return z
}

func (m *textModel) Eval(w []float32, b *data.Batch) Score {
	return m.loss.eval(m.all(w, b), b.Y, b.W, m.labels)
}

// Predict appends the label of each row.
func (m *textModel) Predict(w []float32, b *data.Batch, to []float32) []float32 {
	return m.loss.predict(m.all(w, b), m.labels, to)
}

// Probabilities appends the labels' probabilities.
func (m *textModel) Probabilities(w []float32, b *data.Batch, to []float32) []float32 {
	return m.loss.probabilities(m.all(w, b), m.labels, to)
}

// Touched appends the vectors of a row's words and of all labels.
func (m *textModel) Touched(set *data.Set, row int32, ranges []Range) []Range {
	for _, j := range set.Idx[set.Ptr[row]:set.Ptr[row+1]] {
		ranges = append(ranges, Range{int(j) * m.k, (int(j) + 1) * m.k})
	}
	return append(ranges, Range{m.features * m.k, (m.features + m.labels) * m.k})
}

// flops counts the two products with the vectors of a row's features, and the three with the labels' vectors.
func (m *textModel) flops(values float64) float64 {
	return 2 * float64(m.k) * (firstProducts*values + products*float64(m.labels))
}
