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
)

// likedSet returns what 12 users liked of 30 items, the last user all but one.
func likedSet(t *testing.T) *data.Set {
	t.Helper()
	r, all := rand.New(rand.NewPCG(8, 9)), &strings.Builder{}
	for u := range 12 {
		for j := range 30 {
			if u == 11 && j < 29 || r.IntN(4) == 0 {
				fmt.Fprintf(all, "%d %d\n", u, j)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "liked.txt")
	if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	train, test, err := data.Load(data.Options{Path: path, Test: data.None, Task: "likes", Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { train.Close(); test.Close() })
	return train
}

// ranker returns a model, and weights as large as they become.
func ranker(t *testing.T, set *data.Set, o Options) (*bpr, []float32) {
	t.Helper()
	o.Bias = true
	m, err := New(o, set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	w, r := make([]float32, Size(m.Params())), rand.New(rand.NewPCG(6, 7))
	m.Init(w, 1)
	for i, v := range w {
		if v != 1 { // a sum
			w[i] = r.Float32() - 0.5
		}
	}
	return m.(*bpr), w
}

var rankers12 = []Options{
	{Name: "bpr:7", Seed: 3}, {Name: "bpr:16", Seed: 3, Uniform: true},
	{Name: "bpr:5", Seed: 4, Shrink: Shrink{User: 0.1, Item: 0.2, Negative: 0.3, Bias: 0.4}},
	{Name: "warp:7", Seed: 3, Uniform: true},
	{Name: "warp:3", Seed: 5, Shrink: Shrink{User: 0.1, Item: 0.2, Bias: 0.3}},
}

// TestRankerGradient: central differences of the loss of the draws of an evaluation are the gradient, and a step is one
// down the gradient.
func TestRankerGradient(t *testing.T) {
	const lr = 0.01
	set := likedSet(t)
	for _, o := range rankers12 {
		t.Run(o.Name, func(t *testing.T) {
			m, w := ranker(t, set, o)
			reader := set.NewReader()
			reader.Epoch = data.Evaluation
			for row := range int32(set.Rows) {
				var g Gradient
				b := reader.Batch([]int32{row})
				m.Grad(w, b, &g)
				before := slices.Clone(w)
				dense := make([]float32, len(w))
				for _, p := range g.Parts {
					copy(dense[p.Offset:], p.G)
				}
				plain := o
				plain.Shrink = Shrink{}
				if m2, _ := ranker(t, set, plain); row < 12 {
					m2.Grad(w, b, &g)
					for _, p := range g.Parts {
						for c := range p.G {
							const h = 1.0 / 256
							i := p.Offset + c
							w[i] = before[i] + h
							up := m2.Eval(w, b).Loss
							w[i] = before[i] - h
							down := m2.Eval(w, b).Loss
							w[i] = before[i]
							if math.Abs(up-2*m2.Eval(w, b).Loss+down) > 0.1 { // warp draws another item
								continue
							}
							if d := (up - down) / (2 * h); math.Abs(d-float64(p.G[c])) > 2e-3*(1+math.Abs(d)) {
								t.Fatalf("row %d, weight %d: gradient %g, differences say %g", row, i, p.G[c], d)
							}
						}
					}
				}
				m.Steps(w, set, []int32{row}, Step{LR: lr, Epoch: data.Evaluation})
				for i := range w {
					if want := before[i] - lr*dense[i]; math.Abs(float64(w[i]-want)) > 1e-6 {
						t.Fatalf("row %d, weight %d: a step leaves %g, down the gradient is %g", row, i, w[i], want)
					}
				}
				touched := m.Touched(set, row, nil)
				for i := range w {
					in := slices.ContainsFunc(touched, func(r Range) bool { return r.From <= i && i < r.To })
					if w[i] != before[i] && !in && o.Name[0] == 'b' { // warp may draw another one now
						t.Fatalf("row %d writes weight %d, which is not among the touched", row, i)
					}
				}
			}
		})
	}
}

// TestRankerSteps: many steps are one after the other, whatever the number of them at a time.
func TestRankerSteps(t *testing.T) {
	set := likedSet(t)
	for _, o := range append(rankers12[:5:5], Options{Name: "warp:9", Uniform: true, AdaptiveRows: true},
		Options{Name: "bpr:9", AdaptiveRows: true}) {
		m, all := ranker(t, set, o)
		one, rows := slices.Clone(all), make([]int32, 0, set.Rows)
		for i := range set.Rows {
			rows = append(rows, int32(i))
		}
		loss, want := m.Steps(all, set, rows, Step{LR: 0.1, Epoch: 2}), 0.0
		single, _ := ranker(t, set, o)
		for i := range rows {
			want += single.Steps(one, set, rows[i:i+1], Step{LR: 0.1, Epoch: 2})
		}
		if !slices.Equal(all, one) || math.Abs(loss-want) > 1e-9*want {
			t.Errorf("%s: steps one by one leave other weights, or another loss, %g for %g", o.Name, loss, want)
		}
	}
}

// TestNegativesNotLiked: what is drawn for a user is not among what the user is known to like.
func TestNegativesNotLiked(t *testing.T) {
	set := likedSet(t)
	for _, o := range append(rankers12[:2:2], Options{Name: "bpr:3", Seed: 3, Once: true}) {
		m, w := ranker(t, set, o)
		m.on(w)
		skipped, last := 0, 0
		for epoch := range 20 {
			for row := range int32(set.Rows) {
				u := set.Idx[2*row]
				j, ok := m.negative(set, row, epoch)
				if ok && set.Likes(u, j) {
					t.Fatalf("%s: user %d likes item %d, which was drawn", o.Name, u, j)
				}
				if u == 11 {
					last++
				}
				if !ok {
					skipped++
				}
			}
		}
		if skipped == 0 || !o.Once && skipped > last {
			t.Errorf("%s: %d entries have no negative; only the last user, of %d, has few", o.Name, skipped, last)
		}
	}
}

// TestWARP: steps against fit_warp of LightFM, written down by its definition in float64: scores of all items, the
// first violating draw, a rate for each row.
func TestWARP(t *testing.T) {
	const k, lr = 6, 0.05
	set := likedSet(t)
	for _, adaptive := range []bool{false, true} {
		m, w := ranker(t, set, Options{Name: "warp:6", Seed: 2, Uniform: true, AdaptiveRows: adaptive})
		users, items := set.Shape[0], set.Shape[1]
		user, item, bias := make([][k]float64, users), make([][k]float64, items), make([]float64, items)
		at := 0
		for _, table := range [][][k]float64{user, item} {
			for i := range table {
				for c := range k {
					table[i][c] = float64(w[at])
					at++
				}
			}
		}
		for j := range bias {
			bias[j] = float64(w[at+j])
		}
		sums := map[string]float64{}
		rate := func(name string, n int, square float64) float64 {
			key, was := fmt.Sprint(name, n), sums[fmt.Sprint(name, n)]
			if adaptive {
				sums[key] += square
			}
			return lr / math.Sqrt(1+was)
		}
		draws, want, rows := data.NewDraws(set, 2, true), 0.0, []int32(nil)
		for row := range int32(set.Rows) {
			rows = append(rows, row)
			u, i := int(set.Idx[2*row]), int(set.Idx[2*row+1])-users
			score := make([]float64, items)
			for j := range score {
				score[j] = bias[j]
				for c := range k {
					score[j] += user[u][c] * item[j][c]
				}
			}
			x := draws.Of(row, 1)
			for n := 1; n <= 10; n++ {
				var j uint32
				if j, x = draws.Next(row, x, 0); score[j] <= score[i]-1 || slices.Contains(set.Liked(uint32(u)), j) {
					continue
				}
				weight := math.Min(10, math.Log(math.Max(1, math.Floor(float64(items-1)/float64(n)))))
				want += weight * (1 - score[i] + score[j])
				p, q, r := user[u], item[i], item[j]
				var own, apart float64
				for c := range k {
					own += p[c] * p[c] / k
					apart += (q[c] - r[c]) * (q[c] - r[c]) / k
				}
				square := weight * weight
				lp, lq, lj := rate("u", u, square*apart), rate("i", i, square*own), rate("i", int(j), square*own)
				for c := range k {
					user[u][c] += lp * weight * (q[c] - r[c])
					item[i][c] += lq * weight * p[c]
					item[j][c] -= lj * weight * p[c]
				}
				bias[i] += rate("b", i, square) * weight
				bias[j] -= rate("b", int(j), square) * weight
				break
			}
		}
		if loss := m.Steps(w, set, rows, Step{LR: lr, Epoch: 1}); math.Abs(loss-want) > 1e-4*want {
			t.Errorf("adaptive %v: the loss is %g, want %g", adaptive, loss, want)
		}
		at = 0
		for _, table := range [][][k]float64{user, item} {
			for i := range table {
				for c := range k {
					if math.Abs(float64(w[at])-table[i][c]) > 1e-4 {
						t.Fatalf("adaptive %v: weight %d is %g, want %g", adaptive, at, w[at], table[i][c])
					}
					at++
				}
			}
		}
	}
}

// TestRankerScores: all scores are equal to the pairs' scores, and nodes own all weights.
func TestRankerScores(t *testing.T) {
	set := likedSet(t)
	m, w := ranker(t, set, Options{Name: "warp:5", AdaptiveRows: true})
	n := m.Candidates()
	scores := make([]float32, 2*n)
	m.Scores(w, []Query{{Node: 3}, {Node: 11}}, scores)
	for i, u := range []uint32{3, 11} {
		for j := range uint32(n) {
			b := &data.Batch{Rows: []data.Row{{Idx: []uint32{u, uint32(set.Shape[0]) + j}}}}
			// A product of matrices adds up in another order.
			if got := m.Predict(w, b, nil)[0]; !(math.Abs(float64(got-scores[i*n+int(j)])) < 1e-6) {
				t.Errorf("user %d, item %d: %g among all, %g alone", u, j, scores[i*n+int(j)], got)
			}
		}
	}
	for _, cut := range []int{0, 5, 12, 20, 42} {
		owned := make([]int, len(w))
		for _, r := range m.Nodes(cut, 42, m.Nodes(0, cut, nil)) {
			for i := r.From; i < r.To; i++ {
				owned[i]++
			}
		}
		if slices.Max(owned) != 1 || slices.Min(owned) != 1 {
			t.Errorf("nodes below %d and the others own weights %d to %d times", cut, slices.Min(owned),
				slices.Max(owned))
		}
	}
}

// TestRankerNames: what is wrong is said in one line.
func TestRankerNames(t *testing.T) {
	set := likedSet(t)
	for name, want := range map[string]string{"bpr:0": "from 1 to 4096", "warp:x": "write warp:64"} {
		_, err := New(Options{Name: name, Bias: true}, set.Meta)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	m := set.Meta
	m.Implicit = false
	_, err := New(Options{Name: "bpr:4", Bias: true}, m)
	if err == nil || !strings.Contains(err.Error(), "users liked") {
		t.Errorf("a matrix of values: %v", err)
	}
}

func BenchmarkRanker(b *testing.B) {
	r, all := rand.New(rand.NewPCG(8, 9)), &strings.Builder{}
	for u := range 2000 {
		for range 10 + r.IntN(25) {
			fmt.Fprintf(all, "%d %d\n", u, int(4500*math.Pow(r.Float64(), 3)))
		}
	}
	path := filepath.Join(b.TempDir(), "liked.txt")
	if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
		b.Fatal(err)
	}
	set, test, err := data.Load(data.Options{Path: path, Test: data.None, Task: "likes", Seed: 5})
	if err != nil {
		b.Fatal(err)
	}
	defer test.Close()
	defer set.Close()
	for _, o := range []Options{{Name: "bpr:64", Once: true}, {Name: "bpr:64", Uniform: true, AdaptiveRows: true},
		{Name: "warp:64", Uniform: true, AdaptiveRows: true}} {
		b.Run(fmt.Sprint(o.Name, o.AdaptiveRows), func(b *testing.B) {
			o.Bias = true
			m, err := New(o, set.Meta)
			if err != nil {
				b.Fatal(err)
			}
			w, rows := make([]float32, Size(m.Params())), []int32(nil)
			m.Init(w, 1)
			for _, i := range r.Perm(set.Rows) {
				rows = append(rows, int32(i))
			}
			epoch := 0
			for b.Loop() {
				epoch++
				for at := 0; at < len(rows); at += 64 {
					m.(*bpr).Steps(w, set, rows[at:min(at+64, len(rows))], Step{LR: 0.05, Epoch: epoch})
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(rows))/b.Elapsed().Seconds()/1e6, "M/s")
		})
	}
}
