package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// kge embeds a knowledge graph: entities and relations are rows of numbers, and the score of a fact (head, relation,
// tail) says how likely it is true: see graphScore. An example is a fact. Up to 64 of them are a chunk, which shares
// negatives: for each side, tail and head, entities that are drawn uniformly by seed, epoch and the chunk's first row.
//
// A relation has a row for each side (reciprocal relations: Lacroix, Usunier, Obozinski 2018, "Canonical tensor
// decomposition for knowledge base completion"): row 2r scores tails, and 2r+1 heads as if they were tails. The loss of
// a fact is the sum over its two sides of
//
//	softmax           -log of the true one's softmax among it and the negatives
//	self-adversarial  -log s(g + score) - sum p log s(-g - a negative's), p the negatives' softmax (Sun et al. 2019)
//
// with the margin g of distances. To it come n3/3 times the cubes, and l2/2 times the squares, of the (complex) numbers
// in the rows of the fact, once a side.
type kge struct {
	t         graphTables
	negatives int
	loss      Loss
	l2, n3    float32
	seed      uint64

	work  vec.Workspace
	facts [][3]uint32
	drawn []uint32 // the negatives
	// of the facts the queries, of the negatives their rows; the scores of all pairs; their gradients
	q, c, z, dq, dc []float32
	dOwn, p         []float32 // the gradients of the true ones' scores; the negatives' softmax
	dz              []vec.Row
	pool            pool
	grads           touched
}

// The losses of kge.
const (
	SampledSoftmax  Loss = "softmax"
	SelfAdversarial Loss = "self-adversarial"
)

// chunkFacts are the facts that share negatives: a block of the order of the rows.
const chunkFacts = data.BlockRows

// Graph is the family of kge:SCORE:K.
var Graph = &Family{
	Chunks: true, Rate: kgeRate, Epochs: kgeEpochs, Schedule: "linear",
	forms: []string{"kge:SCORE:K (kge:complex:128; distmult, transe, rotate)"},
	task: func(name, loss string) (string, error) {
		_, _, err := parseGraph(name, loss)
		return "facts", err
	},
	resolve: func(o Options, m data.Meta) (Spec, error) {
		score, k, err := parseGraph(o.Name, o.Loss)
		if err != nil {
			return Spec{}, err
		}
		if !m.Facts() {
			return Spec{}, fmt.Errorf("model: %s needs the facts of a knowledge graph, and %s has none", o.Name, m.Name)
		}
		s := Spec{Options: o, Name: fmt.Sprintf("kge:%s:%d", score, k), Loss: Loss(o.Loss), Widths: []int{k},
			Features: m.Features, Outputs: 1, Shape: m.Shape}
		if s.Loss == "" {
			s.Loss = SampledSoftmax
		}
		return s, nil
	},
	build: func(s Spec) Model {
		o := s.Options
		score, k, _ := parseGraph(s.Name, "")
		t := graphTables{score: score, entities: s.Shape[0], relations: s.Shape[1], k: k, adagrad: o.AdaptiveRows}
		m := &kge{t: t, negatives: o.Negatives, loss: s.Loss, l2: o.L2, n3: o.N3, seed: o.Seed, grads: newTouched(k)}
		if m.negatives == 0 {
			m.negatives = kgeNegatives
		}
		return m
	},
}

// The defaults: see docs/graphs.md.
const (
	firstDeviation = 0.1
	selfMargin     = 9 // of distances, Sun et al.'s for FB15k-237
	kgeRate        = 0.6
	kgeEpochs      = 30
	kgeNegatives   = 512
	kgeN3          = 0.15
)

// Sampling returns the negatives that are drawn for a side of a chunk, and n3, where they are left to the program.
func (s Spec) Sampling() (negatives int, n3 float64) {
	score, _, _ := parseGraph(s.Name, "")
	if negatives = kgeNegatives; score.distance() {
		return negatives, 0
	}
	return negatives, kgeN3
}

// parseGraph reads the score, and the length of the rows.
func parseGraph(name, loss string) (score graphScore, k int, err error) {
	parts := strings.Split(name, ":")
	if len(parts) == 1 {
		parts = append(parts, string(complexScore))
	}
	if len(parts) == 2 {
		parts = append(parts, "128")
	}
	score = graphScore(parts[1])
	k, err = strconv.Atoi(parts[2])
	switch {
	case len(parts) > 3 || !slices.Contains(graphScores, parts[1]):
		return "", 0, fmt.Errorf("model: %q: want kge:SCORE:K, with the score %s, as kge:complex:128", name,
			strings.Join(graphScores, ", "))
	case err != nil || k < 1 || k > maxVector || score.pairs() && k%2 != 0:
		return "", 0, fmt.Errorf("model: %q: the length of a row must be a number from 1 to %d, and even for complex "+
			"and rotate (write kge:complex:128)", name, maxVector)
	case loss != "" && Loss(loss) != SampledSoftmax && Loss(loss) != SelfAdversarial:
		return "", 0, fmt.Errorf("model: %s has the loss softmax or self-adversarial, not %q", name, loss)
	}
	return score, k, nil
}

// Params are the tables' rows, and perhaps their sums.
func (m *kge) Params() []Param { return m.t.params() }

// Init draws all numbers from U(-b, b); angles from the whole circle.
func (m *kge) Init(w []float32, seed uint64) { m.t.init(w, newSource(seed)) }

// Nodes appends what belongs to the entities from:to.
func (m *kge) Nodes(from, to int, ranges []Range) []Range { return m.t.nodes(from, to, ranges) }

// Suits returns true for facts. A worker's copy would have all entities.
func (m *kge) Suits(set *data.Set) (steps, copied bool) { return set.Facts(), false }

// Steps takes one step for each chunk of the rows, of the sum of their losses.
func (m *kge) Steps(w []float32, set *data.Set, rows []int32, s Step) (loss float64) {
	m.t.apart = s.Common
	m.pool.of(set, rows, s.Twin)
	for len(rows) > 0 {
		n := min(chunkFacts, len(rows))
		m.facts = m.facts[:0]
		for _, i := range rows[:n] {
			m.facts = append(m.facts, [3]uint32(set.Idx[3*i:]))
		}
		loss += m.gather(w, m.key(s.Epoch, rows[0]))
		m.step(w, s.LR)
		rows = rows[n:]
	}
	m.t.apart, m.pool.ranges = nil, nil
	return loss
}

// step moves the rows that were touched.
func (m *kge) step(w []float32, lr float32) {
	for i, node := range m.grads.nodes {
		row := m.t.row(w, node)
		g := m.grads.row(i)[:len(row)]
		if m.t.adagrad {
			sum := m.t.sum(w, node)
			*sum += vec.Dot(g, g) / float32(len(g))
			vec.Axpy(-lr/(float32(math.Sqrt(float64(*sum)))+tiny), g, row)
		} else {
			vec.Axpy(-lr, g, row)
		}
	}
}

// tiny keeps a step finite where no gradient has been.
const tiny = 1e-10

// key returns what the negatives of a chunk are drawn by.
func (m *kge) key(epoch int, first int32) uint64 {
	return mix(mix(mix(m.seed)+uint64(epoch)) + uint64(first))
}

// gather sets touched to the gradient of the chunk's summed loss, which it returns.
func (m *kge) gather(w []float32, key uint64) (loss float64) {
	m.grads.begin(3*len(m.facts) + m.negatives)
	for side := range 2 {
		loss += m.compare(w, key, side)
		m.t.score.compareBack(&m.work, m.q, m.c, m.t.k, m.dz, m.dq, m.dc)
		for j, node := range m.drawn {
			vec.Axpy(1, m.dc[j*m.t.k:][:m.t.k], m.grads.row(m.grads.at(node)))
		}
		for i, fact := range m.facts {
			known, relation, asked := m.t.of(fact, side)
			e, r, c := m.t.row(w, known), m.t.row(w, relation), m.t.row(w, asked)
			de, dr, dc := m.grad(known), m.grad(relation), m.grad(asked)
			dq := m.dq[i*m.t.k:][:m.t.k]
			m.t.score.oneBack(m.dOwn[i], m.q[i*m.t.k:][:m.t.k], c, dq, dc)
			m.t.score.back(e, r, dq, de, dr)
			m.regularize(e, de)
			m.regularize(c, dc)
			if m.t.score != rotatE { // whose relations are angles
				m.regularize(r, dr)
			}
		}
	}
	return loss
}

// grad returns the gradient of a node's row.
func (m *kge) grad(node uint32) []float32 { return m.grads.row(m.grads.at(node)) }

// compare sets the queries and the negatives of a side, and the gradients of the scores, and returns the summed loss.
func (m *kge) compare(w []float32, key uint64, side int) (loss float64) {
	n, k := len(m.facts), m.t.k
	for _, v := range []struct {
		p *[]float32
		n int
	}{{&m.q, n * k}, {&m.c, m.negatives * k}, {&m.z, n * m.negatives}, {&m.dq, n * k}, {&m.dc, m.negatives * k},
		{&m.p, m.negatives}, {&m.dOwn, n}} {
		if cap(*v.p) < v.n {
			*v.p = make([]float32, v.n)
		}
		*v.p = (*v.p)[:v.n]
	}
	clear(m.dq)
	clear(m.dc)
	m.drawn = m.drawn[:0]
	for counter := key + uint64(side); len(m.drawn) < m.negatives; {
		counter += 0x9e3779b97f4a7c15
		node := m.pool.at(mix(counter), m.t.entities)
		copy(m.c[len(m.drawn)*k:], m.t.row(w, node))
		m.drawn = append(m.drawn, node)
	}
	for i, fact := range m.facts {
		known, relation, _ := m.t.of(fact, side)
		m.t.score.query(m.t.row(w, known), m.t.row(w, relation), m.q[i*k:][:k])
	}
	m.t.score.compare(&m.work, m.q, m.c, k, m.z)
	m.dz = m.dz[:0]
	for i, fact := range m.facts {
		_, _, asked := m.t.of(fact, side)
		z := m.z[i*m.negatives:][:m.negatives]
		own := m.t.score.one(m.q[i*k:][:k], m.t.row(w, asked))
		for j, node := range m.drawn {
			if node == asked {
				z[j] = never
			}
		}
		one := 0.
		one, m.dOwn[i] = m.lossOf(z, own)
		loss += one
		m.dz = append(m.dz, vec.Row{Val: z})
	}
	return loss
}

// never is the score of a negative that is the true one: its exponential is 0.
const never = -1e30

// Grad sets g to the gradient of the mean loss of the batch's facts.
func (m *kge) Grad(w []float32, b *data.Batch, g *Gradient) (loss float64) {
	m.take(b.Rows)
	loss = m.gather(w, m.key(b.Epoch, firstOf(b)))
	for i, node := range m.grads.nodes {
		r := m.t.place(node)
		d := m.grads.row(i)[:r.To-r.From]
		vec.Scale(1/float32(len(b.Rows)), d)
		m.grads.parts = append(m.grads.parts, Part{Offset: r.From, Bias: -1, G: d})
	}
	g.Parts = m.grads.parts
	return loss
}

// take sets the facts of a chunk to rows.
func (m *kge) take(rows []data.Row) {
	m.facts = m.facts[:0]
	for _, x := range rows {
		m.facts = append(m.facts, [3]uint32(x.Idx))
	}
}

func firstOf(b *data.Batch) int32 {
	if len(b.ID) == 0 {
		return 0
	}
	return b.ID[0]
}

// Eval returns the summed loss of the batch's facts, with negatives of data.Evaluation.
func (m *kge) Eval(w []float32, b *data.Batch) Score {
	s := Score{N: len(b.Rows)}
	m.take(b.Rows)
	m.eval(w, firstOf(b), &s)
	return s
}

func (m *kge) eval(w []float32, first int32, s *Score) {
	for side := range 2 {
		s.Loss += m.compare(w, m.key(data.Evaluation, first), side)
	}
}

// EvalRows does what Eval does, chunk by chunk.
func (m *kge) EvalRows(w []float32, set *data.Set, from, to int) (Score, bool) {
	s := Score{N: to - from}
	for ; from < to; from += chunkFacts {
		m.facts = m.facts[:0]
		for i := from; i < min(to, from+chunkFacts); i++ {
			m.facts = append(m.facts, [3]uint32(set.Idx[3*i:]))
		}
		m.eval(w, int32(from), &s)
	}
	return s, true
}

// Candidates returns the number of entities.
func (m *kge) Candidates() int { return m.t.entities }

// Scores scores all entities for each query, in one product where the score is one.
func (m *kge) Scores(w []float32, queries []Query, scores []float32) {
	q := make([]float32, len(queries)*m.t.k)
	for i, x := range queries {
		node := uint32(m.t.entities) + 2*x.Relation
		if x.Head {
			node++
		}
		m.t.score.query(m.t.row(w, x.Node), m.t.row(w, node), q[i*m.t.k:][:m.t.k])
	}
	m.t.score.compare(&m.work, q, w[:m.t.entities*m.t.k], m.t.k, scores)
}

// Touched appends the rows of a fact, and where rows have sums these: not the negatives', which the chunk
// shares.
func (m *kge) Touched(set *data.Set, row int32, ranges []Range) []Range {
	fact := [3]uint32(set.Idx[3*row:])
	for side := range 2 {
		known, relation, _ := m.t.of(fact, side)
		ranges = append(ranges, m.t.place(known), m.t.place(relation))
	}
	return ranges
}

// flops counts the three products of a fact's two sides with what it is compared with.
func (m *kge) flops(float64) float64 {
	return 2 * 2 * products * float64(m.negatives) * float64(m.t.k)
}
