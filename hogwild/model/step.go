package model

import (
	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// The steps of a linear model with one output on sparse or dense rows, batch 1. A step takes
// some ten nanoseconds: all of them go through one loop, straight on the set's arrays.

// linearLoss is what package vec calls a loss.
var linearLoss = map[Loss]vec.LinearLoss{
	Logistic: vec.LinearLogistic, Hinge: vec.LinearHinge, Squared: vec.LinearSquared, L1: vec.LinearAbsolute,
}

// Suits returns true for linear models with one output on sets of numbers. Of sparse ones all indices must
// lie below Features: the loop does not look. On dense rows, where each step moves all weights, copies
// of some hundred steps would overshoot together.
func (m *mlp) Suits(set *data.Set) (steps, copied bool) {
	_, known := linearLoss[m.loss]
	steps, copied = m.alone(set)
	return steps && known, steps && known && copied
}

// alone is Suits for any loss.
func (m *mlp) alone(set *data.Set) (rows, copied bool) {
	s := &m.stages[0]
	copied = set.Sparse() && len(set.Idx) > 0 && set.InRange()
	rows = len(m.stages) == 1 && s.out == 1 && m.center == nil && s.in == set.Features &&
		(copied || set.Stored())
	return rows, copied
}

// Steps takes the steps of the rows: see HalfStepper. The set is one that Suits.
func (m *mlp) Steps(w []float32, set *data.Set, rows []int32, s Step) float64 {
	return m.on(set, s).Steps(m.stages[0].matrix(w), m.biasIn(w, s), rows, s.LR)
}

// EvalRows does what Eval does, on rows of a set that lie one behind the other: false if the set does not suit.
func (m *mlp) EvalRows(w []float32, set *data.Set, from, to int) (s Score, ok bool) {
	if m.of != set {
		if rows, _ := m.alone(set); !rows {
			return s, false
		}
	}
	m.grow(to - from)
	l, y := &m.stages[0], set.Y[from:to]
	z := l.d[:to-from]
	m.weights = m.weights[:0]
	for i := from; set.Weighted() && i < to; i++ {
		m.weights = append(m.weights, set.WeightOf(int32(i)))
	}
	m.on(set, Step{}).Outputs(l.matrix(w), *m.biasIn(w, Step{}), from, z)
	return m.loss.eval(z, y, m.weights, 1), true
}

// CoefLen returns one: what the row is multiplied by.
func (m *mlp) CoefLen() int { return 1 }

func (m *mlp) Read(w []float32, set *data.Set, rows []int32, s Step, coef []float32,
	g *vec.Guard) (done int, loss, p float64) {
	done, sum, product := m.on(set, s).Guarded(m.stages[0].matrix(w), m.biasIn(w, s), rows, s.LR, &coef[0], g)
	return done, float64(sum), float64(product)
}

func (m *mlp) Write(w []float32, set *data.Set, row int32, s Step, coef []float32) {
	l := m.on(set, s)
	l.Write(m.stages[0].matrix(w), m.biasIn(w, s), row, s.LR, coef[0])
}

func (m *mlp) WriteAtomic(w []uint32, set *data.Set, row int32, s Step, coef []float32) {
	var bias *uint32
	if b := m.stages[0].bias; b >= 0 {
		bias = &w[b]
	}
	from := m.stages[0].weight
	m.on(set, s).WriteAtomic(w[from:from+m.stages[0].in], bias, row, s.LR, coef[0])
}

// Touched appends the weights of the row's features, and the bias.
func (m *mlp) Touched(set *data.Set, row int32, ranges []Range) []Range {
	from := m.stages[0].weight
	if set.Stored() {
		ranges = append(ranges, Range{from, from + set.Features})
	} else {
		for _, j := range set.Idx[set.Ptr[row]:set.Ptr[row+1]] {
			at := from + int(j)
			ranges = append(ranges, Range{at, at + 1})
		}
	}
	if b := m.stages[0].bias; b >= 0 {
		ranges = append(ranges, Range{b, b + 1})
	}
	return ranges
}

// biasIn returns where the bias is: a zero for a model without.
func (m *mlp) biasIn(w []float32, s Step) *float32 {
	b := m.stages[0].bias
	switch {
	case b < 0:
		return &m.noBias
	case s.Bias != nil:
		return s.Bias
	}
	return &w[b]
}

// on returns the loop's arguments for a set and a step.
func (m *mlp) on(set *data.Set, s Step) *vec.Linear {
	if m.sparse == nil || m.of != set || m.last.L2 != s.L2 || m.last.L1 != s.L1 {
		m.prepare(set, s)
	}
	return m.sparse
}

// stepping is what the steps keep between calls.
type stepping struct {
	sparse  *vec.Linear
	of      *data.Set // what it was made for
	last    Step
	weights []float32 // of rows that are evaluated
	noBias  float32   // stays zero: a model without bias steps it by nothing
}

// prepare makes the loop's arguments. A weight of a sparse row is regularized when its feature occurs,
// and by 1/frequency more, which is the same in expectation (Hogwild!, section 2).
func (m *mlp) prepare(set *data.Set, s Step) {
	l := &vec.Linear{Loss: linearLoss[m.loss], Ptr: set.Ptr, Idx: set.Idx, Val: set.Val, Y: set.Y}
	if set.Stored() {
		l.Width, l.Val = set.Features, set.X
	}
	often := func(x float32) []float32 {
		if x == 0 {
			return nil
		}
		v := make([]float32, set.Features)
		for j, f := range set.Freq {
			if v[j] = x; l.Width == 0 {
				v[j] /= f
			}
		}
		return v
	}
	l.Weight, l.Class = data.Weights(set)
	l.WeightDecay, l.SoftThreshold = often(s.L2), often(s.L1)
	if m.stages[0].bias >= 0 {
		l.BiasStep = 1
		if p := m.parts[0].BiasStep; p != 0 {
			l.BiasStep = p
		}
	}
	m.stepping = stepping{sparse: l, of: set, last: s, weights: m.weights}
}
