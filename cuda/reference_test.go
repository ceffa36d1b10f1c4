//go:build cuda

package cuda

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"hogwild/hogwild/model"
)

// The kernels' reference: random problems, and the steps of SGD on them in plain float64.

// problem is a model, data and steps. Floats are data unless bytes is set.
type problem struct {
	d, k      int
	widths    []int
	loss      model.Loss
	nobias    bool
	bytes     bool
	wide      bool // mul and add for each input, and add is not 0
	batches   []int
	ctas      int
	optimizer string // an optimizer; "": sgd
	l1, l2    float64
	center    bool    // the first layer learns on inputs less means
	bias      float64 // the step of a linear model's bias; 0: 1
	keep      bool    // add the gradient up instead of stepping
	tf32      bool    // operands of products are rounded to it
	even      bool    // and of two numbers as near to the even one, as from sm_90 on
}

// operand is a number as it goes into a product.
func (p *problem) operand(v float64) float64 {
	if !p.tf32 {
		return v
	}
	mantissa, exponent := math.Frexp(float64(float32(v)))
	round := math.Round
	if p.even {
		round = math.RoundToEven
	}
	return math.Ldexp(round(mantissa*(1<<11)), exponent-11)
}

// apart reports whether the first layer's weights are taken as a kernel has them, V, k and s, since it rounds each of
// them and not what they stand for.
func (p *problem) apart() bool { return p.tf32 && p.center }

// biased reports whether layer l has a bias. Of weights that are apart k is the weight of an input.
func (p *problem) biased(l int) bool { return !p.nobias && (l > 0 || !p.apart()) }

func (p *problem) values() bool { return p.loss == model.Squared || p.loss == model.L1 }

func (p *problem) classes() int {
	if p.values() {
		return 0
	}
	return max(2, p.k)
}

// sizes are the widths of all layers, inputs and outputs included.
func (p *problem) sizes() []int { return append(append([]int{p.d}, p.widths...), p.k) }

// losses of one output and of more.
var lossesByOutputs = map[bool][]model.Loss{true: {model.Logistic, model.Hinge, model.Squared, model.L1},
	false: {model.CrossEntropy, model.Logistic, model.Hinge}}

// problems are each loss once with each number of outputs, everything else in turns.
func problems(outputs []int, widths [][]int) (ps []problem) {
	batches := [][]int{{8, 8, 8}, {1, 1, 1, 1}, {7, 64, 3}, {20}, {1, 8}}
	for _, k := range outputs {
		for _, loss := range lossesByOutputs[k == 1] {
			i := len(ps)
			p := problem{d: []int{13, 784}[i%2], k: k, loss: loss, widths: widths[i%len(widths)],
				batches: batches[i%len(batches)], ctas: 1,
				bytes: i%3 != 0, wide: i%3 == 2, nobias: i%4 == 1, keep: i%7 == 6}
			if i%3 == 1 {
				p.l2 = .1
			}
			if i%4 == 3 {
				p.optimizer = "momentum"
			}
			if p.keep {
				p.optimizer, p.ctas = "", 4
			}
			p.center = p.optimizer == "" && !p.nobias && !p.keep && p.l2 == 0
			ps = append(ps, p)
		}
	}
	return ps
}

// sample is a problem with random numbers.
type sample struct {
	problem
	x8                 []uint8
	x, y, mul, add, lr []float32
	mean, m            []float32 // of the inputs, any; and each row's product with them
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
	for range p.d {
		s.mean = append(s.mean, r.Float32()/4)
	}
	for i := range n {
		m := 0.0
		for j, v := range s.raw(int32(i)) {
			m += v * float64(s.mean[j])
		}
		s.m = append(s.m, float32(m))
	}
	sizes := p.sizes()
	for l, out := range sizes[1:] {
		rows := sizes[l] + 1
		if p.nobias {
			rows--
		}
		if p.center && l == 0 {
			rows++
		}
		for range rows * out {
			s.w = append(s.w, float32(r.NormFloat64()/math.Sqrt(float64(sizes[l]))))
		}
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

// raw is row i, scaled.
func (s *sample) raw(i int32) []float64 {
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

// constants are the inputs of k and s for row i, when outputs are computed and when weights are pushed.
func (s *sample) constants(i int32, pushing bool) []float64 {
	m, norm2 := float64(s.m[i]), 0.0
	if !pushing {
		return []float64{1, -m}
	}
	for _, mu := range s.mean {
		norm2 += float64(mu) * float64(mu)
	}
	return []float64{1 + norm2 - m, 1}
}

// input is row i as the model learns on it.
func (s *sample) input(i int32) []float64 {
	x := s.raw(i)
	if s.apart() {
		return append(x, s.constants(i, false)...)
	}
	for j := 0; s.center && j < s.d; j++ {
		x[j] -= float64(s.mean[j])
	}
	return x
}

// plain are the weights of the layers on inputs as input has them: where w has V, k and s
// of a model that centres, W = V - s mu' and the bias k + W mu.
func (s *sample) plain(w []float32) []float64 {
	p := widen(w)
	if !s.center || s.apart() {
		return p
	}
	in, out := s.d, s.sizes()[1]
	k, c := p[in*out:(in+1)*out], p[(in+1)*out:(in+2)*out]
	for j, mu := range s.mean {
		for o := range out {
			p[j*out+o] -= c[o] * float64(mu)
			k[o] += p[j*out+o] * float64(mu)
		}
	}
	return append(p[:(in+1)*out], p[(in+2)*out:]...)
}

// forward is the outputs of all layers, ReLU between them.
func (s *sample) forward(w []float64, x []float64) (h [][]float64) {
	h = [][]float64{x}
	sizes := s.sizes()
	for l, out := range sizes[1:] {
		in, z := len(h[l]), make([]float64, out)
		for o := range z {
			for j, v := range h[l] {
				z[o] += s.operand(v) * s.operand(w[j*out+o])
			}
			if s.biased(l) {
				z[o] += s.operand(w[in*out+o])
			}
			if l < len(s.widths) {
				z[o] = max(0, z[o])
			}
		}
		w = w[in*out:]
		if s.biased(l) {
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

// gradient adds a sample's to g, times share. Deltas are rounded as they go into products: with their share, and those
// that are pushed times the rate.
func (s *sample) gradient(g, w []float64, h [][]float64, d []float64, share, rate float64) {
	sizes, end := s.sizes(), len(w)
	for l := len(sizes) - 2; l >= 0; l-- {
		in, out := len(h[l]), sizes[l+1]
		from := end - in*out
		if s.biased(l) {
			from -= out
		}
		back := make([]float64, in)
		for o, v := range d {
			for j, x := range h[l] {
				g[from+j*out+o] += s.operand(rate*share*v) / rate * s.operand(x)
				if x > 0 {
					back[j] += s.operand(share*v) / share * s.operand(w[from+j*out+o])
				}
			}
			if s.biased(l) {
				g[from+in*out+o] += s.operand(rate*share*v) / rate
			}
		}
		d, end = back, from
	}
}

// biases returns which of the weights are.
func (s *sample) biases() (is []bool) {
	sizes := s.sizes()
	for l, out := range sizes[1:] {
		is = append(is, make([]bool, sizes[l]*out)...)
		if !s.nobias {
			is = append(is, slices.Repeat([]bool{true}, out)...)
		}
		if l == 0 && s.apart() {
			is = append(is, slices.Repeat([]bool{true}, out)...)
		}
	}
	return is
}

// steps are the optimizers' steps for a gradient g in step t, from 1, with their states.
var steps = map[string]func(g float64, first, second *float64, t int) float64{
	"":         func(g float64, _, _ *float64, _ int) float64 { return g },
	"momentum": func(g float64, v, _ *float64, _ int) float64 { *v = mu**v + g; return *v },
	"adagrad":  func(g float64, s, _ *float64, _ int) float64 { *s += g * g; return g / (math.Sqrt(*s) + 1e-8) },
	"adam": func(g float64, m, v *float64, t int) float64 {
		*m += (1 - beta1) * (g - *m)
		*v += (1 - beta2) * (g*g - *v)
		return *m / (1 - math.Pow(beta1, float64(t))) / (math.Sqrt(*v/(1-math.Pow(beta2, float64(t)))) + 1e-8)
	},
}

const mu, beta1, beta2 = .9, .8, .99

// outcome is what the steps leave behind.
type outcome struct{ w, first, second, gradient, loss []float64 }

// reference takes the steps one after the other.
func (s *sample) reference() outcome {
	w := s.plain(s.w)
	n := len(w)
	r := outcome{w: w, first: make([]float64, n), second: make([]float64, n), gradient: make([]float64, n)}
	bias := s.biases()
	for i, lr := range s.lr {
		g, sum := make([]float64, n), 0.0
		rows := s.rows[s.start[i]:s.start[i+1]]
		for _, row := range rows {
			h := s.forward(w, s.input(row))
			one, d := s.losses(h[len(h)-1], s.y[row])
			sum += one
			if s.apart() {
				copy(h[0][s.d:], s.constants(row, true))
			}
			rate := float64(lr)
			if s.keep {
				rate = 1
			}
			s.gradient(g, w, h, d, 1/float64(len(rows)), rate)
		}
		for j := range w {
			rate, decay := float64(lr), s.l1*float64(lr)
			if bias[j] {
				rate, decay = rate*cmp.Or(s.bias, 1), 0
			} else {
				g[j] += s.l2 * w[j]
			}
			if r.gradient[j] += g[j]; s.keep {
				continue
			}
			w[j] -= rate * steps[s.optimizer](g[j], &r.first[j], &r.second[j], i+1)
			w[j] = math.Copysign(max(0, math.Abs(w[j])-decay), w[j])
		}
		r.loss = append(r.loss, sum)
	}
	return r
}

func widen(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, f := range v {
		w[i] = float64(f)
	}
	return w
}
