package model

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data"
)

// graphOf returns a set of n random facts of 9 entities and 3 relations.
func graphOf(t *testing.T, n int) *data.Set {
	t.Helper()
	r, all := rand.New(rand.NewPCG(1, 2)), &strings.Builder{}
	for i := range n {
		fmt.Fprintf(all, "e%d\tr%d\te%d\n", i%9, i%3, r.IntN(9))
	}
	path := filepath.Join(t.TempDir(), "graph.tsv")
	if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	train, test, err := data.Load(data.Options{Path: path, Test: path, Unjudged: true, Task: "facts", Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { train.Close(); test.Close() })
	return train
}

// graphModel returns a model, and weights as large as they become.
func graphModel(t *testing.T, set *data.Set, o Options) (*kge, []float32) {
	t.Helper()
	m, err := New(o, set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	w, r := make([]float32, Size(m.Params())), rand.New(rand.NewPCG(6, 7))
	m.Init(w, 3)
	ps := m.Params()
	for i, from := range Offsets(ps) {
		for j := from; j < from+ps[i].Len() && strings.HasSuffix(ps[i].Name, ".weight"); j++ {
			w[j] = 2*r.Float32() - 1
		}
	}
	return m.(*kge), w
}

// factScore is the score of a fact from the papers' formulas, in float64 and complex numbers.
func factScore(score string, e, r, c []float64) (sum float64) {
	h := len(e) / 2
	at := func(v []float64, j int) complex128 { return complex(v[j], v[h+j]) }
	for j := range e {
		switch score {
		case "distmult":
			sum += e[j] * r[j] * c[j]
		case "transe":
			sum -= math.Abs(e[j] + r[j] - c[j])
		}
	}
	for j := range h {
		switch score {
		case "complex":
			sum += real(at(e, j) * at(r, j) * cmplx.Conj(at(c, j)))
		case "rotate":
			sum -= cmplx.Abs(at(e, j)*cmplx.Exp(complex(0, r[j])) - at(c, j))
		}
	}
	return sum
}

// graphReference is the loss of facts from its definition. The shares of the negatives are constants, from the
// first call.
type graphReference struct {
	*kge
	score      string
	candidates [2][]uint32
	shares     map[[2]int][]float64
}

func (g *graphReference) loss(w []float64) (sum float64) {
	row := func(node uint32) []float64 { r := g.t.place(node); return w[r.From:r.To] }
	for side, all := range g.candidates {
		for i, fact := range g.facts {
			known, relation, asked := g.t.of(fact, side)
			own := factScore(g.score, row(known), row(relation), row(asked))
			var negatives []float64
			for _, node := range all {
				if node != asked {
					negatives = append(negatives, factScore(g.score, row(known), row(relation), row(node)))
				}
			}
			if g.kge.loss == SampledSoftmax {
				total := math.Exp(own)
				for _, z := range negatives {
					total += math.Exp(z)
				}
				sum += math.Log(total) - own
			} else {
				margin := 0.
				if g.score == "transe" || g.score == "rotate" {
					margin = 9
				}
				if g.shares[[2]int{side, i}] == nil {
					total, shares := 0., []float64{}
					for _, z := range negatives {
						total += math.Exp(z)
					}
					for _, z := range negatives {
						shares = append(shares, math.Exp(z)/total)
					}
					g.shares[[2]int{side, i}] = shares
				}
				sum -= math.Log(1 / (1 + math.Exp(-margin-own)))
				for j, z := range negatives {
					sum -= g.shares[[2]int{side, i}][j] * math.Log(1/(1+math.Exp(margin+z)))
				}
			}
		}
	}
	return sum
}

// penalty is what the regularizers add.
func (g *graphReference) penalty(w []float64) (sum float64) {
	for side := range 2 {
		for _, fact := range g.facts {
			known, relation, asked := g.t.of(fact, side)
			for i, node := range []uint32{known, asked, relation} {
				r := g.t.place(node)
				row := w[r.From:r.To]
				if i == 2 && g.score == "rotate" {
					continue
				}
				for j, v := range row {
					sum += float64(g.l2) / 2 * v * v
					switch h := len(row) / 2; {
					case g.score != "complex" && g.score != "rotate":
						sum += float64(g.n3) / 3 * math.Pow(math.Abs(v), 3)
					case j < h:
						sum += float64(g.n3) / 3 * math.Pow(math.Hypot(v, row[h+j]), 3)
					}
				}
			}
		}
	}
	return sum
}

// TestKGEGradient compares the gradients of all scores under both losses with central differences of the definitions.
func TestKGEGradient(t *testing.T) {
	set := graphOf(t, 60)
	for _, score := range []string{"complex", "distmult", "transe", "rotate"} {
		for _, loss := range []string{"softmax", "self-adversarial"} {
			m, w := graphModel(t, set, Options{Name: "kge:" + score + ":6", Loss: loss, Negatives: 7, L2: 0.03,
				N3: 0.02, Seed: 11})
			b := set.NewReader().Batch([]int32{3, 1, 4, 15})
			var g Gradient
			got := m.Grad(w, b, &g)
			ref := &graphReference{kge: m, score: score, shares: map[[2]int][]float64{}}
			for side := range 2 {
				m.compare(w, m.key(0, 3), side)
				ref.candidates[side] = slices.Clone(m.drawn)
			}
			wide := make([]float64, len(w))
			for i, v := range w {
				wide[i] = float64(v)
			}
			want := ref.loss(wide)
			if math.Abs(got-want) > 1e-4*want {
				t.Errorf("%s, %s: loss %g, want %g", score, loss, got, want)
			}
			grad := materialise(&g, len(w))
			for i, v := range wide {
				const h = 1e-5
				wide[i] = v + h
				up := ref.loss(wide) + ref.penalty(wide)
				wide[i] = v - h
				down := ref.loss(wide) + ref.penalty(wide)
				wide[i] = v
				if want := (up - down) / (2 * h * 4); math.Abs(float64(grad[i])-want) > 2e-4 {
					t.Errorf("%s, %s: gradient of weight %d: %g, want %g", score, loss, i, grad[i], want)
					break
				}
			}
		}
	}
}

// TestKGESteps: a step of a chunk is one of SGD down the sum of its losses, and with sums one of AdaGrad by rows.
func TestKGESteps(t *testing.T) {
	set := graphOf(t, 60)
	rows := []int32{3, 1, 4, 15}
	for _, plain := range []bool{true, false} {
		m, w := graphModel(t, set, Options{Name: "kge:complex:6", Negatives: 7, AdaptiveRows: !plain, Seed: 11})
		var g Gradient
		m.Grad(w, set.NewReader().Batch(rows), &g)
		want := slices.Clone(w)
		for _, p := range g.Parts {
			scale, mean := 0.1, 0.
			for _, v := range p.G {
				mean += 16 * float64(v) * float64(v) / float64(len(p.G)) // the sum of four rows' losses
			}
			if !plain {
				node := p.Offset / 6
				if p.Offset >= m.t.common() {
					node = m.t.entities + (p.Offset-m.t.common())/6
				}
				*m.t.sum(want, uint32(node)) = float32(mean)
				scale /= math.Sqrt(mean)
			}
			for i, v := range p.G {
				want[p.Offset+i] -= float32(scale * 4 * float64(v))
			}
		}
		m.Steps(w, set, rows, Step{LR: 0.1})
		for i := range w {
			if math.Abs(float64(w[i]-want[i])) > 1e-5 {
				t.Fatalf("plain %v: weight %d is %g, want %g", plain, i, w[i], want[i])
			}
		}
	}
}

// TestKGEScores: all candidates are scored as the definitions say, for tails and heads.
func TestKGEScores(t *testing.T) {
	set := graphOf(t, 60)
	for _, score := range []string{"complex", "distmult", "transe", "rotate"} {
		m, w := graphModel(t, set, Options{Name: "kge:" + score + ":6"})
		wide := func(node uint32) (row []float64) {
			for _, v := range m.t.row(w, node) {
				row = append(row, float64(v))
			}
			return row
		}
		scores := make([]float32, 2*m.Candidates())
		m.Scores(w, []Query{{Node: 4, Relation: 2}, {Node: 8, Relation: 1, Head: true}}, scores)
		for c := range uint32(9) {
			for q, want := range []float64{factScore(score, wide(4), wide(9+4), wide(c)),
				factScore(score, wide(8), wide(9+3), wide(c))} {
				if got := scores[9*q+int(c)]; math.Abs(float64(got)-want) > 1e-5 {
					t.Errorf("%s: query %d, candidate %d: %g, want %g", score, q, c, got, want)
				}
			}
		}
	}
}

// TestKGENames: which names there are.
func TestKGENames(t *testing.T) {
	for name, want := range map[string]string{"kge": "kge:complex:128", "kge:rotate": "kge:rotate:128",
		"kge:transe:7": "kge:transe:7", "kge:complex:7": "even for complex", "kge:rescal:8": "want kge:SCORE:K",
		"kge:complex:0": "from 1 to", "kge:complex:8:8": "want kge:SCORE:K"} {
		s, err := Resolve(Options{Name: name}, data.Meta{Kind: data.Facts, Shape: []int{3, 2}, Features: 5})
		if s.Name != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v: want %s", name, s.Name, err, want)
		}
	}
	if _, err := Resolve(Options{Name: "kge:complex:8"}, data.Meta{Name: "digits", Kind: data.Bytes}); err == nil ||
		!strings.Contains(err.Error(), "needs the facts of a knowledge graph") {
		t.Error(err)
	}
}
