//go:build cuda

package cuda

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"hogwild/hogwild/model"
)

// The reference of the kernels for sparse rows: random rows, and the steps on them in plain
// float64.

// sparseProblem is a linear model, sparse data and steps.
type sparseProblem struct {
	d, k       int
	loss       model.Loss
	batches    []int
	optimizer  string // "" is sgd
	l1, l2     float64
	biasStep   float64
	nobias     bool
	keep       bool // add the gradient up instead of stepping
	locals     int  // columns that a CTA has copies of
	mergeEvery int  // without locals: of the biases alone; 0: they are added at each step
	racy       bool
	ctas       int
	teams      int
}

func (p *sparseProblem) whole() bool { return p.optimizer != "" || p.keep }

type sparseSample struct {
	sparseProblem
	losses      func(z []float64, y float32) (float64, []float64)
	ptr         []int64
	idx         []uint32
	val, y, lr  []float32
	freq, w     []float32
	rows, start []int32
}

// lengths of rows: none, about a warp and what its lanes hold, and far beyond.
var lengths = []int{0, 1, 2, 31, 32, 33, 74, 95, 96, 97, 192, 1000}

func drawSparse(p sparseProblem, seed uint64) *sparseSample {
	r := rand.New(rand.NewPCG(seed, 11))
	p.ctas, p.teams, p.biasStep = cmp.Or(p.ctas, 1), cmp.Or(p.teams, 1), cmp.Or(p.biasStep, 1)
	s := &sparseSample{sparseProblem: p, ptr: []int64{0}, start: []int32{0}, freq: make([]float32, p.d)}
	like := &sample{problem: problem{k: p.k, loss: p.loss}}
	s.losses = like.losses
	n := 4 * len(lengths)
	for i := range n {
		row := r.Perm(p.d)[:min(p.d, lengths[i%len(lengths)])]
		slices.Sort(row)
		for _, j := range row {
			s.idx, s.val = append(s.idx, uint32(j)),
				append(s.val, float32(r.NormFloat64()/math.Sqrt(float64(len(row)))))
			s.freq[j] += 1 / float32(n)
		}
		s.ptr = append(s.ptr, int64(len(s.idx)))
		y := float32(r.NormFloat64())
		if !like.values() {
			y = float32(r.IntN(max(2, p.k)))
		}
		s.y = append(s.y, y)
	}
	for j, f := range s.freq {
		s.freq[j] = max(f, 1/float32(n))
	}
	for range p.d * p.k {
		s.w = append(s.w, .2*float32(r.NormFloat64()))
	}
	for range p.k {
		if !p.nobias {
			s.w = append(s.w, float32(r.NormFloat64()))
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

// row calls f for the entries of a row.
func (s *sparseSample) row(i int32, f func(j int, x float64)) {
	for n := s.ptr[i]; n < s.ptr[i+1]; n++ {
		f(int(s.idx[n]), float64(s.val[n]))
	}
}

func (s *sparseSample) outputs(w []float64, i int32) []float64 {
	z := make([]float64, s.k)
	s.row(i, func(j int, x float64) {
		for c := range z {
			z[c] += x * w[j*s.k+c]
		}
	})
	for c := range z {
		if !s.nobias {
			z[c] += w[s.d*s.k+c]
		}
	}
	return z
}

// gradient adds the row's to g, times by; the bias's times biases.
func (s *sparseSample) gradient(g []float64, i int32, d []float64, by, biases float64) {
	s.row(i, func(j int, x float64) {
		for c, v := range d {
			g[j*s.k+c] += by * v * x
		}
	})
	for c, v := range d {
		if !s.nobias {
			g[s.d*s.k+c] += biases * v
		}
	}
}

// decay calls f for the weights of a row's columns: softThreshold and decay are such.
func (s *sparseSample) decay(w []float64, i int32, f func(v, often float64) float64, rows int) {
	s.row(i, func(j int, _ float64) {
		for c := range s.k {
			w[j*s.k+c] = f(w[j*s.k+c], 1/(float64(s.freq[j])*float64(rows)))
		}
	})
}

// sparseState is what the steps change.
type sparseState struct{ w, first, second, out, loss []float64 }

// reference takes the steps one after the other.
func (s *sparseSample) reference() sparseState {
	n := len(s.w)
	t := sparseState{w: widen(s.w), first: make([]float64, n), second: make([]float64, n), out: make([]float64, n)}
	for i, lr := range s.lr {
		rows := s.rows[s.start[i]:s.start[i+1]]
		var deltas [][]float64
		sum := 0.0
		for _, r := range rows {
			loss, d := s.losses(s.outputs(t.w, r), s.y[r])
			deltas, sum = append(deltas, d), sum+loss
		}
		t.loss = append(t.loss, sum)
		if s.whole() {
			s.stepWhole(&t, rows, deltas, float64(lr), i)
		} else {
			s.step(&t, rows, deltas, float64(lr))
		}
	}
	return t
}

// step is plain SGD, between the regularizers of the rows' columns.
func (s *sparseSample) step(t *sparseState, rows []int32, deltas [][]float64, lr float64) {
	b := float64(len(rows))
	for _, r := range rows {
		s.decay(t.w, r, func(v, often float64) float64 { return v - min(1, lr*s.l2*often)*v }, len(rows))
	}
	for i, r := range rows {
		s.gradient(t.w, r, deltas[i], -lr/b, -lr/b*s.biasStep)
	}
	for _, r := range rows {
		s.decay(t.w, r, func(v, often float64) float64 { return v - max(-lr*s.l1*often, min(lr*s.l1*often, v)) },
			len(rows))
	}
}

// stepWhole is a step of the optimizers that keep state, as hogwild/cpu/optimizer.go has them.
func (s *sparseSample) stepWhole(t *sparseState, rows []int32, deltas [][]float64, lr float64, i int) {
	g := make([]float64, len(t.w))
	for i, r := range rows {
		s.gradient(g, r, deltas[i], 1/float64(len(rows)), 1/float64(len(rows)))
	}
	const b1, b2, eps = .9, .999, 1e-8
	for j, v := range g {
		if j < s.d*s.k {
			v += s.l2 * t.w[j]
		}
		if s.keep {
			t.out[j] += v
			continue
		}
		switch s.optimizer {
		case "momentum":
			t.first[j] = .9*t.first[j] + v
			v = t.first[j]
		case "adagrad":
			t.first[j] += v * v
			v /= math.Sqrt(t.first[j]) + eps
		case "adam":
			t.first[j] = b1*t.first[j] + (1-b1)*v
			t.second[j] = b2*t.second[j] + (1-b2)*v*v
			v = t.first[j] / (1 - math.Pow(b1, float64(i+1))) / (math.Sqrt(t.second[j]/(1-math.Pow(b2, float64(i+1)))) +
				eps)
		}
		t.w[j] -= lr * v
	}
	for _, r := range rows {
		if !s.keep {
			s.decay(t.w, r, func(v, often float64) float64 { return v - max(-lr*s.l1*often, min(lr*s.l1*often, v)) },
				len(rows))
		}
	}
}
