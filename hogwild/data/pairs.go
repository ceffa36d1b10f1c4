package data

import (
	"fmt"
	"math"

	"hogwild/hogwild/data/format"
)

// pairs is the entries of a matrix, or the edges of a graph, on their way into a set:
// two nodes and a value each. Of a matrix the second node is behind all rows. There may
// be many more of them than memory has room for twice: they are made or looked up one
// at a time, each where the set wants it.
type pairs struct {
	Meta
	room *format.Budget
	at   func(i int) (a, b uint32, y float32) // of Rows; by several goroutines at once
	read bool                                 // it looks them up
}

// store puts the pairs into a sealed segment, in their own order or in one drawn from
// the seed: position i then holds the pair that a permutation sends there, which takes
// no memory.
func (p *pairs) store(shuffle bool, seed uint64) (*Set, error) {
	s, err := create(p.Meta, 0, p.room)
	if err != nil {
		return nil, err
	}
	sp, key := p.room.Space(), mix(mix(seed)+drawRows)
	row := func(i int) int {
		if shuffle && p.Rows > 1 {
			return permute(i, p.Rows, key)
		}
		return i
	}
	put := func(i, j int) { s.Idx[2*i], s.Idx[2*i+1], s.Y[i] = p.at(j) }
	err = windows(sp, s, p.Rows, func(from, to int) {
		if p.read && sp != nil {
			inOrder(sp, from, to, row, put)
			return
		}
		parallel(to-from, func(a, b int) {
			for i := from + a; i < from+b; i++ {
				put(i, row(i))
			}
		})
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	s.Targets = spreadOf(s.Y)
	return sealed(s)
}

// spreadOf tells how y lies.
func spreadOf(y []float32) Spread {
	s := Spread{Min: y[0], Max: y[0]}
	var sum, squares float64
	for _, v := range y {
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	n := float64(len(y))
	s.Mean = float32(sum / n)
	s.Deviation = float32(math.Sqrt(max(0, squares/n-sum/n*(sum/n))))
	return s
}

// again is the same segment once more, which takes no memory. A graph is cut, not
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

// loadPairs makes the sets of a file of triples: of a matrix a sixth is held out unless there
// is a test file; a graph is its own test.
func (o Options) loadPairs(src *source, readTest func() (*source, error)) (s Sets, err error) {
	defer s.closeOn(&err)
	e, err := readEntries(src)
	if err != nil {
		return s, err
	}
	graph := o.Task == "edges"
	p, err := e.number(src, graph)
	if err != nil {
		return s, err
	}
	p.Name = o.Path
	var held, apart *entries
	if readTest == nil && !graph {
		if held, err = e.holdOut(o.Seed, drawHoldOut, func(x uint64) bool { return x%6 == 0 }); err != nil {
			return s, err
		}
		p.notef("held out %s of %s entries (a sixth) as the test set", count(len(held.y)), count(len(held.y)+len(e.y)))
	}
	if len(e.y) == 0 {
		return s, fmt.Errorf("data: %s has one entry: too few to hold out a test set; name one with --test", o.Path)
	}
	if o.Limit > 0 {
		e.y = e.y[:min(o.Limit, len(e.y))]
	}
	all := len(e.y)
	k, err := o.apart(all, graph)
	if err != nil {
		return s, err
	}
	if k > 0 {
		share := float64(k) / float64(all)
		if apart, err = e.holdOut(o.Seed, drawValidation, func(x uint64) bool { return float64(x>>11)/(1<<53) < share }); err != nil {
			return s, err
		}
	}
	if p.Rows = len(e.y); p.Rows == 0 {
		return s, fmt.Errorf("data: validation %s leaves none of %s training entries to train on; give a smaller share, or a file", o.Validation, count(all))
	}
	if s.Train, err = p.store(true, o.Seed); err != nil {
		return s, err
	}
	p.Notes = nil // train has them
	if k > 0 {
		s.Validation, err = apart.with(p.Meta, p.room).store(false, 0)
		s.noteApart(o, all)
	} else if o.Validation != "" {
		s.Validation, err = loadValidation(o, &s.Train.Meta)
	}
	if err != nil {
		return s, err
	}
	switch {
	case readTest != nil:
		s.Test, err = loadTest(readTest, o, &s.Train.Meta)
	case graph:
		s.Test, err = s.Train.again()
	default:
		s.Test, err = held.with(p.Meta, p.room).store(false, 0)
	}
	return s, err
}

// loadPairsLike reads other entries of the matrix (or graph) that m describes. Those
// of rows and columns that it does not know are counted and left out: there is nothing
// that could be said of them.
func loadPairsLike(src *source, m *Meta) (*Set, error) {
	e, err := readEntries(src)
	if err != nil {
		return nil, err
	}
	places, kept := m.Places(), 0
	for i, y := range e.y {
		if nodes, ok := places.Nodes([2]uint32(e.idx[2*i:])); ok {
			copy(e.idx[2*kept:], nodes[:])
			e.y[kept] = y
			kept++
		}
	}
	left := *m
	left.Name, left.Checksum, left.Notes, left.Nonzeros = src.Path, src.Sum, nil, 0
	if kept < len(e.y) {
		text := fmt.Sprintf("left out %s of %s entries, of ids that the training data does not have", count(len(e.y)-kept), count(len(e.y)))
		if left.Notes = []string{text}; kept == 0 {
			return nil, src.Errorf("%s: is it another set?", text)
		}
	}
	e.y = e.y[:kept]
	return e.with(left, src.Room).store(false, 0)
}

// describePairs says what a file of triples holds.
func describePairs(src *source, graph bool) (Meta, error) {
	e, err := readEntries(src)
	if err != nil {
		return Meta{}, err
	}
	p, err := e.number(src, graph)
	if err != nil {
		return Meta{}, err
	}
	p.Targets, p.Nonzeros = spreadOf(e.y), 2*int64(len(e.y))
	return p.Meta, nil
}
