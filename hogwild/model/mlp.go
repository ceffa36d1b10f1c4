package model

import (
	"fmt"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// mlp is a chain of linear layers with ReLU between them: torch.nn.Sequential of
// Linear, ReLU, Linear. With no hidden layer it is the linear model.
type mlp struct {
	loss   Loss
	stages []stage
	work   vec.Workspace
	center *Center // of the first stage; nil: its inputs are taken as they are
	batch  int     // the largest batch that the scratch has room for
	parts  []Part  // one a stage; X and D change with the batch
	stepping
}

// stage is one layer with its scratch. Outputs become deltas in place: once the
// next stage has its inputs, z is not needed any more.
type stage struct {
	linear
	x []data.Row // b inputs: the batch's rows, or the live units of the stage before
	d []float32  // b x out: outputs, then deltas

	// The memory behind x (b x in), in all stages but the first.
	idx []uint32
	val []float32
}

// New makes the model that s describes.
func (s Spec) New() Model { return s.Family().build(s) }

// newLayers makes a linear model, or a perceptron.
func newLayers(s Spec) Model {
	m := &mlp{loss: s.Loss}
	in, at := s.Features, 0
	for i := range len(s.Widths) + 1 {
		l := linear{in: in, out: s.Outputs, weight: at, bias: -1, center: -1}
		if i < len(s.Widths) {
			l.out = s.Widths[i]
		}
		if s.Bias {
			l.bias = at + l.in*l.out
		}
		if i == 0 && s.Options.Center {
			l.center = l.bias + l.out
			m.center = &Center{S: l.center, Norm2: vec.Dot(s.Options.Mean, s.Options.Mean)}
		}
		in, at = l.out, l.end()
		m.stages = append(m.stages, stage{linear: l})
		m.parts = append(m.parts, Part{Offset: l.weight, In: l.in, Out: l.out, Bias: l.bias})
	}
	m.parts[0].BiasStep, m.parts[0].Center = s.Options.BiasStep, m.center
	return m
}

// Params names the layers 0, 2, 4: the numbers between are the ReLUs.
func (m *mlp) Params() []Param {
	var ps []Param
	for i, s := range m.stages {
		ps = append(ps, Param{Name: fmt.Sprintf("%d.weight", 2*i), Shape: []int{s.out, s.in},
			Transposed: true, Decay: true})
		if s.bias >= 0 {
			ps = append(ps, Param{Name: fmt.Sprintf("%d.bias", 2*i), Shape: []int{s.out}})
		}
		if s.center >= 0 {
			ps = append(ps, Param{Name: fmt.Sprintf("%d.center", 2*i), Shape: []int{s.out}})
		}
	}
	return ps
}

// Init starts a linear model at zero, where its convex loss needs no better, and
// the layers of others at random.
func (m *mlp) Init(w []float32, seed uint64) {
	if len(m.stages) == 1 {
		clear(w)
		return
	}
	s := newSource(seed)
	for i := range m.stages {
		m.stages[i].init(w, s)
	}
}

func (m *mlp) Grad(w []float32, b *data.Batch, g *Gradient) float64 {
	last := m.forward(w, b)
	loss := m.loss.weighted(last.d[:len(b.Y)*last.out], b.Y, b.W, last.out)
	for i := len(m.stages) - 1; i > 0; i-- {
		s := &m.stages[i]
		s.backward(&m.work, w, s.x[:len(b.Y)], s.d, m.stages[i-1].d)
	}
	for i := range m.stages {
		s, p := &m.stages[i], &m.parts[i]
		p.X, p.D = s.x[:len(b.Y)], s.d[:len(b.Y)*s.out]
	}
	if m.center != nil {
		m.center.M = b.M
	}
	g.Parts = m.parts
	return loss
}

func (m *mlp) Eval(w []float32, b *data.Batch) Score {
	last := m.forward(w, b)
	return m.loss.eval(last.d[:len(b.Y)*last.out], b.Y, b.W, last.out)
}

func (m *mlp) Predict(w []float32, b *data.Batch, to []float32) []float32 {
	last := m.forward(w, b)
	return m.loss.predict(last.d[:len(b.Rows)*last.out], last.out, to)
}

func (m *mlp) Probabilities(w []float32, b *data.Batch, to []float32) []float32 {
	last := m.forward(w, b)
	return m.loss.probabilities(last.d[:len(b.Rows)*last.out], last.out, to)
}

// forward computes the outputs of all stages, and returns the last.
func (m *mlp) forward(w []float32, b *data.Batch) *stage {
	m.grow(len(b.Rows))
	s := &m.stages[0]
	s.x = b.Rows
	s.linear.forward(&m.work, w, s.x, b.M, s.d)
	for i := 1; i < len(m.stages); i++ {
		z := s.d
		s = &m.stages[i]
		x := s.x[:len(b.Rows)]
		s.activate(z, x)
		s.linear.forward(&m.work, w, x, nil, s.d)
	}
	return s
}

// wholeFrom is the batch from which on hidden units are taken whole, dead or not: then
// tiles of a matrix product are faster than skipping the dead half.
const wholeFrom = 4

// activate applies ReLU to z (b x in). In a small batch x becomes the units that are
// positive, as sparse rows, so that dead ones cost nothing from here on. NaN stays in,
// to be noticed.
func (s *stage) activate(z []float32, x []data.Row) {
	whole := len(x) >= wholeFrom
	if whole {
		vec.ReLU(z[:len(x)*s.in], s.val)
	}
	for i := range x {
		from, to := i*s.in, (i+1)*s.in
		idx, val := s.idx[from:to], s.val[from:to]
		if whole {
			x[i] = data.Row{Val: val}
			continue
		}
		n := 0
		for j, v := range z[from:to] {
			idx[n], val[n] = uint32(j), v
			if !(v <= 0) {
				n++
			}
		}
		x[i] = data.Row{Idx: idx[:n], Val: val[:n]}
	}
}

// grow makes room for batches of n rows.
func (m *mlp) grow(n int) {
	if n <= m.batch {
		return
	}
	m.batch = n
	for i := range m.stages {
		s := &m.stages[i]
		s.d = make([]float32, n*s.out)
		if i > 0 {
			s.x = make([]data.Row, n)
			s.idx, s.val = make([]uint32, n*s.in), make([]float32, n*s.in)
		}
	}
}
