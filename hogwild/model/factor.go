package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// factor is matrix factorization: the entry in row u and column i is
//
//	z = mean + p_u . q_i (+ b_u + b_i)
//
// under the squared loss. Mean is the training entries' mean, and stays. L2 acts on
// the two factors of an entry whenever it is visited, as in the Hogwild! paper (Niu et
// al. 2011, section 2) and in LIBMF: the objective is the mean over the entries of
// (z - y)^2 + l2/2 (|p_u|^2 + |q_i|^2). Biases are free of it.
//
// Row and column factors are one table of nodes: a pair has the node of its row and,
// behind the rows, the node of its column.
type factor struct {
	rows, columns, k int
	biased           bool
	mean, l2         float32
	scale            float32 // of the first factors
	touched
	halves vec.Factors // the weights of the last half-step: to describe them anew would take as long as the step
	dots   dots
}

// maxRank bounds the width of factors.
const maxRank = 1 << 12

// Factor is the family of factor:RANK.
var Factor = &Family{
	Entries: true, Weighs: true, Halves: true, forms: []string{"factor:RANK (factor:32)"},
	task: func(name, loss string) (string, error) {
		if _, err := parseRank(name); err != nil {
			return "", err
		}
		return "triples", onlySquared(name, loss)
	},
	resolve: resolveFactor,
	build: func(s Spec) Model {
		k := s.Widths[0]
		// A row's square is 1/300 of the deviation. So directions that tell most of the entries grow first; of longer
		// rows, what lies along other directions would stay, as noise.
		scale := 0.1 * math.Sqrt(math.Max(float64(s.Deviation), 1e-3)/float64(k))
		return &factor{rows: s.Shape[0], columns: s.Shape[1], k: k, biased: s.Options.Biases,
			mean: s.Mean, l2: s.Options.L2, scale: float32(scale), touched: newTouched(k)}
	},
}

func resolveFactor(o Options, m data.Meta) (Spec, error) {
	k, err := parseRank(o.Name)
	if err == nil {
		err = onlySquared(o.Name, o.Loss)
	}
	if err != nil {
		return Spec{}, err
	}
	if !m.Matrix() {
		return Spec{}, fmt.Errorf("model: %s needs a matrix, as entries (row, column, value), and %s is not one; see "+
			"--format ratings", o.Name, m.Name)
	}
	return Spec{Options: o, Name: fmt.Sprintf("factor:%d", k), Loss: Squared, Widths: []int{k},
		Features: m.Features, Outputs: 1,
		Shape: m.Shape, Mean: m.Targets.Mean, Deviation: m.Targets.Deviation}, nil
}

func onlySquared(name, loss string) error {
	if loss != "" && Loss(loss) != Squared {
		return fmt.Errorf("model: %s has the squared loss, not %q: leave --loss out", name, loss)
	}
	return nil
}

func parseRank(name string) (int, error) {
	_, text, _ := strings.Cut(name, ":")
	k, err := strconv.Atoi(text)
	if err != nil || k < 1 || k > maxRank {
		return 0, fmt.Errorf("model: %q: the rank must be a number from 1 to %d (write factor:32)", name, maxRank)
	}
	return k, nil
}

// nodes returns the number of rows and columns.
func (m *factor) nodes() int { return m.rows + m.columns }

func (m *factor) Params() []Param {
	ps := []Param{{Name: "user.weight", Shape: []int{m.rows, m.k}}, {Name: "item.weight", Shape: []int{m.columns, m.k}}}
	if m.biased {
		ps = append(ps, Param{Name: "user.bias", Shape: []int{m.rows}},
			Param{Name: "item.bias", Shape: []int{m.columns}})
	}
	return append(ps, Param{Name: "mean", Shape: []int{1}, Fixed: true})
}

// Init draws the factors uniformly around zero: at zero they would stay there.
func (m *factor) Init(w []float32, seed uint64) {
	n := m.nodes() * m.k
	newSource(seed).uniform(w[:n], m.scale)
	clear(w[n:])
	w[len(w)-1] = m.mean
}

// view returns w as a matrix in factors.
func (m *factor) view(w []float32) vec.Factors {
	n := m.nodes() * m.k
	f := vec.Factors{K: m.k, W: w[:n], Mean: w[len(w)-1]}
	if m.biased {
		f.Bias = w[n : n+m.nodes()]
	}
	return f
}

// on returns view(w) for half-steps, which come with the same w time after time.
func (m *factor) on(w []float32) *vec.Factors {
	if f := &m.halves; len(f.W) == 0 || &f.W[0] != &w[0] {
		m.halves = m.view(w)
	}
	m.halves.Mean = w[len(w)-1]
	return &m.halves
}

func (m *factor) Grad(w []float32, b *data.Batch, g *Gradient) (loss float64) {
	f := m.view(w)
	m.begin(len(b.Rows))
	mean := 1 / float32(len(b.Rows))
	for i, x := range b.Rows {
		u, v := x.Idx[0], x.Idx[1]
		e := f.At(u, v) - b.Y[i]
		a := b.WeightOf(i)
		loss += float64(a) * float64(e) * float64(e)
		m.gather(&f, u, v, 2*e*mean*a, m.l2*mean*a)
	}
	for i, node := range m.touched.nodes {
		m.parts = append(m.parts, Part{Offset: int(node) * m.k, Bias: -1, G: m.row(i)})
		if m.biased {
			m.parts = append(m.parts, Part{Offset: m.nodes()*m.k + int(node), Bias: -1, G: m.bias[i : i+1]})
		}
	}
	g.Parts = m.parts
	return loss
}

// gather adds one entry's gradient to its nodes'.
func (m *factor) gather(f *vec.Factors, u, v uint32, d, l2 float32) {
	i, j := m.at(u), m.at(v)
	p, q := f.Row(u), f.Row(v)
	vec.Axpy(d, q, m.row(i))
	vec.Axpy(d, p, m.row(j))
	if l2 != 0 {
		vec.Axpy(l2, p, m.row(i))
		vec.Axpy(l2, q, m.row(j))
	}
	m.bias[i] += d
	m.bias[j] += d
}

func (m *factor) Eval(w []float32, b *data.Batch) Score {
	f := m.view(w)
	s := Score{N: len(b.Y)}
	for i, x := range b.Rows {
		y := float64(b.Y[i])
		e := float64(f.At(x.Idx[0], x.Idx[1])) - y
		s.SqErr += e * e
		s.Loss += float64(b.WeightOf(i)) * e * e
		s.Y += y
		s.Y2 += y * y
	}
	return s
}

// Predict appends the values of the pairs.
func (m *factor) Predict(w []float32, b *data.Batch, to []float32) []float32 {
	f := m.view(w)
	for _, x := range b.Rows {
		to = append(to, f.At(x.Idx[0], x.Idx[1]))
	}
	return to
}

func (m *factor) Candidates() int { return m.columns }

// Scores adds to the products of factors what Predict adds.
func (m *factor) Scores(w []float32, queries []Query, scores []float32) {
	f := m.view(w)
	users := m.rows * m.k
	m.dots.scores(queries, f.W[:users], f.W[users:], m.k, scores)
	for i, q := range queries {
		base, row := f.Mean, scores[i*m.columns:(i+1)*m.columns]
		if f.Bias != nil {
			base += f.Bias[q.Node]
			vec.Axpy(1, f.Bias[m.rows:], row)
		}
		for c := range row {
			row[c] += base
		}
	}
}

// Suits reports that Steps is for every set of pairs, and that no worker may train a
// copy: of a large matrix each worker would have its own.
func (m *factor) Suits(set *data.Set) (steps, copied bool) { return set.Entries(), false }

// Steps runs the fast loop: see vec.Factors.
func (m *factor) Steps(w []float32, set *data.Set, rows []int32, s Step) (loss float64) {
	f := m.view(w)
	if !set.Weighted() {
		return f.Steps(rows, set.Idx, set.Y, m.rate(s))
	}
	for k, i := range rows {
		a := set.WeightOf(i)
		loss += float64(a) * f.Steps(rows[k:k+1], set.Idx, set.Y, m.rate(s.times(a)))
	}
	return loss
}

func (m *factor) rate(s Step) vec.FactorRate {
	return vec.FactorRate{Keep: 1 - s.LR*m.l2, Rate: -2 * s.LR}
}

// CoefLen: the values that were read are among them.
func (m *factor) CoefLen() int { return vec.Coefs(m.k) }

func (m *factor) Read(w []float32, set *data.Set, rows []int32, s Step, coef []float32,
	g *vec.Guard) (done int, loss, p float64) {
	if set.Weighted() { // whose rates differ
		a := set.WeightOf(rows[0])
		_, loss = m.on(w).Guarded(rows[:1], set.Idx, set.Y, coef, m.rate(s), nil)
		return 0, float64(a) * loss, 1
	}
	done, loss = m.on(w).Guarded(rows, set.Idx, set.Y, coef, m.rate(s), g)
	return done, loss, 1
}

func (m *factor) Write(w []float32, set *data.Set, row int32, s Step, coef []float32) {
	m.on(w).Write(row, set.Idx, set.Y, coef, m.rate(s.times(set.WeightOf(row))))
}

func (m *factor) WriteAtomic(w []uint32, set *data.Set, row int32, s Step, coef []float32) {
	n := m.nodes() * m.k
	var biases []uint32
	if m.biased {
		biases = w[n : n+m.nodes()]
	}
	m.halves.K = m.k
	m.halves.WriteAtomic(w[:n], biases, set.Idx[2*row], set.Idx[2*row+1], coef,
		m.rate(s.times(set.WeightOf(row))))
}

// Touched appends the factors of the entry's row and of its column, and their biases.
func (m *factor) Touched(set *data.Set, row int32, ranges []Range) []Range {
	for _, node := range set.Idx[2*row : 2*row+2] {
		ranges = m.Nodes(int(node), int(node)+1, ranges)
	}
	return ranges
}

// Nodes appends the factors and the biases of the nodes from:to.
func (m *factor) Nodes(from, to int, ranges []Range) []Range {
	ranges = append(ranges, Range{from * m.k, to * m.k})
	if m.biased {
		n := m.nodes() * m.k
		ranges = append(ranges, Range{n + from, n + to})
	}
	return ranges
}
