package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// exactWords is the definition of steps on words in float64.
type exactWords struct {
	k       int
	in, out []float64
}

func (w *exactWords) row(t []float64, j uint32) []float64 { return t[int(j)*w.k:][:w.k] }

func dot64(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// coef is the coefficient of a step, and the loss.
func coef64(x float64, label int, lr float64) (g, loss float64) {
	z := float64(2*label-1) * x // label - sigmoid(x) is sigmoid(-z), with the sign of the label
	loss = math.Log1p(math.Exp(-z))
	if z < -700 {
		loss = -z
	}
	return float64(2*label-1) / (1 + math.Exp(z)) * lr, loss
}

// step moves the rows of out by h, and returns by what h is to be moved.
func (w *exactWords) step(h []float64, targets []uint32, lr float64) (e []float64, loss float64) {
	e = make([]float64, w.k)
	for i, t := range targets {
		if t == NoTarget {
			continue
		}
		out := w.row(w.out, t)
		g, l := coef64(dot64(h, out), max(0, 1-i), lr)
		loss += l
		for c := range h {
			e[c], out[c] = e[c]+g*out[c], out[c]+g*h[c]
		}
	}
	return e, loss
}

func (w *exactWords) window(inputs, targets []uint32, lr float64) (loss float64) {
	n := len(targets) / len(inputs)
	for i, in := range inputs {
		h := w.row(w.in, in)
		e, l := w.step(h, targets[i*n:(i+1)*n], lr)
		loss += l
		for c := range h {
			h[c] += e[c]
		}
	}
	return loss
}

func (w *exactWords) bag(inputs, targets []uint32, lr float64) (loss float64) {
	h := make([]float64, w.k)
	for _, in := range inputs {
		for c, v := range w.row(w.in, in) {
			h[c] += v / float64(len(inputs))
		}
	}
	e, loss := w.step(h, targets, lr)
	for _, in := range inputs {
		for c := range e {
			w.row(w.in, in)[c] += e[c]
		}
	}
	return loss
}

func (w *exactWords) block(inputs, targets []uint32, lr float64) (loss float64) {
	was := exactWords{w.k, slices.Clone(w.in), slices.Clone(w.out)}
	for _, in := range inputs {
		for j, t := range targets {
			if t == NoTarget {
				continue
			}
			h, out := was.row(was.in, in), was.row(was.out, t)
			g, l := coef64(dot64(h, out), max(0, 1-j), lr)
			loss += l
			for c := range h {
				w.row(w.in, in)[c] += g * out[c]
				w.row(w.out, t)[c] += g * h[c]
			}
		}
	}
	return loss
}

// someWords are tables of few rows, so that rows repeat, the same in float64, and 16 numbers behind each table.
func someWords(r *rand.Rand, k int) (*Words, *exactWords) {
	const ins, outs = 11, 23
	w := &Words{K: k, In: make([]float32, ins*k+16), Out: make([]float32, outs*k+16)}
	for _, t := range [][]float32{w.In, w.Out} {
		for i := range t {
			t[i] = (2*r.Float32() - 1) * 1.5 / float32(math.Sqrt(float64(k)))
		}
	}
	w.In, w.Out = w.In[:ins*k], w.Out[:outs*k]
	return w, &exactWords{k, wide64(w.In), wide64(w.Out)}
}

func wide64(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// drawn returns n row numbers of a table of rows; with none, some are NoTarget.
func drawn(r *rand.Rand, n, rows int, none bool) []uint32 {
	idx := make([]uint32, n)
	for i := range idx {
		if idx[i] = r.Uint32N(uint32(rows)); none && i > 0 && r.IntN(8) == 0 {
			idx[i] = NoTarget
		}
	}
	return idx
}

// wordSteps are the ways to take a step, and the definitions.
var wordSteps = []struct {
	name string
	each bool // a group for each input
	step func(w *Words, inputs, targets []uint32, lr float32) float64
	want func(w *exactWords, inputs, targets []uint32, lr float64) float64
}{
	{"Window", true, (*Words).Window, (*exactWords).window},
	{"Pair", true, func(w *Words, inputs, targets []uint32, lr float32) (loss float64) {
		for i, in := range inputs {
			loss += w.Pair(in, group(targets, i, len(inputs)), lr)
		}
		return loss
	}, (*exactWords).window},
	{"Bag", false, (*Words).Bag, (*exactWords).bag},
	{"Block", false, (*Words).Block, (*exactWords).block},
}

// TestWords: a thousand random steps end where the definition does in float64, and touch nothing behind the tables.
func TestWords(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, s := range wordSteps {
			for _, k := range []int{1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 100, 127, 300, 1024} {
				r := rand.New(rand.NewPCG(uint64(k), 5))
				w, want := someWords(r, k)
				var behind [][]float32
				for _, table := range [][]float32{w.In, w.Out} {
					behind = append(behind, slices.Clone(table[len(table):cap(table)]))
				}
				steps := 1000
				if testing.Short() {
					steps = 200
				}
				var loss, wantLoss float64
				for range steps {
					inputs, n := drawn(r, 1+r.IntN(10), 11, false), 1+r.IntN(8)
					if r.IntN(10) == 0 {
						n = 20
					}
					if s.each {
						n *= len(inputs)
					}
					targets := drawn(r, n, 23, true)
					w.Fetch(inputs, append(targets, 1<<31)) // no such row: nothing comes of it
					a := s.step(w, inputs, targets, 0.025)
					b := s.want(want, inputs, targets, 0.025)
					if math.Abs(a-b) > 1e-4*(1+b) {
						t.Fatalf("%s, K %d: loss %g, want %g, of %v and %v", s.name, k, a, b, inputs, targets)
					}
					loss, wantLoss = loss+a, wantLoss+b
				}
				if math.Abs(loss-wantLoss) > 1e-5*wantLoss {
					t.Errorf("%s, K %d: loss %g, want %g", s.name, k, loss, wantLoss)
				}
				for i, table := range [][]float32{w.In, w.Out} {
					exact := [][]float64{want.in, want.out}[i]
					for c, v := range table {
						if math.Abs(float64(v)-exact[c]) > 1e-5 {
							t.Fatalf("%s, K %d, table %d: number %d is %g, want %g", s.name, k, i, c, v, exact[c])
						}
					}
					if now := table[len(table):cap(table)]; !slices.Equal(now, behind[i]) {
						t.Errorf("%s, K %d: what lies behind table %d is %v, was %v", s.name, k, i, now, behind[i])
					}
				}
			}
		}
	})
}

// TestWordsExtremes: coefficients and losses of any product, up to 1,000, have few errors of their own.
func TestWordsExtremes(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, x := range []float64{0, 1e-3, -0.3, 0.5, -1, 3, -7, 12, -17, 30, -60, 86, -88, 100, -1000, 1000} {
			for label := range 2 {
				w := &Words{K: 1, In: []float32{float32(x)}, Out: []float32{1, 0}}
				targets := []uint32{NoTarget, NoTarget, 0}
				targets[2*(1-label)] = 0
				if label == 1 {
					targets = targets[:2]
				}
				g, want := coef64(float64(float32(x)), label, 1)
				if loss := w.Loss([]uint32{0}, targets, len(targets), false); math.Abs(loss-want) > 1e-5*(1+want) {
					t.Errorf("x %g, label %d: loss %g, want %g", x, label, loss, want)
				}
				if !slices.Equal(w.In, []float32{float32(x)}) || w.Out[0] != 1 {
					t.Errorf("Loss has written: %v, %v", w.In, w.Out)
				}
				w.Window([]uint32{0}, targets, 1)
				got, rounding := float64(w.In[0])-float64(float32(x)), 1e-7*math.Abs(x)+1e-37
				if math.Abs(got-g) > 1e-6*math.Abs(g)+rounding {
					t.Errorf("x %g, label %d: step %g, want %g", x, label, got, g)
				}
				// Moved from zero, a target shows the coefficient as it is.
				w = &Words{K: 2, In: []float32{float32(x), 1}, Out: []float32{1, 0}}
				w.Window([]uint32{0}, targets, 1)
				if got = float64(w.Out[1]); math.Abs(got-g) > 1e-6*math.Abs(g)+1e-37 {
					t.Errorf("x %g, label %d: coefficient %g, want %g", x, label, got, g)
				}
			}
		}
	})
}

// TestWordsOutside: a row outside its table panics before anything is written.
func TestWordsOutside(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		panics := func(f func()) (yes bool) {
			defer func() { yes = recover() != nil }()
			f()
			return
		}
		for _, s := range wordSteps {
			for _, bad := range []uint32{23, 1 << 31, NoTarget - 1} {
				for at := range 3 {
					w, _ := someWords(rand.New(rand.NewPCG(1, 1)), 20)
					if !panics(func() {
						targets := []uint32{1, 2, 3}
						targets[at] = bad
						s.step(w, []uint32{1}, targets, 0.1)
					}) {
						t.Errorf("%s: target %d of 23 at %d: no panic", s.name, bad, at)
					}
				}
				w, _ := someWords(rand.New(rand.NewPCG(1, 1)), 20)
				if !panics(func() { s.step(w, []uint32{bad}, []uint32{1, 2, 3}, 0.1) }) {
					t.Errorf("%s: input %d of 11: no panic", s.name, bad)
				}
			}
		}
	})
}

// TestWordsNaN: a row that is not a number leaves no trace in later steps on others.
func TestWordsNaN(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, s := range wordSteps {
			for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
				w, want := someWords(rand.New(rand.NewPCG(7, 7)), 20)
				for c := range 20 {
					w.In[c], w.Out[c] = bad, bad
				}
				s.step(w, []uint32{0}, []uint32{0, 1, 2, NoTarget, 0, 1}, 0.1)
				s.step(w, []uint32{5}, []uint32{7, 8, 9, NoTarget}, 0.1)
				s.want(want, []uint32{5}, []uint32{7, 8, 9, NoTarget}, 0.1)
				for c := range 20 {
					if got, want := float64(w.In[5*20+c]), want.in[5*20+c]; !(math.Abs(got-want) <= 1e-6) {
						t.Fatalf("%s after %g: number %d is %g, want %g", s.name, bad, c, got, want)
					}
				}
			}
		}
	})
}

func TestLogOf(t *testing.T) {
	for p := 1.0; p < 1e300; p *= 1.0371 {
		if got, want := logOf(p), math.Log(p); math.Abs(got-want) > 1e-7 {
			t.Errorf("log %g is %g, want %g", p, got, want)
		}
	}
	if v := logOf(math.NaN()); !math.IsNaN(v) {
		t.Errorf("log NaN is %g", v)
	}
}

// TestRows: rows are gathered and scattered as one by one; those that repeat add up.
func TestRows(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for _, k := range []int{1, 3, 4, 15, 16, 20, 50, 100, 130} {
			for _, n := range []int{0, 1, 3, 4, 5, 9, 100} {
				r := rand.New(rand.NewPCG(uint64(k), uint64(n)))
				all := make([]float32, 12*k+16)
				for i := range all {
					all[i] = r.Float32() - 0.5
				}
				w, idx, h := all[:12*k], drawn(r, n, 12, false), make([]float32, k+16)
				want, moved := make([]float64, k+16), wide64(all)
				GatherRows(w, k, idx, 0.25, h)
				e := append(make([]float32, 0, k+16), h[:k]...)
				for i := range e {
					e[i] = r.Float32() - 0.5
				}
				for _, j := range idx {
					for c := range k {
						want[c] += 0.25 * float64(w[int(j)*k+c])
						moved[int(j)*k+c] += 0.3 * float64(e[c])
					}
				}
				ScatterRows(w, k, idx, 0.3, e)
				near := func(what string, got []float32, want []float64) {
					for c, v := range got {
						if math.Abs(float64(v)-want[c]) > 1e-5 {
							t.Fatalf("%s of %d rows of %d: number %d is %g, want %g", what, n, k, c, v, want[c])
						}
					}
				}
				near("GatherRows", h, want)
				near("ScatterRows", all, moved)
			}
		}
	})
}
