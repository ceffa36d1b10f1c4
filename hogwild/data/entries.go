package data

import (
	"fmt"
	"math/bits"

	"hogwild/hogwild/data/format"
)

// readEntries reads the triples of a file, two ids and a value each, and lets go of its text.
func readEntries(src *source) (e *table, err error) {
	var f *format.File
	if src.memory != nil {
		f = src.memory.triples(src.Source)
	} else if f, err = format.Open(src.Source, format.Options{Triples: true}); err != nil {
		return nil, err
	}
	if e, err = tableOf(src.Source, f, nil); err == nil && e.Rows == 0 {
		err = src.Errorf("no entries in the file (read as three numbers a line)")
	}
	src.Done()
	return e, err
}

// nodes turns ids into nodes. Those of a matrix have a number for each id of a row
// that occurs, in order of value, and then one for each of a column; those of a graph
// have one for each id. An edge has the smaller node first; loops, which no cut can
// part, are left out.
func (e *table) nodes(src *source, graph bool) (*pairs, error) {
	var most [2]uint32
	for i, id := range e.idx {
		most[i%2] = max(most[i%2], id)
	}
	if graph {
		most[0] = max(most[0], most[1])
	}
	rows, err := newIDs(src, most[0])
	if err != nil {
		return nil, err
	}
	second := rows
	if !graph {
		if second, err = newIDs(src, most[1]); err != nil {
			return nil, err
		}
	}
	for i := range e.val {
		rows.add(e.idx[2*i])
		second.add(e.idx[2*i+1])
	}
	p := &pairs{room: src.Room, Meta: Meta{Name: src.Path, Format: e.Format, Kind: Pairs, Scale: "none",
		Checksum: src.Checksum()}}
	n, offset := rows.count(), 0
	p.Features, p.IDs = n, [][]uint32{rows.runs()}
	if !graph {
		m := second.count()
		p.Shape, p.Features, offset = []int{n, m}, n+m, n
		p.IDs = append(p.IDs, second.runs())
	}
	kept := 0
	for i, y := range e.val {
		a, _ := rows.place(e.idx[2*i])
		b, _ := second.place(e.idx[2*i+1])
		if graph && a == b {
			continue
		}
		if graph && a > b {
			a, b = b, a
		}
		e.idx[2*kept], e.idx[2*kept+1], e.val[kept] = a, b+uint32(offset), y
		kept++
	}
	if kept < len(e.val) {
		p.Notes = append(p.Notes, count(len(e.val)-kept)+" edges from a node to itself are left out")
	}
	e.val = e.val[:kept]
	p.Rows, p.at, p.read = kept, e.at, true
	return p, nil
}

func (e *table) at(i int) (a, b uint32, y float32) { return e.idx[2*i], e.idx[2*i+1], e.val[i] }

// with is the entries as a set that m describes.
func (e *table) with(m Meta, room *format.Budget) *pairs {
	m.Rows = len(e.val)
	return &pairs{Meta: m, room: room, at: e.at, read: true}
}

// moveOut moves entries, at least one, to others: those whose number, drawn from the seed, is
// among the ones to be held out.
func (e *table) moveOut(seed, draw uint64, among func(x uint64) bool) (*table, error) {
	held, kept, key := &table{room: e.room}, 0, mix(mix(seed)+draw)
	n := 1
	for i := range e.val {
		if among(mix(key + uint64(i))) {
			n++
		}
	}
	var err error
	held.idx, held.val = format.Array[uint32](e.room, 2*n, &err), format.Array[float32](e.room, n, &err)
	if err != nil {
		return nil, err
	}
	for i, y := range e.val {
		if among(mix(key+uint64(i))) || i == len(e.val)-1 && len(held.val) == 0 {
			held.idx, held.val = append(held.idx, e.idx[2*i], e.idx[2*i+1]), append(held.val, y)
			continue
		}
		e.idx[2*kept], e.idx[2*kept+1], e.val[kept] = e.idx[2*i], e.idx[2*i+1], y
		kept++
	}
	e.val = e.val[:kept]
	return held, nil
}

// ids is a set of ids, a bit each, and after count their numbers in order of value.
type ids struct {
	words []uint64
	below []uint32 // ids before each word
}

// newIDs is an empty set of ids up to most. Beside the bits and the numbers it counts the runs,
// which may be as many as the ids.
func newIDs(src *source, most uint32) (*ids, error) {
	n := int(most/64) + 1
	if err := src.Room.Take(src.Path, int64(n)*12, fmt.Sprintf("ids up to %s", count(int(most)))); err != nil {
		return nil, err
	}
	return &ids{words: make([]uint64, n)}, nil
}

func (s *ids) add(id uint32) {
	s.words[id/64] |= 1 << (id % 64)
}

// count numbers the ids, and says how many there are.
func (s *ids) count() int {
	s.below = make([]uint32, len(s.words))
	n := 0
	for i, w := range s.words {
		s.below[i] = uint32(n)
		n += bits.OnesCount64(w)
	}
	return n
}

// place is the number of an id, if it is there.
func (s *ids) place(id uint32) (uint32, bool) {
	if int(id/64) >= len(s.words) {
		return 0, false
	}
	w, bit := s.words[id/64], uint64(1)<<(id%64)
	return s.below[id/64] + uint32(bits.OnesCount64(w&(bit-1))), w&bit != 0
}

// runs are the ids as Meta keeps them: the first of each run of neighbours, and how
// many there are. Ids are mostly numbered without many gaps.
func (s *ids) runs() (runs []uint32) {
	last := uint32(0)
	for i, w := range s.words {
		for ; w != 0; w &= w - 1 {
			id := uint32(64*i + bits.TrailingZeros64(w))
			if runs == nil || id != last+1 {
				runs = append(runs, id, 0)
			}
			runs[len(runs)-1]++
			last = id
		}
	}
	return runs
}

// idsOf is what runs came from.
func idsOf(runs []uint32) *ids {
	s := &ids{}
	if n := len(runs); n > 0 {
		s.words = make([]uint64, (int(runs[n-2])+int(runs[n-1]))/64+1)
	}
	for i := 0; i < len(runs); i += 2 {
		for id := range runs[i+1] {
			s.add(runs[i] + id)
		}
	}
	s.count()
	return s
}

// Places tell where ids are in a matrix, or which nodes of a graph they are.
type Places struct {
	first, second *ids
	offset        uint32
}

// Places are those of a set of pairs; of other sets there are none.
func (m *Meta) Places() Places {
	if m.Kind != Pairs {
		return Places{}
	}
	p := Places{first: idsOf(m.IDs[0]), second: idsOf(m.IDs[len(m.IDs)-1])}
	if len(m.Shape) == 2 {
		p.offset = uint32(m.Shape[0])
	}
	return p
}

// Nodes are the two inputs of a pair of ids, if the set has both.
func (p Places) Nodes(ids [2]uint32) (nodes [2]uint32, ok bool) {
	a, known := p.first.place(ids[0])
	b, both := p.second.place(ids[1])
	return [2]uint32{a, b + p.offset}, known && both
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
	for i, y := range e.val {
		if nodes, ok := places.Nodes([2]uint32(e.idx[2*i:])); ok {
			copy(e.idx[2*kept:], nodes[:])
			e.val[kept] = y
			kept++
		}
	}
	left := *m
	left.Name, left.Checksum, left.Notes, left.Nonzeros = src.Path, src.Checksum(), nil, 0
	if kept < len(e.val) {
		text := fmt.Sprintf("left out %s of %s entries, of ids that the training data does not have",
			count(len(e.val)-kept), count(len(e.val)))
		if left.Notes = []string{text}; kept == 0 {
			return nil, src.Errorf("%s: is it another set?", text)
		}
	}
	e.val = e.val[:kept]
	return e.with(left, src.Room).store(false, 0)
}

// describePairs says what a file of triples holds.
func describePairs(src *source, graph bool) (Meta, error) {
	e, err := readEntries(src)
	if err != nil {
		return Meta{}, err
	}
	p, err := e.nodes(src, graph)
	if err != nil {
		return Meta{}, err
	}
	p.Targets, p.Nonzeros = spreadOf(e.val), 2*int64(len(e.val))
	return p.Meta, nil
}
