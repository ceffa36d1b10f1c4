package score

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// table is a model whose weights are the scores: a row of candidates for each node.
type table struct {
	model.Model
	n int
}

func (t table) Candidates() int { return t.n }

func (t table) Scores(w []float32, queries []model.Query, scores []float32) {
	for i, q := range queries {
		copy(scores[i*t.n:(i+1)*t.n], w[int(q.Node)*t.n:])
	}
}

// ask returns questions, one a node, in which each candidate is an answer or known with these shares.
func ask(r *rand.Rand, n, candidates int, right, known float64) (all []data.Question) {
	for i := range n {
		q := data.Question{Query: data.Query{Node: uint32(i)}}
		for c := range uint32(candidates) {
			switch x := r.Float64(); {
			case x < right:
				q.Answers = append(q.Answers, c)
			case x < right+known:
				q.Known = append(q.Known, c)
			}
		}
		if len(q.Answers) == 0 {
			q.Answers, q.Known = []uint32{0}, slices.DeleteFunc(q.Known, func(c uint32) bool { return c == 0 })
		}
		all = append(all, q)
	}
	return all
}

// plain are the figures of one question, in the plainest way: over an order of the candidates that are left, the best
// one first.
type plain struct {
	precision, recall, ndcg, hit, auc   float64
	mrr, hits1, hits3, hits10, meanRank float64 // sums over answers
}

func plainly(order []uint32, q data.Question, k int) (p plain) {
	right := func(c uint32) bool { return slices.Contains(q.Answers, c) }
	ideal, wrongAbove, wrong := 0.0, 0, len(order)-len(q.Answers)
	for i, c := range order {
		if i < k && i < len(q.Answers) {
			ideal += math.Ln2 / math.Log(float64(i+2))
		}
		if !right(c) {
			wrongAbove++
			continue
		}
		if i < k {
			p.precision += 1 / float64(k)
			p.recall += 1 / float64(len(q.Answers))
			p.ndcg += math.Ln2 / math.Log(float64(i+2))
			p.hit = 1
		}
		p.auc += float64(wrong-wrongAbove) / float64(wrong*len(q.Answers))
		p.meanRank += float64(wrongAbove + 1) // filtered: other answers do not count
	}
	p.ndcg /= ideal
	return p
}

// orders calls do with all orders that scores allow.
func orders(left []uint32, scores []float32, do func([]uint32)) {
	if len(left) == 0 {
		do(nil)
		return
	}
	better := func(a, b float32) bool { return a > b || a == a && b != b }
	for _, c := range left {
		if !slices.ContainsFunc(left, func(d uint32) bool { return better(scores[d], scores[c]) }) {
			rest := slices.DeleteFunc(slices.Clone(left), func(d uint32) bool { return d == c })
			orders(rest, scores, func(o []uint32) { do(append([]uint32{c}, o...)) })
		}
	}
}

// TestTies: with ties, and scores that are no numbers, figures are the means of all orders of equal candidates.
func TestTies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 6
	for round := range 300 {
		q := ask(r, 1, n, 0.4, 0.2)[0]
		w := make([]float32, n)
		for i := range w {
			if w[i] = float32(r.IntN(3)); round%3 == 0 && r.IntN(4) == 0 {
				w[i] = float32(math.NaN())
			}
		}
		left := []uint32{}
		for c := range uint32(n) {
			if !slices.Contains(q.Known, c) {
				left = append(left, c)
			}
		}
		if len(left) == len(q.Answers) {
			continue
		}
		k := 1 + round%7
		var sum plain
		var count float64
		orders(left, w, func(o []uint32) {
			p := plainly(o, q, k)
			sum.precision, sum.recall, sum.ndcg = sum.precision+p.precision, sum.recall+p.recall, sum.ndcg+p.ndcg
			sum.hit, sum.auc, sum.meanRank = sum.hit+p.hit, sum.auc+p.auc, sum.meanRank+p.meanRank
			count++
		})
		what := fmt.Sprintf("scores %v, answers %v, known %v, k %d", w, q.Answers, q.Known, k)
		models := []model.Model{table{n: n}}
		got := Rank(models, w, []data.Question{q}, false, k)
		items := got.Items
		near(t, what, []float64{items.Precision, items.Recall, items.NDCG, items.HitRate, items.AUC},
			[]float64{sum.precision / count, sum.recall / count, sum.ndcg / count, sum.hit / count, sum.auc / count})
		facts := Rank(models, w, []data.Question{q}, true, k).Facts
		near(t, what, []float64{facts.MeanRank}, []float64{sum.meanRank / count / float64(len(q.Answers))})
		if nan := slices.ContainsFunc(left, func(c uint32) bool { return w[c] != w[c] }); (got.NaN == 1) != nan {
			t.Errorf("%s: noted %d with NaN", what, got.NaN)
		}
	}
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) < 1e-9) {
			t.Errorf("%s: figures %.6f, want %.6f", what, got, want)
			return
		}
	}
}

// many returns questions with scores among which few are equal.
func many(r *rand.Rand) (w []float32, questions []data.Question, n int) {
	const asked = 70
	n = 211
	for range asked * n {
		w = append(w, float32(r.NormFloat64()))
	}
	for i := range asked { // and some are
		for range i % 9 {
			w[i*n+r.IntN(n)] = w[i*n+r.IntN(n)]
		}
	}
	return w, ask(r, asked, n, 0.05, 0.3), n
}

// TestRankSorted: the sums over many questions, by sorting the candidates that are left; any number of models.
func TestRankSorted(t *testing.T) {
	w, questions, n := many(rand.New(rand.NewPCG(3, 4)))
	for i := range w { // no two are equal
		w[i] += float32(i%n) * 1e-5
	}
	var sum plain
	answers := 0.0
	for i, q := range questions {
		var order []uint32
		for c := range uint32(n) {
			if !slices.Contains(q.Known, c) {
				order = append(order, c)
			}
		}
		scores := w[i*n : (i+1)*n]
		slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(scores[b], scores[a]) })
		p := plainly(order, q, 10)
		sum.precision, sum.recall, sum.ndcg = sum.precision+p.precision, sum.recall+p.recall, sum.ndcg+p.ndcg
		sum.hit, sum.auc = sum.hit+p.hit, sum.auc+p.auc
		for _, c := range q.Answers {
			rank := 1.0
			for _, d := range order {
				if !slices.Contains(q.Answers, d) && scores[d] > scores[c] {
					rank++
				}
			}
			sum.mrr, sum.meanRank, answers = sum.mrr+1/rank, sum.meanRank+rank, answers+1
			if rank <= 1 {
				sum.hits1++
			}
			if rank <= 3 {
				sum.hits3++
			}
			if rank <= 10 {
				sum.hits10++
			}
		}
	}
	for _, cores := range []int{1, 3} {
		models := slices.Repeat([]model.Model{table{n: n}}, cores)
		got, users := Rank(models, w, questions, false, 10), float64(len(questions))
		near(t, "items", []float64{got.Items.Precision, got.Items.Recall, got.Items.NDCG, got.Items.HitRate,
			got.Items.AUC}, []float64{sum.precision / users, sum.recall / users, sum.ndcg / users, sum.hit / users,
			sum.auc / users})
		facts := Rank(models, w, questions, true, 10).Facts
		near(t, "facts", []float64{facts.MRR, facts.Hits1, facts.Hits3, facts.Hits10, facts.MeanRank}, []float64{
			sum.mrr / answers, sum.hits1 / answers, sum.hits3 / answers, sum.hits10 / answers, sum.meanRank / answers})
	}
	if Rank([]model.Model{table{n: n}}, w, nil, false, 10) != nil {
		t.Error("figures of no questions")
	}
}

// TestAllAnswers: a question without wrong candidates says nothing about AUC, and all else is right.
func TestAllAnswers(t *testing.T) {
	questions := []data.Question{{Answers: []uint32{0, 1}}, {Query: data.Query{Node: 1}, Answers: []uint32{1}}}
	got := Rank([]model.Model{table{n: 2}}, []float32{1, 2, 3, 4}, questions, false, 3)
	want := rundir.ItemRanks{At: 3, Precision: 0.5, Recall: 1, NDCG: 1, HitRate: 1, AUC: 1}
	if *got.Items != want {
		t.Errorf("%+v, want %+v", *got.Items, want)
	}
}

// TestSklearn: NDCG and AUC with ties are scikit-learn's.
func TestSklearn(t *testing.T) {
	python := os.Getenv("HOGWILD_PYTHON")
	if python == "" {
		t.Skip("HOGWILD_PYTHON names no Python with scikit-learn")
	}
	w, questions, n := many(rand.New(rand.NewPCG(5, 6)))
	for i := range w {
		w[i] = float32(math.Round(8*float64(w[i])) / 8)
	}
	type row struct {
		Scores []float32
		Right  []int
	}
	var rows []row
	for i, q := range questions {
		var one row
		for c := range uint32(n) {
			if !slices.Contains(q.Known, c) {
				one.Scores = append(one.Scores, w[i*n+int(c)])
				one.Right = append(one.Right, 0)
				if slices.Contains(q.Answers, c) {
					one.Right[len(one.Right)-1] = 1
				}
			}
		}
		rows = append(rows, one)
	}
	path := filepath.Join(t.TempDir(), "rows.json")
	text, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", `import json, sys
from sklearn.metrics import ndcg_score, roc_auc_score
rows = json.load(open(sys.argv[1]))
mean = lambda f: sum(f(r["Right"], r["Scores"]) for r in rows) / len(rows)
print(mean(lambda y, s: ndcg_score([y], [s], k=10)), mean(roc_auc_score))`, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var ndcg, auc float64
	if _, err := fmt.Sscan(strings.TrimSpace(string(out)), &ndcg, &auc); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := Rank([]model.Model{table{n: n}}, w, questions, false, 10).Items
	near(t, "scikit-learn", []float64{got.NDCG, got.AUC}, []float64{ndcg, auc})
}

// TestBest: what a stable sort puts first, without what is known.
func TestBest(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for round := range 200 {
		scores, known := make([]float32, 30), []uint32{}
		for i := range scores {
			if scores[i] = float32(r.IntN(6)); round%3 == 0 && r.IntN(3) == 0 {
				scores[i] = float32(math.NaN())
			}
			if r.IntN(4) == 0 {
				known = append(known, uint32(i))
			}
		}
		var want []uint32
		for c := range uint32(len(scores)) {
			if !slices.Contains(known, c) {
				want = append(want, c)
			}
		}
		number := func(c uint32) float64 {
			if v := float64(scores[c]); v == v {
				return v
			}
			return math.Inf(-1)
		}
		slices.SortStableFunc(want, func(a, b uint32) int { return cmp.Compare(number(b), number(a)) })
		k := 1 + round%35
		if got := Best(scores, known, k); !slices.Equal(got, want[:min(k, len(want))]) {
			t.Errorf("scores %v, known %v: best %v, want %v", scores, known, got, want)
		}
	}
}

// BenchmarkRank ranks 40,559 candidates for 5,848 queries by vectors of 128 numbers, as many as WN18RR has.
func BenchmarkRank(b *testing.B) {
	const users, items = 5848, 40559
	meta := data.Meta{Name: "made", Kind: data.Pairs, Shape: []int{users, items}, Features: users + items,
		IDs: [][]uint32{{1, users}, {1, items}}}
	var models []model.Model
	for range 2 {
		m, err := model.New(model.Options{Name: "factor:128"}, meta)
		if err != nil {
			b.Fatal(err)
		}
		models = append(models, m)
	}
	w := make([]float32, model.Size(models[0].Params()))
	models[0].Init(w, 1)
	r := rand.New(rand.NewPCG(9, 10))
	var questions []data.Question
	for u := range uint32(users) {
		questions = append(questions, data.Question{Query: data.Query{Node: u}, Answers: []uint32{r.Uint32N(items)}})
	}
	for b.Loop() {
		Rank(models, w, questions, true, 10)
	}
}
