package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/data"
)

// pairBatch returns b entries of a matrix of 5 x 7, some of them twice.
func pairBatch(r *rand.Rand, b int) *data.Batch {
	batch := &data.Batch{Features: 12}
	for range b {
		batch.Rows = append(batch.Rows, data.Row{Idx: []uint32{r.Uint32N(5), 5 + r.Uint32N(7)}, Val: []float32{1, 1}})
		batch.Y = append(batch.Y, float32(r.NormFloat64()))
	}
	return batch
}

func newFactor(t *testing.T, name string, biases bool, l2 float32) (Model, []float32) {
	t.Helper()
	meta := data.Meta{Name: "matrix", Kind: data.Pairs, Shape: []int{5, 7}, Features: 12,
		Targets: data.Spread{Mean: 0.5, Deviation: 1}}
	m, err := New(Options{Name: name, Bias: true, Biases: biases, L2: l2}, meta)
	if err != nil {
		t.Fatal(err)
	}
	return m, make([]float32, Size(m.Params()))
}

// factorLoss returns the summed loss in float64, on the tensors as files have them, and
// what l2 adds to it.
func factorLoss(tensors [][]float64, k int, biases bool, b *data.Batch, l2 float64) (loss, penalty float64) {
	for i, x := range b.Rows {
		u, v := int(x.Idx[0]), int(x.Idx[1])-5
		p, q := tensors[0][u*k:(u+1)*k], tensors[1][v*k:(v+1)*k]
		z := tensors[len(tensors)-1][0]
		if biases {
			z += tensors[2][u] + tensors[3][v]
		}
		for c := range p {
			z += p[c] * q[c]
			penalty += l2 / 2 * (p[c]*p[c] + q[c]*q[c])
		}
		loss += math.Pow(z-float64(b.Y[i]), 2)
	}
	return loss, penalty
}

// TestFactorDifferences holds loss and gradient against central differences, at odd
// ranks, at batch 1 and with entries of a batch that share factors. The mean is no
// weight to be learnt: it has no gradient.
func TestFactorDifferences(t *testing.T) {
	const h = 1e-6
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{1, 3, 10, 17} {
		for _, biases := range []bool{false, true} {
			for _, l2 := range []float64{0, 0.3} {
				m, w := newFactor(t, fmt.Sprintf("factor:%d", k), biases, float32(l2))
				var g Gradient
				for _, b := range []int{7, 1, 30} {
					for i := range w {
						w[i] = 2*r.Float32() - 1
					}
					batch := pairBatch(r, b)
					tensors := widen(Export(m.Params(), w))
					want, _ := factorLoss(tensors, k, biases, batch, l2)
					if got := m.Grad(w, batch, &g); !agree(got, want) {
						t.Errorf("rank %d, batch %d: loss %v, want %v", k, b, got, want)
					}
					s := m.Eval(w, batch)
					if s.N != b || !agree(s.Loss, want) || s.SqErr != s.Loss || s.Y2 == 0 {
						t.Errorf("rank %d, batch %d: score %+v, want a loss of %v", k, b, s, want)
					}
					gradient := Export(m.Params(), materialise(&g, len(w)))
					for n := range tensors {
						for i, v := range tensors[n] {
							sum := func(at float64) float64 {
								tensors[n][i] = at
								a, b := factorLoss(tensors, k, biases, batch, l2)
								return a + b
							}
							d := (sum(v+h) - sum(v-h)) / (2 * h * float64(b))
							tensors[n][i] = v
							if n == len(tensors)-1 {
								d = 0
							}
							if got := float64(gradient[n][i]); !agree(got, d) {
								t.Fatalf("rank %d, batch %d, l2 %v: d loss / d %s[%d] is %v, want %v", k, b, l2,
									m.Params()[n].Name, i, got, d)
							}
						}
					}
				}
			}
		}
	}
}

// TestFactorSteps: Steps does what Grad on each entry alone and w -= lr g do.
func TestFactorSteps(t *testing.T) {
	for _, biases := range []bool{false, true} {
		m, w := newFactor(t, "factor:10", biases, 0.1)
		m.Init(w, 1)
		var g Gradient
		sameSteps(t, m, w, pairBatch(rand.New(rand.NewPCG(3, 3)), 200), func(w []float32, lr float32) {
			for _, p := range g.Parts {
				for i, v := range p.G {
					w[p.Offset+i] -= lr * v
				}
			}
		}, &g)
	}
}

// sameSteps holds Steps against Grad and apply, which takes the step of g.
func sameSteps(t *testing.T, m Model, w []float32, b *data.Batch, apply func(w []float32, lr float32), g *Gradient) {
	t.Helper()
	set := &data.Set{Meta: data.Meta{Kind: data.Pairs, Rows: len(b.Y)}, Y: b.Y}
	rows, slow, want := make([]int32, len(b.Y)), append([]float32(nil), w...), 0.0
	for i, x := range b.Rows {
		set.Idx = append(set.Idx, x.Idx...)
		rows[i] = int32(len(rows) - 1 - i)
	}
	const lr = 0.05
	for _, i := range rows {
		want += m.Grad(slow, &data.Batch{Rows: b.Rows[i : i+1], Y: b.Y[i : i+1], Features: b.Features}, g)
		apply(slow, lr)
	}
	s := m.(HalfStepper)
	if steps, copied := s.Suits(set); !steps || copied {
		t.Errorf("Suits: %v, %v, want it to, on the weights of all", steps, copied)
	}
	if got := s.Steps(w, set, rows, Step{LR: lr}); math.Abs(got-want) > 1e-4*(1+want) {
		t.Errorf("loss %v, want %v", got, want)
	}
	for i, v := range slow {
		if math.Abs(float64(w[i]-v)) > 1e-5*(1+math.Abs(float64(v))) {
			t.Fatalf("weight %d is %v, want %v", i, w[i], v)
		}
	}
}

// TestPairsNoAllocation: once warm, neither Grad nor Eval nor Steps asks for memory.
func TestPairsNoAllocation(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	m, w := newFactor(t, "factor:9", true, 0.1)
	c, x := newCut(t, 3, 12)
	m.Init(w, 1)
	c.Init(x, 1)
	entries, edges := pairBatch(r, 40), randomEdges(r, 12, 40)
	set := &data.Set{Meta: data.Meta{Kind: data.Pairs, Rows: 1}, Idx: []uint32{1, 6}, Y: []float32{1}}
	rows := []int32{0}
	var g Gradient
	if n := testing.AllocsPerRun(50, func() {
		m.Grad(w, entries, &g)
		m.Eval(w, entries)
		m.(HalfStepper).Steps(w, set, rows, Step{LR: 0.01})
		c.Grad(x, edges, &g)
		c.Eval(x, edges)
		c.(HalfStepper).Steps(x, set, rows, Step{LR: 0.01})
	}); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// TestFactorErrors: what is no matrix, no rank or no squared loss is refused.
func TestFactorErrors(t *testing.T) {
	matrix := data.Meta{Name: "m", Kind: data.Pairs, Shape: []int{2, 2}, Features: 4}
	for _, c := range []struct {
		o Options
		m data.Meta
	}{
		{Options{Name: "factor"}, matrix}, {Options{Name: "factor:0"}, matrix}, {Options{Name: "factor:x"}, matrix},
		{Options{Name: "factor:5000"}, matrix}, {Options{Name: "factor:5", Loss: "l1"}, matrix},
		{Options{Name: "factor:5"}, data.Meta{Name: "m", Kind: data.Sparse, Features: 4}},
		{Options{Name: "factor:5"}, data.Meta{Name: "m", Kind: data.Pairs, Features: 4}},
		{Options{Name: "cut"}, matrix}, {Options{Name: "cut:1"}, matrix},
		{Options{Name: "cut", Loss: "squared"}, matrix},
		{Options{Name: "cut:4"}, data.Meta{Name: "m", Kind: data.Pairs, Features: 4}},
	} {
		if _, err := New(c.o, c.m); err == nil {
			t.Errorf("%+v on %s %v: no error", c.o, c.m.Kind, c.m.Shape)
		}
	}
	if s, err := Resolve(Options{}, matrix); err != nil || s.Name != "factor:32" {
		t.Errorf("no name on a matrix: %q, %v, want factor:32", s.Name, err)
	}
}

// TestFactorAnyRate: no rate diverges, whatever the size of the values, with biases and without.
func TestFactorAnyRate(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, biases := range []bool{false, true} {
		for _, size := range []float64{0.01, 1, 1000} {
			set := &data.Set{Meta: data.Meta{Name: "matrix", Kind: data.Pairs, Shape: []int{30, 40}, Features: 70,
				Rows: 900, Targets: data.Spread{Deviation: float32(size)}}}
			var rows []int32
			for i := range 900 {
				u, v := r.Uint32N(30), 30+r.Uint32N(40)
				set.Idx = append(set.Idx, u, v)
				set.Y = append(set.Y, float32(size*math.Sin(float64(u))*math.Cos(float64(v))))
				rows = append(rows, int32(i))
			}
			for _, lr := range []float64{0.1, 1, 10, 1e4} {
				m, err := New(Options{Name: "factor:20", Biases: biases}, set.Meta)
				if err != nil {
					t.Fatal(err)
				}
				w, loss := make([]float32, Size(m.Params())), 0.0
				m.Init(w, 1)
				for range 30 {
					loss = m.(HalfStepper).Steps(w, set, rows, Step{LR: float32(lr / size)}) / 900
				}
				most := 100.0
				if lr < 1 && !biases { // of biases this is a large rate, where values are small
					most = 0.1
				}
				if loss /= size * size; !(loss < most) {
					t.Errorf("biases %v, values of size %g, lr %g/%g: loss %g of theirs, want at most %g", biases,
						size, lr, size, loss, most)
				}
			}
		}
	}
}

// TestFactorScores: the scores of all items are what Predict says of each pair, whatever users are asked with a user.
func TestFactorScores(t *testing.T) {
	for _, biased := range []bool{false, true} {
		for _, k := range []int{1, 7, 32} {
			rows, columns := 9, 21
			m := Factor.build(Spec{Widths: []int{k}, Shape: []int{rows, columns}, Mean: 3, Deviation: 1,
				Options: Options{Biases: biased}}).(*factor)
			w := make([]float32, Size(m.Params()))
			newSource(5).uniform(w, 1)
			for _, users := range [][]uint32{{4}, {8, 0, 4, 4, 1}} {
				var queries []Query
				for _, u := range users {
					queries = append(queries, Query{Node: u})
				}
				got := make([]float32, len(users)*columns)
				for i := range got {
					got[i] = float32(math.NaN()) // is overwritten
				}
				m.Scores(w, queries, got)
				for i, u := range users {
					for c := range columns {
						want := float64(w[len(w)-1])
						for j := range k {
							want += float64(w[int(u)*k+j]) * float64(w[(rows+c)*k+j])
						}
						if biased {
							biases := w[(rows+columns)*k:]
							want += float64(biases[u]) + float64(biases[rows+c])
						}
						if v := float64(got[i*columns+c]); !(math.Abs(v-want) < 1e-5) {
							t.Errorf("biased %v, k %d: user %d, item %d: %g, want %g", biased, k, u, c, v, want)
						}
					}
				}
			}
		}
	}
}
