package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
)

// corpus returns the set of a text of random words, some of them frequent.
func corpus(t *testing.T, lines int, o text.Options) *data.Set {
	t.Helper()
	r, all := rand.New(rand.NewPCG(3, 4)), &strings.Builder{}
	for range lines {
		for range 1 + r.IntN(30) {
			fmt.Fprintf(all, "w%d ", int(60*math.Pow(r.Float64(), 3)))
		}
		all.WriteString("\n")
	}
	path := filepath.Join(t.TempDir(), "corpus.txt")
	if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	o.Kind, o.MinCount, o.Sample, o.NoiseExponent = text.Words, 2, 1e-2, 0.75
	train, test, err := data.Load(data.Options{Path: path, Unjudged: true, Test: path, Task: text.Words, Text: &o,
		Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { train.Close(); test.Close() })
	return train
}

// ways are the ways in which a window is trained.
var ways = []struct {
	name         string
	cbow, shared bool
}{{"skip-gram", false, false}, {"cbow", true, false}, {"shared", false, true}}

// wordModel returns a model of k numbers a word, and its first weights, as large as they become.
func wordModel(t *testing.T, set *data.Set, k int, cbow bool) (*word2vec, []float32) {
	t.Helper()
	m, err := New(Options{Name: fmt.Sprintf("word2vec:%d", k), Bias: true, CBOW: cbow}, set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	w, r := make([]float32, Size(m.Params())), rand.New(rand.NewPCG(6, 7))
	for i := range w {
		w[i] = r.Float32() - 0.5
	}
	return m.(*word2vec), w
}

// wordTables is word2vec in float64, straight from its definition: in and out, V x k each.
type wordTables struct {
	k       int
	in, out []float64
}

func logSigmoid(x float64) float64 { return -math.Log1p(math.Exp(-x)) }

// predict takes a step of the targets by h, and returns what h is to be moved by, and the loss. It changes neither if
// the rate is 0.
func (r *wordTables) predict(h []float64, targets []uint32, out []float64, lr float64) (e []float64, loss float64) {
	e = make([]float64, r.k)
	for i, t := range targets {
		if t == data.NoTarget {
			continue
		}
		o, x, y := out[int(t)*r.k:][:r.k], 0.0, 0.0
		for c := range o {
			x += h[c] * o[c]
		}
		if i == 0 {
			y = 1
			loss -= logSigmoid(x)
		} else {
			loss -= logSigmoid(-x)
		}
		g := (y - 1/(1+math.Exp(-x))) * lr
		for c := range o {
			e[c] += g * o[c]
			r.out[int(t)*r.k+c] += g * h[c]
		}
	}
	return e, loss
}

// step takes the step of a window.
func (r *wordTables) step(x data.Window, cbow, shared bool, lr float64) (loss float64) {
	if len(x.Inputs) == 0 {
		return 0
	}
	row := func(j uint32) []float64 { return r.in[int(j)*r.k:][:r.k] }
	add := func(j uint32, e []float64) {
		for c := range e {
			row(j)[c] += e[c]
		}
	}
	if cbow {
		h := make([]float64, r.k)
		for _, j := range x.Inputs {
			for c, v := range row(j) {
				h[c] += v / float64(len(x.Inputs))
			}
		}
		e, loss := r.predict(h, x.Targets, r.out, lr)
		for _, j := range x.Inputs {
			add(j, e)
		}
		return loss
	}
	group, in, out := len(x.Targets)/len(x.Inputs), slices.Clone(r.in), slices.Clone(r.out)
	for i, j := range x.Inputs {
		h, targets, from := row(j), x.Targets, out
		if shared {
			h = in[int(j)*r.k:][:r.k]
		} else {
			targets, from = x.Targets[i*group:(i+1)*group], r.out
		}
		e, l := r.predict(h, targets, from, lr)
		add(j, e)
		loss += l
	}
	return loss
}

func wide(w []float32) []float64 {
	v := make([]float64, len(w))
	for i, x := range w {
		v[i] = float64(x)
	}
	return v
}

// TestWord2vecSteps holds a thousand steps against the definition in float64.
func TestWord2vecSteps(t *testing.T) {
	for _, way := range ways {
		for _, k := range []int{1, 7, 50, 100} {
			set := corpus(t, 200, text.Options{Window: 4, Negatives: 3, OneGroup: way.cbow || way.shared})
			m, w := wordModel(t, set, k, way.cbow)
			n := len(w) / 2
			ref, draws := &wordTables{k, wide(w[:n]), wide(w[n:])}, data.NewWindows(set)
			const lr = 0.05
			got, want, steps := 0.0, 0.0, min(1000, set.Rows)
			rows := make([]int32, 0, steps)
			for i := range steps {
				rows = append(rows, int32(i))
				want += ref.step(draws.At(int32(i), 3), way.cbow, way.shared, lr)
			}
			for from := 0; from < steps; from += 64 {
				got += m.Steps(w, set, rows[from:min(from+64, steps)], Step{LR: lr, Epoch: 3})
			}
			worst := 0.0
			for i, v := range append(ref.in, ref.out...) {
				worst = max(worst, math.Abs(v-float64(w[i]))/max(1, math.Abs(v)))
			}
			if worst > 1e-5 || math.Abs(got-want) > 1e-5*want {
				t.Errorf("%s, %d numbers a word: after %d steps weights differ by %.2g, losses are %v and %v",
					way.name, k, steps, worst, got, want)
			}
		}
	}
}

// TestWord2vecGradient holds Grad and Eval against central differences of the loss in float64. Of CBOW the gradient of
// an input is the mean's, whole.
func TestWord2vecGradient(t *testing.T) {
	const h = 1e-6
	for _, way := range ways {
		set := corpus(t, 40, text.Options{Window: 3, Negatives: 2, OneGroup: way.cbow || way.shared})
		m, w := wordModel(t, set, 5, way.cbow)
		reader := set.NewReader()
		reader.Epoch = 2
		batch := reader.Batch([]int32{3, 50, 51, 52, 90})
		var g Gradient
		m.Grad(w, batch, &g)
		got, n := materialise(&g, len(w)), len(w)/2
		loss := func(at int, by float64) (sum float64) {
			v := wide(w)
			v[at] += by
			ref := &wordTables{5, v[:n], v[n:]}
			for _, x := range batch.Windows {
				sum += ref.step(x, way.cbow, way.shared, 0)
			}
			return sum / float64(len(batch.Windows))
		}
		if s := m.Eval(w, batch); !agree(s.Loss/float64(s.N), loss(0, 0)) {
			t.Errorf("%s: loss %v, want %v", way.name, s.Loss, loss(0, 0)*float64(s.N))
		}
		for i := range w {
			if way.cbow && i < n {
				continue
			}
			if want := (loss(i, h) - loss(i, -h)) / (2 * h); math.Abs(float64(got[i])-want) > 1e-4 {
				t.Fatalf("%s: the gradient of weight %d is %v, want %v", way.name, i, got[i], want)
			}
		}
	}
}

// TestTextGradient holds the classifier's gradient, loss and step against central differences of the loss in float64.
func TestTextGradient(t *testing.T) {
	const h, k, features, labels = 1e-6, 6, 9, 3
	set := &data.Set{Meta: data.Meta{Name: "lines", Kind: data.Sparse, Features: features, Rows: 2,
		Classes: []string{"a", "b", "c"}, Text: &text.Options{Kind: text.Labels}},
		Ptr: []int64{0, 4, 6}, Idx: []uint32{1, 5, 5, 8, 0, 1}, Val: []float32{.25, .25, .25, .25, .5, .5},
		Y: []float32{2, 0}}
	for _, loss := range []string{"cross-entropy", "logistic"} {
		model, err := New(Options{Name: "text:6", Loss: loss, Bias: true}, set.Meta)
		if err != nil {
			t.Fatal(err)
		}
		m, r := model.(*textModel), rand.New(rand.NewPCG(8, 9))
		w := make([]float32, Size(m.Params()))
		for i := range w {
			w[i] = r.Float32() - 0.5
		}
		one := func(w []float64, row int) (sum float64) {
			from, to := set.Ptr[row], set.Ptr[row+1]
			z := make([]float64, labels)
			for _, j := range set.Idx[from:to] {
				for c := range k {
					for l := range z {
						z[l] += w[int(j)*k+c] * w[(features+l)*k+c] / float64(to-from)
					}
				}
			}
			y, total := int(set.Y[row]), 0.0
			for l, v := range z {
				total += math.Exp(v)
				if loss == "logistic" && l == y {
					sum -= logSigmoid(v)
				} else if loss == "logistic" {
					sum -= logSigmoid(-v)
				}
			}
			if loss == "cross-entropy" {
				sum = math.Log(total) - z[y]
			}
			return sum
		}
		batch := set.NewReader().Batch([]int32{0, 1})
		var g Gradient
		want := one(wide(w), 0) + one(wide(w), 1)
		if got := m.Grad(w, batch, &g); !agree(got, want) || !agree(m.Eval(w, batch).Loss, want) {
			t.Errorf("%s: loss %v, want %v", loss, got, want)
		}
		got, stepped := materialise(&g, len(w)), slices.Clone(w)
		m.Steps(stepped, set, []int32{0}, Step{LR: 0.5})
		for i := range w {
			up, down := wide(w), wide(w)
			up[i] += h
			down[i] -= h
			slope := func(row int) float64 { return (one(up, row) - one(down, row)) / (2 * h) }
			if mean := (slope(0) + slope(1)) / 2; math.Abs(float64(got[i])-mean) > 1e-4 {
				t.Fatalf("%s: the gradient of weight %d is %v, want %v", loss, i, got[i], mean)
			}
			if v := float64(w[i]) - 0.5*slope(0); math.Abs(float64(stepped[i])-v) > 1e-4 {
				t.Fatalf("%s: a step leaves weight %d at %v, want %v", loss, i, stepped[i], v)
			}
		}
	}
}
