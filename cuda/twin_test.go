//go:build cuda

package cuda

import (
	"math"
	"math/rand/v2"

	"hogwild/hogwild/model"
)

// The kernels' twin: random problems, and the steps of SGD on them in plain float64.

// problem is a model, data and steps. Floats are data unless bytes is set.
type problem struct {
	d, k    int
	widths  []int
	loss    model.Loss
	nobias  bool
	bytes   bool
	wide    bool // mul and add for each input, and add is not 0
	batches []int
	ctas    int
	mu, l2  float64
	keep    bool // add the gradient up instead of stepping
}

func (p *problem) values() bool { return p.loss == model.Squared || p.loss == model.L1 }

func (p *problem) classes() int {
	if p.values() {
		return 0
	}
	return max(2, p.k)
}

// sizes are the widths of all layers, inputs and outputs included.
func (p *problem) sizes() []int { return append(append([]int{p.d}, p.widths...), p.k) }

// sample is a problem with random numbers.
type sample struct {
	problem
	x8                 []uint8
	x, y, mul, add, lr []float32
	w                  []float32
	rows, start        []int32
}

func draw(p problem, seed uint64) *sample {
	const n = 50
	r := rand.New(rand.NewPCG(seed, 7))
	s := &sample{problem: p, mul: []float32{1.0 / 255}, start: []int32{0}}
	dead := make([]bool, p.d) // inputs that are zero everywhere
	for j := range dead {
		dead[j] = r.IntN(3) == 0
	}
	for i := range n * p.d {
		b := uint8(r.IntN(256))
		if dead[i%p.d] || r.IntN(3) == 0 {
			b = 0
		}
		s.x8 = append(s.x8, b)
		s.x = append(s.x, float32(b)/255*float32(r.NormFloat64()))
	}
	s.add = []float32{0}
	if p.wide {
		s.mul, s.add = nil, nil
		for range p.d {
			s.mul, s.add = append(s.mul, (1+r.Float32())/255), append(s.add, r.Float32()-.5)
		}
	}
	for range n {
		y := float32(r.NormFloat64())
		if !p.values() {
			y = float32(r.IntN(p.classes()))
		}
		s.y = append(s.y, y)
	}
	in := p.d
	for _, out := range p.sizes()[1:] {
		for range (in + 1) * out {
			s.w = append(s.w, float32(r.NormFloat64()/math.Sqrt(float64(in))))
		}
		if p.nobias {
			s.w = s.w[:len(s.w)-out]
		}
		in = out
	}
	for _, b := range p.batches {
		for range b {
			s.rows = append(s.rows, int32(r.IntN(n)))
		}
		s.start = append(s.start, int32(len(s.rows)))
		s.lr = append(s.lr, .02+.1*r.Float32())
	}
	return s
}

// input is row i as the model sees it.
func (s *sample) input(i int32) []float64 {
	x := make([]float64, s.d)
	for j := range x {
		at := int(i)*s.d + j
		x[j] = float64(s.x[at])
		if s.bytes {
			x[j] = float64(s.x8[at])*float64(s.mul[j%len(s.mul)]) + float64(s.add[j%len(s.add)])
		}
	}
	return x
}

// forward is the outputs of all layers, ReLU between them.
func (s *sample) forward(w []float64, x []float64) (h [][]float64) {
	h = [][]float64{x}
	sizes := s.sizes()
	for l, out := range sizes[1:] {
		in, z := sizes[l], make([]float64, out)
		for o := range z {
			for j, v := range h[l] {
				z[o] += v * w[j*out+o]
			}
			if !s.nobias {
				z[o] += w[in*out+o]
			}
			if l < len(s.widths) {
				z[o] = max(0, z[o])
			}
		}
		w = w[in*out:]
		if !s.nobias {
			w = w[out:]
		}
		h = append(h, z)
	}
	return h
}

// losses is a sample's loss and its derivatives.
func (s *sample) losses(z []float64, y float32) (loss float64, d []float64) {
	d = make([]float64, s.k)
	for c, v := range z {
		own := s.k == 1 && y == 1 || s.k > 1 && int(y) == c
		t := -1.0
		if own {
			t = 1
		}
		switch e := v - float64(y); s.loss {
		case model.CrossEntropy:
			others := 0.0 // without the 1 of its own, in which small ones would drown
			for o, u := range z {
				if o != c {
					others += math.Exp(u - v)
				}
			}
			d[c] = 1 / (1 + others)
			if own {
				d[c]--
				loss = math.Log1p(others)
			}
		case model.Logistic:
			loss += math.Log1p(math.Exp(-t * v))
			d[c] = -t / (1 + math.Exp(t*v))
		case model.Hinge:
			if t*v < 1 {
				loss += 1 - t*v
				d[c] = -t
			}
		case model.Squared:
			loss += e * e
			d[c] = 2 * e
		case model.L1:
			loss += math.Abs(e)
			d[c] = math.Copysign(1, e)
		}
	}
	return loss, d
}

// gradient adds a sample's to g, times share.
func (s *sample) gradient(g, w []float64, h [][]float64, d []float64, share float64) {
	sizes, end := s.sizes(), len(w)
	for l := len(sizes) - 2; l >= 0; l-- {
		in, out := sizes[l], sizes[l+1]
		from := end - in*out
		if !s.nobias {
			from -= out
		}
		back := make([]float64, in)
		for o, v := range d {
			for j, x := range h[l] {
				g[from+j*out+o] += share * v * x
				if x > 0 {
					back[j] += v * w[from+j*out+o]
				}
			}
			if !s.nobias {
				g[from+in*out+o] += share * v
			}
		}
		d, end = back, from
	}
}

// decay adds l2 w to g, biases left out.
func (s *sample) decay(g, w []float64) {
	at, sizes := 0, s.sizes()
	for l, out := range sizes[1:] {
		for range sizes[l] * out {
			g[at] += s.l2 * w[at]
			at++
		}
		if !s.nobias {
			at += out
		}
	}
}

// twin takes the steps one after the other.
func (s *sample) twin() (w, v, out, loss []float64) {
	w, v, out = widen(s.w), make([]float64, len(s.w)), make([]float64, len(s.w))
	for i, lr := range s.lr {
		g, sum := make([]float64, len(w)), 0.0
		rows := s.rows[s.start[i]:s.start[i+1]]
		for _, row := range rows {
			h := s.forward(w, s.input(row))
			one, d := s.losses(h[len(h)-1], s.y[row])
			sum += one
			s.gradient(g, w, h, d, 1/float64(len(rows)))
		}
		s.decay(g, w)
		for j := range w {
			if out[j] += g[j]; s.keep {
				continue
			}
			v[j] = s.mu*v[j] + g[j]
			w[j] -= float64(lr) * v[j]
		}
		loss = append(loss, sum)
	}
	return w, v, out, loss
}

func widen(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, f := range v {
		w[i] = float64(f)
	}
	return w
}
