package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// bpr learns from what users liked to rank items: the score of item i for user u is p_u . q_i + b_i, and an entry
// (u, i) is to have a higher score than (u, j), where j is drawn among what u is not known to like. The loss of an
// entry is
//
//	-log s(x), x = score(u, i) - score(u, j)
//
// (Rendle, Freudenthaler, Gantner, Schmidt-Thieme 2009, "BPR: Bayesian personalized ranking from implicit feedback",
// section 4) or, of warp, the number of violated pairs in logarithms: j is drawn until x < 1, and after n draws
// the loss is log(max(1, floor((items - 1)/n))) (1 - x) (Weston, Bengio, Usunier 2011, "WSABIE", as LightFM has it).
type bpr struct {
	users, items, k int
	warp, adaptive  bool
	rate            vec.PairwiseRate // without the learning rate
	uniform, once   bool
	seed            uint64
	touched
	table   vec.Pairwise
	draws   data.Draws
	of      *data.Set
	epoch   int // of the last step, and its twin: see Step
	twin    int
	dots    dots
	triples []uint32
	near    uint32 // says nothing: see draw
	pull    []float32
}

// mostDraws is how often an item is drawn: for bpr until the user is not known to like it.
const mostDraws = 10

// mostPull is the largest step of warp, as in LightFM.
const mostPull = 10

// BPR is the family of bpr:K, and WARP the family of warp:K.
var (
	BPR  = rankers("bpr", Logistic, &Family{Rate: 0.05})
	WARP = rankers("warp", Hinge, &Family{Rate: 0.05, OneRate: 0.01, Alike: true})
)

// rankers completes a family of models that rank items for users.
func rankers(name string, loss Loss, f *Family) *Family {
	parse := func(form, asked string) (int, error) {
		_, text, given := strings.Cut(form, ":")
		k, err := strconv.Atoi(text)
		switch {
		case !given:
			k = 64
		case err != nil || k < 1 || k > maxRank:
			return 0, fmt.Errorf("model: %q: the rank must be a number from 1 to %d (write %s:64)", form, maxRank, name)
		}
		if asked != "" && Loss(asked) != loss {
			return 0, fmt.Errorf("model: %s has the %s loss of pairs of items, not %q: leave --loss out", name, loss,
				asked)
		}
		return k, nil
	}
	f.Entries, f.Ranks, f.Epochs, f.forms = true, true, 30, []string{name + ":K (" + name + ":64)"}
	f.task = func(form, asked string) (string, error) {
		_, err := parse(form, asked)
		return "likes", err
	}
	f.resolve = func(o Options, m data.Meta) (Spec, error) {
		k, err := parse(o.Name, o.Loss)
		if err == nil && !m.Implicit {
			err = fmt.Errorf("model: %s learns from what users liked, and %s is not that: name a file of users and "+
				"items, or convert it with --task likes", o.Name, m.Name)
		}
		return Spec{Options: o, Name: fmt.Sprintf("%s:%d", name, k), Loss: loss, Widths: []int{k},
			Features: m.Features, Outputs: 1, Shape: m.Shape}, err
	}
	f.build = func(s Spec) Model {
		k, o := s.Widths[0], s.Options
		return &bpr{users: s.Shape[0], items: s.Shape[1], k: k, warp: name == "warp", adaptive: o.AdaptiveRows,
			rate: vec.PairwiseRate{User: o.Shrink.User, Positive: o.Shrink.Item, Negative: o.Shrink.Negative,
				Bias: o.Shrink.Bias},
			uniform: o.Uniform, once: o.Once, seed: o.Seed, touched: newTouched(k)}
	}
	return f
}

// Shrink is l2 of the rows of a model that ranks: of a user, of an item that is liked and of one that was drawn, and of
// their biases.
type Shrink struct{ User, Item, Negative, Bias float32 }

func (m *bpr) Params() []Param {
	ps := []Param{{Name: "user.weight", Shape: []int{m.users, m.k}}, {Name: "item.weight", Shape: []int{m.items, m.k}},
		{Name: "item.bias", Shape: []int{m.items}}}
	if m.adaptive {
		ps = append(ps, Param{Name: "user.sum", Shape: []int{m.users}}, Param{Name: "item.sum", Shape: []int{m.items}},
			Param{Name: "item.bias.sum", Shape: []int{m.items}})
	}
	return ps
}

// Init draws the rows, and of bpr the biases, from U(-1/2, 1/2)/k, as implicit and LightFM do; sums are 1, as in
// LightFM.
func (m *bpr) Init(w []float32, seed uint64) {
	rows, all := (m.users+m.items)*m.k, (m.users+m.items)*m.k+m.items
	drawn := all
	if m.warp {
		drawn = rows
	}
	newSource(seed).uniform(w[:drawn], 0.5/float32(m.k))
	clear(w[drawn:all])
	for i := range w[all:] {
		w[all+i] = 1
	}
}

// on returns the tables in w.
func (m *bpr) on(w []float32) *vec.Pairwise {
	if t := &m.table; t.K == 0 || &t.User[0] != &w[0] {
		cut := func(n int) (part []float32) {
			part, w = w[:n:n], w[n:]
			return part
		}
		m.table = vec.Pairwise{K: m.k, User: cut(m.users * m.k), Item: cut(m.items * m.k), Bias: cut(m.items)}
		if m.adaptive {
			m.table.UserSum, m.table.ItemSum, m.table.BiasSum = cut(m.users), cut(m.items), cut(m.items)
		}
	}
	return &m.table
}

// Suits returns true for what users liked. The tables are too large for each worker to have a copy.
func (m *bpr) Suits(set *data.Set) (steps, copied bool) { return set.Implicit, false }

// pairwiseRows is how many entries' items are drawn at a time.
const pairwiseRows = 256

// Steps takes the steps of implicit's and LightFM's loops; items are drawn by the weights of the moment.
func (m *bpr) Steps(w []float32, set *data.Set, rows []int32, s Step) (loss float64) {
	t, rate := m.on(w), m.rate
	rate.LR, m.epoch, m.twin = s.LR, s.Epoch, s.Twin
	if m.warp {
		var triple [3]uint32
		var pull [1]float32
		for _, row := range rows {
			drawn, far, x := m.violated(t, set, row, s.Epoch, &triple)
			if drawn {
				pull[0] = far
				t.Steps(triple[:], pull[:], rate)
				loss += float64(far) * float64(1-x)
			}
		}
		return loss
	}
	for len(rows) > 0 {
		n := min(pairwiseRows, len(rows))
		m.draw(set, rows[:n], s.Epoch)
		loss += t.Steps(m.triples, nil, rate)
		rows = rows[n:]
	}
	return loss
}

// drawsOf returns the draws of a set.
func (m *bpr) drawsOf(set *data.Set) *data.Draws {
	if m.of != set {
		m.draws, m.of = data.NewDraws(set, m.seed, m.uniform), set
	}
	return &m.draws
}

// draw sets triples to user, item and an item that was drawn, of each of the rows whose user has one. What is read lies
// far apart: a pass that decides nothing reads it for all rows at once, before another one decides.
func (m *bpr) draw(set *data.Set, rows []int32, epoch int) {
	d, first, near := m.drawsOf(set), uint32(m.users), uint32(0)
	m.triples = m.triples[:0]
	for _, row := range rows {
		j, _ := d.Next(row, d.Of(row, epoch), m.twin)
		m.triples = append(m.triples, set.Idx[2*row], set.Idx[2*row+1]-first, j)
	}
	for k := 0; k < len(m.triples); k += 3 {
		liked := set.Liked(m.triples[k]) // not empty: it has the item of the entry
		near += liked[len(liked)/2]
	}
	m.near = near
	kept := m.triples[:0]
	for k, row := range rows {
		t := m.triples[3*k : 3*k+3]
		u, i, j := t[0], t[1], t[2]
		if ok := !set.Likes(u, j); !ok {
			if m.once {
				continue
			}
			if j, ok = m.negative(set, row, epoch); !ok {
				continue
			}
		}
		kept = append(kept, u, i, j)
	}
	m.triples = kept
}

// negative draws an item that the user of a row is not known to like.
func (m *bpr) negative(set *data.Set, row int32, epoch int) (j uint32, ok bool) {
	d, u := m.drawsOf(set), set.Idx[2*row]
	x, draws := d.Of(row, epoch), mostDraws
	if m.once && epoch != data.Evaluation { // losses are of all rows
		draws = 1
	}
	for range draws {
		if j, x = d.Next(row, x, m.twin); !set.Likes(u, j) {
			return j, true
		}
	}
	return 0, false
}

// violated draws items for a row until one has a score above the positive's less 1, and the user is not known to like
// it. It returns how far they are to go, and the difference of the scores.
func (m *bpr) violated(t *vec.Pairwise, set *data.Set, row int32, epoch int, triple *[3]uint32) (drawn bool,
	pull, x float32) {
	d, u, i := m.drawsOf(set), set.Idx[2*row], set.Idx[2*row+1]-uint32(m.users)
	score, from := t.Score(u, i), d.Of(row, epoch)
	for n := 1; n <= mostDraws; n++ {
		var j uint32
		j, from = d.Next(row, from, m.twin)
		if x = score - t.Score(u, j); x < 1 && !set.Likes(u, j) {
			*triple = [3]uint32{u, i, j}
			return true, m.far(n), x
		}
	}
	return false, 0, 0
}

// far returns how far a pair is to go that was found at the n-th draw.
func (m *bpr) far(n int) float32 {
	return float32(min(mostPull, math.Log(float64(max(1, (m.items-1)/n)))))
}

// Touched appends the rows and the biases of a row's step in the epoch of the last one.
func (m *bpr) Touched(set *data.Set, row int32, ranges []Range) []Range {
	if m.table.K == 0 { // before the first step: the item that will be drawn may depend on the weights
		u, i := int(set.Idx[2*row]), int(set.Idx[2*row+1])
		return m.Nodes(i, i+1, m.Nodes(u, u+1, ranges))
	}
	_, _, triple, ok := m.entry(&m.table, set, row, m.epoch)
	if !ok {
		return ranges
	}
	for side, at := range triple {
		node := int(at)
		if side > 0 {
			node += m.users
		}
		ranges = m.Nodes(node, node+1, ranges)
	}
	return ranges
}

// Nodes appends what belongs to the nodes from:to, of users and, behind them, of items.
func (m *bpr) Nodes(from, to int, ranges []Range) []Range {
	ranges = append(ranges, Range{from * m.k, to * m.k})
	all := (m.users + m.items) * m.k
	if first := max(from, m.users); first < to {
		ranges = append(ranges, Range{all + first - m.users, all + to - m.users})
		if m.adaptive { // behind the sums of all rows
			sums := all + m.items + m.users + m.items
			ranges = append(ranges, Range{sums + first - m.users, sums + to - m.users})
		}
	}
	if m.adaptive {
		ranges = append(ranges, Range{all + m.items + from, all + m.items + to})
	}
	return ranges
}

// Grad sets g to the gradient of the mean loss, with the regularizer of what an entry touches. Rates of rows of their
// own are steps': see Steps.
func (m *bpr) Grad(w []float32, b *data.Batch, g *Gradient) (loss float64) {
	t, mean := m.on(w), 1/float32(len(b.ID))
	m.epoch = b.Epoch
	m.begin(2 * len(b.ID))
	for _, row := range b.ID {
		one, pull, triple, ok := m.entry(t, b.Of, row, b.Epoch)
		if loss += one; ok {
			m.gather(t, triple, -pull*mean, mean)
		}
	}
	g.Parts = m.gradient()
	for i, node := range m.touched.nodes {
		if first := uint32(m.users); node >= first {
			at := (m.users+m.items)*m.k + int(node-first)
			g.Parts = append(g.Parts, Part{Offset: at, Bias: -1, G: m.bias[i : i+1]})
		}
	}
	m.parts = g.Parts
	return loss
}

// entry returns the loss of a row, and its derivative by the difference of the scores, less than 0.
func (m *bpr) entry(t *vec.Pairwise, set *data.Set, row int32, epoch int) (loss float64, pull float32,
	triple [3]uint32, ok bool) {
	if m.warp {
		found, far, x := m.violated(t, set, row, epoch, &triple)
		return float64(far) * float64(1-x), far, triple, found
	}
	j, ok := m.negative(set, row, epoch)
	if !ok {
		return 0, 0, triple, false
	}
	triple = [3]uint32{set.Idx[2*row], set.Idx[2*row+1] - uint32(m.users), j}
	pull, loss = vec.LogisticPair(t.Score(triple[0], triple[1])-t.Score(triple[0], j), true)
	return loss, pull, triple, true
}

// gather adds the gradient of a triple: d is by the difference of the scores, and l2 multiplies the regularizer.
func (m *bpr) gather(t *vec.Pairwise, triple [3]uint32, d, l2 float32) {
	row := func(table []float32, at uint32) []float32 { return table[int(at)*m.k : (int(at)+1)*m.k] }
	p, q, r := row(t.User, triple[0]), row(t.Item, triple[1]), row(t.Item, triple[2])
	first := uint32(m.users)
	u, i, j := m.at(triple[0]), m.at(first+triple[1]), m.at(first+triple[2])
	vec.Axpy(d, q, m.row(u))
	vec.Axpy(-d, r, m.row(u))
	vec.Axpy(d, p, m.row(i))
	vec.Axpy(-d, p, m.row(j))
	vec.Axpy(l2*m.rate.User, p, m.row(u))
	vec.Axpy(l2*m.rate.Positive, q, m.row(i))
	vec.Axpy(l2*m.rate.Negative, r, m.row(j))
	m.bias[i] += d + l2*m.rate.Bias*t.Bias[triple[1]]
	m.bias[j] += -d + l2*m.rate.Bias*t.Bias[triple[2]]
}

// EvalRows is Eval with the draws of data.Evaluation.
func (m *bpr) EvalRows(w []float32, set *data.Set, from, to int) (Score, bool) {
	t, s := m.on(w), Score{N: to - from}
	for row := int32(from); row < int32(to); row++ {
		loss, _, _, ok := m.entry(t, set, row, data.Evaluation)
		if ok {
			s.Loss += loss
		}
	}
	return s, true
}

// Eval returns the summed loss of the batch's rows.
func (m *bpr) Eval(w []float32, b *data.Batch) Score {
	s := Score{N: len(b.Rows)}
	for _, row := range b.ID {
		one, _ := m.EvalRows(w, b.Of, int(row), int(row)+1)
		s.Loss += one.Loss
	}
	return s
}

// Predict appends the scores of the pairs.
func (m *bpr) Predict(w []float32, b *data.Batch, to []float32) []float32 {
	t := m.on(w)
	for _, x := range b.Rows {
		to = append(to, t.Score(x.Idx[0], x.Idx[1]-uint32(m.users)))
	}
	return to
}

// Candidates returns how many items there are.
func (m *bpr) Candidates() int { return m.items }

// Scores sets the scores of all items for users.
func (m *bpr) Scores(w []float32, queries []Query, scores []float32) {
	t := m.on(w)
	m.dots.scores(queries, t.User, t.Item, m.k, scores)
	for i := range queries {
		vec.Axpy(1, t.Bias, scores[i*m.items:(i+1)*m.items])
	}
}

// flops counts the products of a step: of a user and two items.
func (m *bpr) flops(float64) float64 { return 2 * products * 2 * float64(m.k) }
