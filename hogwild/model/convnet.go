package model

import (
	"fmt"
	"slices"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// convNet is a convolutional network. A batch is cut into groups of vec.Lanes examples,
// which lie side by side: see vec.ConvRow. Convolutions do one group after the other,
// so that what they touch stays in the caches; behind them the groups of a batch are
// the positions of images one row high.
//
// When the last group is not full, its other lanes hold images of zeros, whose deltas
// are zero.
type convNet struct {
	loss   Loss
	seed   uint64
	convs  []convStage
	dense  []denseStage
	groups int       // which the scratch has room for
	images []float32 // [group][channel][y][x][lane]
	z      []float32 // b x k: the outputs, and then their deltas, example by example
	g      []float32
	part   []Part
}

// newConvNet makes the model that s describes.
func newConvNet(s Spec) *convNet {
	m := &convNet{loss: s.Loss, seed: s.Options.Seed}
	at := 0
	place := func(in, out, kernel int) filter {
		f := filter{in: in, out: out, kernel: kernel, weight: at, bias: -1}
		if at = f.weight + f.taken(); s.Bias {
			f.bias, at = at, at+out
		}
		return f
	}
	in, h, w := s.Net.Channels, s.Net.Height, s.Net.Width
	for _, c := range s.Net.Convs {
		stage := convStage{filter: place(in, c.Out, c.Kernel), pool: c.Pool, drop: c.Drop, height: h}
		h, w = stage.fix(w)
		m.convs, in = append(m.convs, stage), c.Out
	}
	in *= h * w
	for _, hidden := range slices.Concat(s.Net.Hidden, []Hidden{{Width: s.Outputs}}) {
		m.dense = append(m.dense, denseStage{filter: place(in, hidden.Width, 1), drop: hidden.Drop})
		in = hidden.Width
	}
	return m
}

// Params has the names that PyTorch's example gives them: conv1.weight.
func (m *convNet) Params() []Param {
	var ps []Param
	add := func(name string, f *filter, shape ...int) {
		ps = append(ps, Param{Name: name + ".weight", Shape: shape, Decay: true})
		if f.bias >= 0 {
			ps = append(ps, Param{Name: name + ".bias", Shape: shape[:1]})
		}
	}
	for i := range m.convs {
		f := &m.convs[i].filter
		add(fmt.Sprintf("conv%d", i+1), f, f.out, f.in, f.kernel, f.kernel)
	}
	for i := range m.dense {
		f := &m.dense[i].filter
		add(fmt.Sprintf("fc%d", i+1), f, f.out, f.in)
	}
	return ps
}

func (m *convNet) Init(w []float32, seed uint64) {
	s := newSource(seed)
	for i := range m.convs {
		m.convs[i].init(w, s)
	}
	for i := range m.dense {
		m.dense[i].init(w, s)
	}
}

func (m *convNet) Grad(w []float32, b *data.Batch, g *Gradient) float64 {
	n := m.forward(w, b, true)
	last := &m.dense[len(m.dense)-1]
	loss := m.loss.weighted(m.z[:n*last.out], b.Y, b.W, last.out)
	last.scatter(m.z[:n*last.out])
	m.backward((n + vec.Lanes - 1) / vec.Lanes)
	for i := range m.convs {
		m.convs[i].gradient(m.g)
	}
	for i := range m.dense {
		m.dense[i].gradient(m.g)
	}
	g.Parts = m.part
	return loss
}

func (m *convNet) Eval(w []float32, b *data.Batch) Score {
	n := m.forward(w, b, false)
	k := m.dense[len(m.dense)-1].out
	return m.loss.eval(m.z[:n*k], b.Y, b.W, k)
}

func (m *convNet) Predict(w []float32, b *data.Batch, to []float32) []float32 {
	n, k := m.forward(w, b, false), m.dense[len(m.dense)-1].out
	return m.loss.predict(m.z[:n*k], k, to)
}

func (m *convNet) Probabilities(w []float32, b *data.Batch, to []float32) []float32 {
	n, k := m.forward(w, b, false), m.dense[len(m.dense)-1].out
	return m.loss.probabilities(m.z[:n*k], k, to)
}

// forward computes the outputs m.z of the n rows of b, and returns n.
func (m *convNet) forward(w []float32, b *data.Batch, train bool) int {
	n := len(b.Rows)
	groups := (n + vec.Lanes - 1) / vec.Lanes
	m.grow(groups)
	m.prepare(w, b, groups, train)
	for g := range groups {
		x := m.image(g)
		rows := b.Rows[g*vec.Lanes : min(n, (g+1)*vec.Lanes)]
		lanes(x, rows)
		for i := range m.convs {
			x = m.convs[i].forward(x, g)
		}
		m.dense[0].gather(x, g)
	}
	for i := range m.dense {
		s := &m.dense[i]
		s.row(s.d, s.ldd, s.x, groups)
		if i+1 < len(m.dense) {
			s.activate(m.dense[i+1].x, groups)
		}
	}
	m.dense[len(m.dense)-1].outputs(m.z, n)
	return n
}

// prepare packs the weights, draws the masks and, to train, clears the sums.
func (m *convNet) prepare(w []float32, b *data.Batch, groups int, train bool) {
	for i := range m.convs {
		m.convs[i].pack(w, train && i > 0)
		m.convs[i].forget()
	}
	for i := range m.dense {
		m.dense[i].pack(w, train)
		m.dense[i].forget()
	}
	for i := range groups * vec.Lanes {
		key, rate := uint64(0), 0.0
		if train && i < len(b.Rows) {
			key, rate = dropKey(m.seed, b, i), 1
		}
		for j := range m.convs {
			s := &m.convs[j]
			if s.drop > 0 {
				drop(s.masks(i / vec.Lanes)[i%vec.Lanes:], s.out, vec.Lanes, rate*s.drop, key, j)
			}
		}
		for j := range m.dense {
			s := &m.dense[j]
			if s.drop > 0 {
				drop(s.scale[i:], s.out, s.ldd, rate*s.drop, key, len(m.convs)+j)
			}
		}
	}
}

// backward turns the deltas of the outputs into the sums of the gradient.
func (m *convNet) backward(groups int) {
	for i := len(m.dense) - 1; i >= 0; i-- {
		s := &m.dense[i]
		s.backward(groups)
		if i > 0 {
			m.dense[i-1].passive(s.x, s.dx, groups)
		}
	}
	last := len(m.convs) - 1
	for g := range groups {
		m.dense[0].deltas(m.convs[last].d, g)
		for i := last; i > 0; i-- {
			m.convs[i].backward(m.convs[i-1].output(g), m.convs[i-1].d, g)
		}
		m.convs[0].backward(m.image(g), nil, g)
	}
}

// image returns where the inputs of group g are.
func (m *convNet) image(g int) []float32 {
	size := len(m.images) / m.groups
	return m.images[g*size : (g+1)*size]
}

// grow makes room for batches of the given number of groups.
func (m *convNet) grow(groups int) {
	if groups <= m.groups {
		return
	}
	m.groups = groups
	if m.g == nil { // not earlier: others ask only how many weights there are
		m.g = make([]float32, Size(m.Params()))
		m.part = []Part{{Bias: -1, G: m.g}}
	}
	first := &m.convs[0]
	m.images = make([]float32, groups*first.in*first.height*first.width*vec.Lanes)
	for i := range m.convs {
		m.convs[i].grow(groups)
	}
	for i := range m.dense {
		m.dense[i].grow(groups)
	}
	m.z = make([]float32, groups*vec.Lanes*m.dense[len(m.dense)-1].out)
}

// lanes lays rows side by side: x[j*Lanes+i] is element j of row i.
func lanes(x []float32, rows []data.Row) {
	clear(x)
	for i, r := range rows {
		if r.Idx == nil {
			for j, v := range r.Val {
				x[j*vec.Lanes+i] = v
			}
			continue
		}
		for k, j := range r.Idx {
			x[int(j)*vec.Lanes+i] = r.Val[k]
		}
	}
}
