package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// cut is the multiway cut of a graph, relaxed (Calinescu, Karloff, Rabani 1998; the
// third task of Niu et al.: Hogwild!, 2011, section 2): each node v has a point x_v of
// the simplex with a corner for each of d terminals, and
//
//	sum over edges (u, v) of weight/2 |x_u - x_v|_1
//
// is as small as can be. The terminals are the nodes 0 to d-1, fixed at their corners.
// When every x is at a corner, the sum is the weight of the edges that the cut goes
// through: |x_u - x_v|_1 is then 0 or 2. With two terminals some minimum is at corners,
// and it is the minimum cut that parts them.
//
// A step moves the ends of one edge, and then projects them onto the simplex.
type cut struct {
	n, d int // nodes, terminals
	touched
	move []float32 // 2 x d: where a step takes the two ends
	was  []float32 // 2 x d: where they are
	room []float32
}

// Cut is the family of cut and cut:TERMINALS.
var Cut = &Family{
	Projects: true, Whole: true, forms: []string{"cut"},
	task: func(name, loss string) (string, error) {
		_, err := parseCut(name, loss)
		return "edges", err
	},
	resolve: func(o Options, m data.Meta) (Spec, error) {
		d, err := parseCut(o.Name, o.Loss)
		switch {
		case err != nil:
			return Spec{}, err
		case !m.Graph():
			return Spec{}, fmt.Errorf("model: %s needs a graph, as edges (node, node, weight), and %s is not one",
				o.Name, m.Name)
		case d >= m.Features:
			return Spec{}, fmt.Errorf("model: %s: %d terminals, but %s has only %d nodes", o.Name, d,
				m.Name, m.Features)
		}
		return Spec{Options: o, Name: fmt.Sprintf("cut:%d", d), Loss: L1, Widths: []int{d}, Features: m.Features,
			Outputs: d}, nil
	},
	build: func(s Spec) Model {
		d := s.Outputs
		return &cut{n: s.Features, d: d, touched: newTouched(d), move: make([]float32, 2*d), was: make([]float32, 2*d),
			room: make([]float32, d)}
	},
}

// parseCut reads the number of terminals, which is 2 when the name has none.
func parseCut(name, loss string) (int, error) {
	if loss != "" && Loss(loss) != L1 {
		return 0, fmt.Errorf("model: the loss of %s is the weight of the cut, not %q: leave --loss out", name, loss)
	}
	_, text, given := strings.Cut(name, ":")
	if !given {
		return 2, nil
	}
	d, err := strconv.Atoi(text)
	if err != nil || d < 2 || d > maxWidth {
		return 0, fmt.Errorf("model: %q: the terminals must be a number from 2 to %d (write cut, or cut:10)",
			name, maxWidth)
	}
	return d, nil
}

func (m *cut) Params() []Param { return []Param{{Name: "node.weight", Shape: []int{m.n, m.d}}} }

// Init puts the terminals at their corners and all others in the middle.
func (m *cut) Init(w []float32, _ uint64) {
	for i := range w {
		w[i] = 1 / float32(m.d)
	}
	for v := range m.d {
		clear(m.point(w, uint32(v)))
		w[v*m.d+v] = 1
	}
}

// point returns x of node v.
func (m *cut) point(w []float32, v uint32) []float32 { return w[int(v)*m.d : (int(v)+1)*m.d] }

// Grad leaves the terminals out: they do not move.
func (m *cut) Grad(w []float32, b *data.Batch, g *Gradient) (loss float64) {
	m.begin(len(b.Rows))
	mean := 1 / float32(len(b.Rows))
	for i, x := range b.Rows {
		u, v := x.Idx[0], x.Idx[1]
		loss += float64(b.Y[i]) * m.distance(w, u, v)
		half := b.Y[i] / 2 * mean
		for _, end := range [2][2]uint32{{u, v}, {v, u}} {
			if int(end[0]) < m.d {
				continue
			}
			row := m.row(m.at(end[0]))
			other := m.point(w, end[1])
			for c, mine := range m.point(w, end[0]) {
				row[c] += half * sign(mine-other[c])
			}
		}
	}
	for i, node := range m.nodes {
		m.parts = append(m.parts, Part{Offset: int(node) * m.d, Bias: -1, G: m.row(i), Simplex: m.d})
	}
	g.Parts = m.parts
	return loss
}

// distance returns |x_u - x_v|_1 / 2.
func (m *cut) distance(w []float32, u, v uint32) (sum float64) {
	q := m.point(w, v)
	for c, p := range m.point(w, u) {
		sum += float64(max(p-q[c], q[c]-p))
	}
	return sum / 2
}

func sign(v float32) float32 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return v // zero, or not a number
}

// Eval has the loss alone: there is nothing to predict.
func (m *cut) Eval(w []float32, b *data.Batch) Score {
	s := Score{N: len(b.Y)}
	for i, x := range b.Rows {
		s.Loss += float64(b.Y[i]) * m.distance(w, x.Idx[0], x.Idx[1])
	}
	return s
}

// Suits reports that Steps is for every set of pairs, each worker on the weights of all.
func (m *cut) Suits(set *data.Set) (steps, copied bool) { return set.Entries(), false }

// Steps takes the step of each edge, straight at the points of its two ends.
func (m *cut) Steps(w []float32, set *data.Set, rows []int32, s Step) (loss float64) {
	for _, r := range rows {
		u, v := set.Idx[2*r], set.Idx[2*r+1]
		p, q := m.point(w, u), m.point(w, v)
		q = q[:len(p)]
		to, from := m.move[:len(p)], m.move[len(p):][:len(p)]
		half, sum := set.Y[r]/2*s.LR, float32(0)
		for c, pc := range p {
			apart := pc - q[c]
			by := half * sign(apart)
			to[c], from[c] = pc-by, q[c]+by
			sum += max(apart, -apart)
		}
		loss += float64(set.Y[r]) / 2 * float64(sum)
		m.put(p, q, u, v, to, from)
	}
	return loss
}

// put projects both ends to where they go, and moves them there; terminals stay.
func (m *cut) put(p, q []float32, u, v uint32, to, from []float32) {
	if int(u) >= m.d {
		Project(to, m.room)
		copy(p, to)
	}
	if int(v) >= m.d {
		Project(from, m.room)
		copy(q, from)
	}
}

// CoefLen: the ends of an edge move by the same numbers, one of them backwards.
func (m *cut) CoefLen() int { return m.d }

// Read sets coef to the signs of the differences.
func (m *cut) Read(w []float32, set *data.Set, rows []int32, _ Step, coef []float32,
	_ *vec.Guard) (none int, loss, one float64) {
	r, sum := rows[0], float32(0)
	p, q := m.point(w, set.Idx[2*r]), m.point(w, set.Idx[2*r+1])
	q, coef = q[:len(p)], coef[:len(p)]
	for c, pc := range p {
		apart := pc - q[c]
		coef[c] = sign(apart)
		sum += max(apart, -apart)
	}
	return 0, float64(set.Y[r]) / 2 * float64(sum), 1
}

// Write moves both ends, and projects them.
func (m *cut) Write(w []float32, set *data.Set, row int32, s Step, coef []float32) {
	u, v := set.Idx[2*row], set.Idx[2*row+1]
	p, q := m.point(w, u), m.point(w, v)
	to, from := m.moved(p, q, set.Y[row]/2*s.LR, coef)
	m.put(p, q, u, v, to, from)
}

// moved returns both ends, moved and not yet projected.
func (m *cut) moved(p, q []float32, half float32, coef []float32) (to, from []float32) {
	to, from = m.move[:len(p)], m.move[len(p):][:len(p)]
	q, coef = q[:len(p)], coef[:len(p)]
	for c, pc := range p {
		by := half * coef[c]
		to[c], from[c] = pc-by, q[c]+by
	}
	return to, from
}

// WriteAtomic adds, to what others have made of an end meanwhile, the difference.
func (m *cut) WriteAtomic(w []uint32, set *data.Set, row int32, s Step, coef []float32) {
	u, v := set.Idx[2*row], set.Idx[2*row+1]
	was := m.was
	for c := range m.d {
		was[c] = math.Float32frombits(atomic.LoadUint32(&w[int(u)*m.d+c]))
		was[m.d+c] = math.Float32frombits(atomic.LoadUint32(&w[int(v)*m.d+c]))
	}
	to, from := m.moved(was[:m.d], was[m.d:], set.Y[row]/2*s.LR, coef)
	if int(u) >= m.d {
		Project(to, m.room)
		vec.ReplaceAtomic(w[int(u)*m.d:], was, to)
	}
	if int(v) >= m.d {
		Project(from, m.room)
		vec.ReplaceAtomic(w[int(v)*m.d:], was[m.d:], from)
	}
}

// Touched appends the points of both ends: terminals do not move.
func (m *cut) Touched(set *data.Set, row int32, ranges []Range) []Range {
	for _, node := range set.Idx[2*row : 2*row+2] {
		if int(node) >= m.d {
			ranges = append(ranges, Range{int(node) * m.d, (int(node) + 1) * m.d})
		}
	}
	return ranges
}
