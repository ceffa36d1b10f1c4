package data

import (
	"slices"
)

// Query asks for items for a user, or for the entity that a fact lacks.
type Query struct {
	Node     uint32 // the user, or the entity that is known
	Relation uint32 // of a fact, from 0
	Head     bool   // of a fact: its head is asked for, and Node is the tail
}

// Question is a query with the candidates that are right. Both lists are ascending, and have nothing in common.
type Question struct {
	Query
	Answers []uint32
	Known   []uint32 // right too, as other rows say, and no part of the ranking
}

// Answers are the candidates that belong to queries: the items of each user, or the tails and heads of each entity and
// relation.
type Answers struct {
	sides []lists // items; of facts tails, and heads
	facts bool
}

// Ranks reports whether rows are pairs of a query and a candidate that belongs to it.
func (m *Meta) Ranks() bool { return m.Matrix() || m.Facts() }

// AnswersIn returns the answers that rows of sets have, which are about the same users or entities; nil ones are left
// out.
func AnswersIn(sets ...*Set) *Answers {
	sets = slices.DeleteFunc(slices.Clone(sets), func(s *Set) bool { return s == nil })
	a := &Answers{}
	if len(sets) == 0 {
		return a
	}
	m := &sets[0].Meta
	if a.facts = m.Facts(); !a.facts {
		users := uint32(m.Shape[0])
		a.sides = []lists{listsOf(int(users), sets, func(idx []uint32, i int) (uint32, uint64) {
			return idx[2*i], uint64(idx[2*i+1] - users)
		})}
		return a
	}
	entities := uint32(m.Shape[0])
	about := func(known, wanted int) lists {
		return listsOf(int(entities), sets, func(idx []uint32, i int) (uint32, uint64) {
			return idx[3*i+known], uint64(idx[3*i+1]-entities)<<32 | uint64(idx[3*i+wanted])
		})
	}
	a.sides = []lists{about(0, 2), about(2, 0)}
	return a
}

// To returns the candidates that belong to a query, ascending.
func (a *Answers) To(q Query) []uint32 {
	if len(a.sides) == 0 {
		return nil
	}
	side := a.sides[0]
	if q.Head {
		side = a.sides[1]
	}
	all := side.of(int(q.Node))
	from, _ := slices.BinarySearch(all, uint64(q.Relation)<<32)
	to, _ := slices.BinarySearch(all, (uint64(q.Relation)+1)<<32)
	return candidates(all[from:to])
}

// Questions returns what rows of a set ask of a model: for each of their users the items, and for each of their facts
// both the tail and the head. Facts with one entity and relation are a single question. An item that is known is no
// answer any more, since it needs not be found; a fact that is known is an answer where a row of the set has it.
func Questions(set *Set, known *Answers) (all []Question) {
	own := AnswersIn(set)
	for side, l := range own.sides {
		for node := range len(l.ptr) - 1 {
			for list := l.of(node); len(list) > 0; {
				relation := list[0] >> 32
				end, _ := slices.BinarySearch(list, (relation+1)<<32)
				q := Question{Query: Query{uint32(node), uint32(relation), side == 1}, Answers: candidates(list[:end])}
				q.Known, list = known.To(q.Query), list[end:]
				if own.facts {
					q.Known = without(q.Known, q.Answers)
				} else {
					q.Answers = without(q.Answers, q.Known)
				}
				if len(q.Answers) > 0 {
					all = append(all, q)
				}
			}
		}
	}
	return all
}

// without returns what is in an ascending list, and not in another. It writes over the first.
func without(list, other []uint32) []uint32 {
	kept := list[:0]
	for _, v := range list {
		for len(other) > 0 && other[0] < v {
			other = other[1:]
		}
		if len(other) == 0 || other[0] != v {
			kept = append(kept, v)
		}
	}
	return kept
}

// candidates returns the lower halves.
func candidates(list []uint64) []uint32 {
	all := make([]uint32, len(list))
	for i, v := range list {
		all[i] = uint32(v)
	}
	return all
}

// lists are what each node has, different numbers in ascending order: a relation above a candidate.
type lists struct {
	ptr []int64 // list i is at[ptr[i]:ptr[i+1]]
	at  []uint64
}

func (l lists) of(node int) []uint64 { return l.at[l.ptr[node]:l.ptr[node+1]] }

// listsOf sorts entries by their nodes, n of them: a count, then a place for each.
func listsOf(n int, sets []*Set, entry func(idx []uint32, i int) (node uint32, number uint64)) lists {
	l := lists{ptr: make([]int64, n+1)}
	next := make([]int64, n+1)
	for _, s := range sets {
		for i := range s.Rows {
			node, _ := entry(s.Idx, i)
			next[node+1]++
		}
	}
	for i := range n {
		next[i+1] += next[i]
	}
	copy(l.ptr, next)
	l.at = make([]uint64, l.ptr[n])
	for _, s := range sets {
		for i := range s.Rows {
			node, number := entry(s.Idx, i)
			l.at[next[node]] = number
			next[node]++
		}
	}
	length := make([]int, n)
	parallel(0, n, func(from, to int) {
		for i := from; i < to; i++ {
			list := l.of(i)
			slices.Sort(list)
			length[i] = len(slices.Compact(list))
		}
	})
	kept := int64(0)
	for i, m := range length {
		kept += int64(copy(l.at[kept:], l.of(i)[:m]))
		l.ptr[i] = kept - int64(m)
	}
	l.ptr[n], l.at = kept, l.at[:kept]
	return l
}
