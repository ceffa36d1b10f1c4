package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/data"
)

// TestProject holds the projection against the conditions that only the nearest point
// meets: it is in the simplex, and x - p is the same number wherever p is positive, and
// no larger where p is zero.
func TestProject(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for n := 1; n < 40; n++ {
		for range 20 {
			x, room := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			p := slices.Clone(x)
			Project(p, room)
			sum, shift := 0.0, math.Inf(1)
			for i, v := range p {
				sum += float64(v)
				if v > 0 {
					shift = min(shift, float64(x[i]-v))
				}
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Fatalf("the projection of %v is %v, which adds up to %v", x, p, sum)
			}
			for i, v := range p {
				off := float64(x[i]-v) - shift
				if v < 0 || v > 0 && math.Abs(off) > 1e-5 || v == 0 && off > 1e-5 {
					t.Fatalf("the projection of %v is %v: not the nearest point", x, p)
				}
			}
		}
	}
}

func newCut(t *testing.T, d, nodes int) (Model, []float32) {
	t.Helper()
	m, err := New(Options{Name: fmt.Sprintf("cut:%d", d)}, data.Meta{Name: "graph", Kind: data.Pairs, Features: nodes})
	if err != nil {
		t.Fatal(err)
	}
	return m, make([]float32, Size(m.Params()))
}

func randomEdges(r *rand.Rand, nodes, edges int) *data.Batch {
	b := &data.Batch{Features: nodes}
	for range edges {
		u := r.IntN(nodes - 1)
		b.Rows = append(b.Rows, data.Row{Idx: []uint32{uint32(u), uint32(u + 1 + r.IntN(nodes-1-u))},
			Val: []float32{1, 1}})
		b.Y = append(b.Y, r.Float32())
	}
	return b
}

// TestCutDifferences: random points are away from the kinks, where two coordinates are
// equal. Terminals have no gradient.
func TestCutDifferences(t *testing.T) {
	const h, nodes = 1e-6, 12
	r := rand.New(rand.NewPCG(5, 5))
	for _, d := range []int{2, 3, 5} {
		m, w := newCut(t, d, nodes)
		var g Gradient
		for _, b := range []int{9, 1, 30} {
			for i := range w {
				w[i] = r.Float32()
			}
			batch, x := randomEdges(r, nodes, b), widen([][]float32{w})[0]
			loss := func() (sum float64) {
				for i, e := range batch.Rows {
					for c := range d {
						sum += float64(batch.Y[i]) / 2 * math.Abs(x[int(e.Idx[0])*d+c]-x[int(e.Idx[1])*d+c])
					}
				}
				return sum
			}
			if got, eval := m.Grad(w, batch, &g), m.Eval(w, batch); !agree(got, loss()) ||
				!agree(eval.Loss, loss()) || eval.N != b {
				t.Errorf("%d terminals, batch %d: loss %v, evaluated %+v, want %v", d, b, got, eval, loss())
			}
			gradient := materialise(&g, len(w))
			for i, v := range x {
				x[i] = v + h
				up := loss()
				x[i] = v - h
				want := (up - loss()) / (2 * h * float64(b))
				if x[i] = v; i < d*d {
					want = 0
				}
				if !agree(float64(gradient[i]), want) {
					t.Fatalf("%d terminals, batch %d: d loss / d x[%d] is %v, want %v", d, b, i, gradient[i], want)
				}
			}
		}
	}
}

// TestCutSteps: Steps does what Grad on each edge, w -= lr g and Project do.
func TestCutSteps(t *testing.T) {
	for _, d := range []int{2, 4} {
		m, w := newCut(t, d, 12)
		m.Init(w, 1)
		var g Gradient
		room := make([]float32, d)
		sameSteps(t, m, w, randomEdges(rand.New(rand.NewPCG(6, 6)), 12, 300), func(w []float32, lr float32) {
			for _, p := range g.Parts {
				x := w[p.Offset : p.Offset+p.Simplex]
				for i, v := range p.G {
					x[i] -= lr * v
				}
				Project(x, room)
			}
		}, &g)
	}
}

// TestMinimumCut trains a graph of 30 nodes to its minimum cut, which is found by
// flows: the relaxed loss comes near, and the nodes, each at its nearer terminal, cut
// exactly that much.
func TestMinimumCut(t *testing.T) {
	const nodes, epochs = 30, 3000
	r := rand.New(rand.NewPCG(7, 7))
	b := randomEdges(r, nodes, 120)
	want := maxFlow(b, nodes)
	m, w := newCut(t, 2, nodes)
	m.Init(w, 1)
	set := &data.Set{Meta: data.Meta{Kind: data.Pairs, Rows: len(b.Y)}, Y: b.Y}
	rows := make([]int32, len(b.Y))
	for i, x := range b.Rows {
		set.Idx = append(set.Idx, x.Idx...)
		rows[i] = int32(i)
	}
	for epoch := range epochs {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		m.(HalfStepper).Steps(w, set, rows, Step{LR: 0.1 * (1 - float32(epoch)/epochs)})
	}
	if got := m.Eval(w, b).Loss; got > 1.02*want || got < want-1e-4 {
		t.Errorf("the relaxed cut weighs %v, the minimum is %v", got, want)
	}
	cut := 0.0
	for i, x := range b.Rows {
		if (w[2*x.Idx[0]] > 0.5) != (w[2*x.Idx[1]] > 0.5) {
			cut += float64(b.Y[i])
		}
	}
	if math.Abs(cut-want) > 1e-4 {
		t.Errorf("the rounded cut weighs %v, the minimum is %v", cut, want)
	}
}

// maxFlow returns the largest flow from node 0 to node 1, by augmenting paths: the weight of
// the minimum cut (Ford and Fulkerson 1956).
func maxFlow(b *data.Batch, nodes int) (flow float64) {
	room := make([][]float64, nodes)
	for u := range room {
		room[u] = make([]float64, nodes)
	}
	for i, x := range b.Rows {
		room[x.Idx[0]][x.Idx[1]] += float64(b.Y[i])
		room[x.Idx[1]][x.Idx[0]] += float64(b.Y[i])
	}
	for {
		from, queue := map[int]int{0: 0}, []int{0}
		for len(queue) > 0 {
			u := queue[0]
			queue = queue[1:]
			for v := range nodes {
				if _, seen := from[v]; !seen && room[u][v] > 1e-9 {
					from[v] = u
					queue = append(queue, v)
				}
			}
		}
		if _, reached := from[1]; !reached {
			return flow
		}
		by := math.Inf(1)
		for v := 1; v != 0; v = from[v] {
			by = min(by, room[from[v]][v])
		}
		for v := 1; v != 0; v = from[v] {
			room[from[v]][v] -= by
			room[v][from[v]] += by
		}
		flow += by
	}
}
