package data

import "hogwild/shm"

// factRows are the triples of a knowledge graph: the head, behind all entities the relation, and the tail.
type factRows struct{ bare }

func init() { layouts[Facts] = factRows{} }

func (factRows) inputs(s *Set, _ int) []array {
	return []array{ofRows("idx", shm.U32, &s.Idx, s.Rows, 3)}
}

func (factRows) former(s *Set) former {
	return func(b *Batch, rows, _ []int32) {
		for _, i := range rows {
			b.Rows = append(b.Rows, Row{Idx: s.Idx[3*i : 3*i+3 : 3*i+3], Val: allOnes[:]})
		}
	}
}

// allOnes are the values of every fact.
var allOnes = [3]float32{1, 1, 1}

func (factRows) count(s *Set) { countNodes(s) }

func (factRows) damage(s *Set) string {
	if len(s.Shape) != 2 || s.Shape[0] < 1 || s.Shape[1] < 1 || s.Shape[0]+s.Shape[1] != s.Features {
		return "the entities and relations are not as many as the features"
	}
	if len(s.Columns) != s.Features {
		return "the entities and relations are not as many as their names"
	}
	if e := uint32(s.Shape[0]); !every(s.Rows, func(i int) bool {
		return s.Idx[3*i] < e && s.Idx[3*i+1] >= e && s.Idx[3*i+2] < e
	}) {
		return "a fact is not a head, a relation and a tail"
	}
	return ""
}
