package model

import "math"

// graphTables are the rows of entities and of relations in the weights of kge.
type graphTables struct {
	score               graphScore
	entities, relations int
	k                   int
	adagrad             bool      // each row has the sum of its mean squared gradients, by whose root steps are divided
	apart               []float32 // what belongs to relations, where a step has it not in the weights
}

func (t *graphTables) params() []Param {
	ps := []Param{{Name: "entity.weight", Shape: []int{t.entities, t.k}},
		{Name: "relation.weight", Shape: []int{2 * t.relations, t.score.relation(t.k)}, Common: true}}
	if t.adagrad { // what belongs to relations is one stretch: see Common
		ps = []Param{ps[0], {Name: "entity.sum", Shape: []int{t.entities}}, ps[1],
			{Name: "relation.sum", Shape: []int{2 * t.relations}, Common: true}}
	}
	return ps
}

// init draws all numbers from U(-b, b); angles from the whole circle.
func (t *graphTables) init(w []float32, s *source) {
	b := float32(firstDeviation * math.Sqrt(3))
	clear(w)
	s.uniform(w[:t.entities*t.k], b)
	if t.score == rotatE {
		b = math.Pi
	}
	first := t.common()
	s.uniform(w[first:first+2*t.relations*t.score.relation(t.k)], b)
}

// common returns where the weights of relations begin.
func (t *graphTables) common() int {
	if t.adagrad {
		return t.entities * (t.k + 1)
	}
	return t.entities * t.k
}

// place returns the row of a node: of an entity, or behind all of them of a relation's side.
func (t *graphTables) place(node uint32) Range {
	if r := int(node) - t.entities; r >= 0 {
		n := t.score.relation(t.k)
		from := t.common() + r*n
		return Range{from, from + n}
	}
	return Range{int(node) * t.k, (int(node) + 1) * t.k}
}

// row returns the row of a node: a relation's among the ones in a step's Common, if there are any.
func (t *graphTables) row(w []float32, node uint32) []float32 {
	r := t.place(node)
	if t.apart != nil && int(node) >= t.entities {
		first := t.common()
		return t.apart[r.From-first : r.To-first : r.To-first]
	}
	return w[r.From:r.To:r.To]
}

// sum returns the sum of a node's squared gradients.
func (t *graphTables) sum(w []float32, node uint32) *float32 {
	r := int(node) - t.entities
	switch {
	case r < 0:
		return &w[t.entities*t.k+int(node)]
	case t.apart != nil:
		return &t.apart[len(t.apart)-2*t.relations+r]
	}
	return &w[len(w)-2*t.relations+r]
}

// of returns the nodes of a fact's side: the entity that is known, the relation, the entity that is asked for.
func (t *graphTables) of(fact [3]uint32, side int) (known, relation, asked uint32) {
	e := uint32(t.entities)
	return fact[2*side], e + 2*(fact[1]-e) + uint32(side), fact[2-2*side]
}

// nodes appends what belongs to the entities from:to.
func (t *graphTables) nodes(from, to int, ranges []Range) []Range {
	ranges = append(ranges, Range{from * t.k, to * t.k})
	if t.adagrad {
		ranges = append(ranges, Range{t.entities*t.k + from, t.entities*t.k + to})
	}
	return ranges
}
