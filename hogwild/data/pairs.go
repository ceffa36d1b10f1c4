package data

import (
	"fmt"

	"hogwild/hogwild/data/format"
	"hogwild/shm"
)

// pairs is the entries of a matrix, or the edges of a graph, on their way into a set:
// two nodes and a value each. Of a matrix the second node is behind all rows. There may
// be many more of them than memory has room for twice: they are made or looked up one
// at a time, each where the set wants it.
type pairs struct {
	Meta
	budget *format.Budget
	at     func(i int) (a, b uint32, y float32) // of Rows; by several goroutines at once
	weight []float32                            // of each; nil: they have none
	read   bool                                 // it looks them up
	likes  *likes                               // of Implicit
}

// store puts the pairs into a sealed segment, in their own order or in one drawn from
// the seed: position i then holds the pair that a permutation sends there, which takes
// no memory.
func (p *pairs) store(shuffle bool, seed uint64) (*Set, error) {
	stored := 0
	if p.Implicit {
		stored = len(p.likes.items)
	}
	s, err := createAround(p.Meta, stored, p.weight != nil, p.budget, nil)
	if err != nil {
		return nil, err
	}
	if p.Implicit {
		copy(s.SeenPtr, p.likes.ptr)
		copy(s.Seen, p.likes.items)
	}
	scratch, key := p.budget.Space(), mix(mix(seed)+drawRows)
	row := func(i int) int {
		if shuffle && p.Rows > 1 {
			return permute(i, p.Rows, key)
		}
		return i
	}
	put := func(i, j int) {
		if s.Idx[2*i], s.Idx[2*i+1], s.Y[i] = p.at(j); s.W != nil {
			s.W[i] = p.weight[j]
		}
	}
	return filled(s, p.budget, func(from, to int) {
		if p.read && scratch != nil {
			inOrder(scratch, from, to, row, put)
		} else {
			parallel(from, to, func(from, to int) {
				for i := from; i < to; i++ {
					put(i, row(i))
				}
			})
		}
		if to == p.Rows {
			s.Targets = spreadOf(s.Y)
		}
	})
}

// pairRows are the entries of a matrix, or the edges of a graph: two features a row, each of value 1.
type pairRows struct{ bare }

func init() { layouts[Pairs] = pairRows{} }

func (pairRows) scaledInPlace() bool { return false }

func (pairRows) inputs(s *Set, stored int) []array {
	all := []array{ofRows("idx", shm.U32, &s.Idx, s.Rows, 2)}
	if s.Implicit {
		all = append(all, &arrayOf[int64]{name: "seen.ptr", kind: shm.I64, v: &s.SeenPtr, shape: []int{s.Shape[0] + 1}},
			&arrayOf[uint32]{name: "seen", kind: shm.U32, v: &s.Seen, shape: []int{max(stored, len(s.Seen))}})
	}
	return all
}

// ones are the values of every pair.
var ones = [2]float32{1, 1}

func (pairRows) former(s *Set) former {
	return func(b *Batch, rows, _ []int32) {
		if s.Implicit {
			b.Of = s
		}
		for _, i := range rows {
			b.Rows = append(b.Rows, Row{Idx: s.Idx[2*i : 2*i+2 : 2*i+2], Val: ones[:]})
		}
	}
}

func (pairRows) count(s *Set) { countNodes(s) }

func (pairRows) damage(s *Set) string {
	switch err := s.checkIDs(); {
	case err != nil:
		return err.Error()
	case s.Columns != nil && len(s.Columns) != s.Features:
		return "the ids are not as many as their names"
	case s.Matrix() && !every(s.Rows, func(i int) bool {
		rows := uint32(s.Shape[0])
		return s.Idx[2*i] < rows && s.Idx[2*i+1] >= rows
	}):
		return "an entry is outside of the matrix"
	case s.Implicit && !s.seenFits():
		return "what users are known to like is not in order"
	}
	return ""
}

// seenFits reports whether the items of each user are columns, ascending.
func (s *Set) seenFits() bool {
	if !s.Matrix() || s.SeenPtr[0] != 0 || s.SeenPtr[s.Shape[0]] > int64(len(s.Seen)) ||
		!every(s.Shape[0], func(u int) bool { return s.SeenPtr[u] <= s.SeenPtr[u+1] }) {
		return false
	}
	return every(s.Shape[0], func(u int) bool {
		liked := s.Seen[s.SeenPtr[u]:s.SeenPtr[u+1]]
		for i, j := range liked {
			if int(j) >= s.Shape[1] || i > 0 && liked[i-1] >= j {
				return false
			}
		}
		return true
	})
}

// entryBytes is what an entry takes: 12 bytes, and a sixth more if it is held out.
const entryBytes = 14

func (pairRows) allocate(t *table, f *format.File) error {
	n := f.Rows
	err := t.budget.Take(t.path, int64(n)*entryBytes, count(n)+" entries")
	if err == nil {
		t.idx, t.val = format.Array[uint32](t.budget, 2*n, &err), format.Array[float32](t.budget, n, &err)
	}
	return err
}

func (pairRows) add(t *table, row *format.Row) {
	t.idx, t.val = append(t.idx, row.IDs[0], row.IDs[1]), append(t.val, float32(row.Label))
}

// again returns the same segment once more, which takes no memory. A graph is cut, not
// learnt: what is trained on is what is evaluated.
func (s *Set) again() (*Set, error) {
	seg, err := s.seg.Again()
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", s.Name, err)
	}
	t, err := attached(seg)
	if err == nil {
		t.Notes, t.shared = nil, true
	}
	return t, err
}

// place returns the row and the column of an entry.
func (e *table) place(i int) [2]uint32 { return [2]uint32(e.idx[2*i:]) }

// noteCopies notes how many entries have the row and the column of an earlier one. Of many entries a sample of places
// will do: by their hash, so that all copies of a place are in it or none.
func (p *pairs) noteCopies(e *table) {
	among, copies, share := map[[2]uint32]bool{}, 0, uint64(len(e.val)/100_000+1)
	for i := range e.val {
		at := e.place(i)
		if mix(uint64(at[0])<<32|uint64(at[1]))%share > 0 {
			continue
		}
		if among[at] {
			copies++
		}
		among[at] = true
	}
	about := ""
	if share > 1 {
		about = "about "
	}
	if copies > 0 {
		p.notef("%s%s of %s entries have the row and the column of an earlier one: each counts", about,
			count(copies*int(share)), count(len(e.val)))
	}
}

// noteFull refuses a training set in which every user likes every item, and notes users who do.
func (p *pairs) noteFull(l *likes) error {
	full, with := 0, 0
	for u := range p.Shape[0] {
		n := l.ptr[u+1] - l.ptr[u]
		if n > 0 {
			with++
		}
		if n == int64(p.Shape[1]) {
			full++
		}
	}
	switch {
	case full == with:
		return fmt.Errorf("data: %s: every user likes every item (%s), so there is nothing to rank: keep the best "+
			"with --positive", p.Name, count(p.Shape[1]))
	case full > 0:
		p.notef("users who like all %s items, and have no negatives: %s of %s", count(p.Shape[1]), count(full),
			count(p.Shape[0]))
	}
	return nil
}
