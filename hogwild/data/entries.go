package data

import (
	"fmt"
	"io"
	"math/bits"

	"hogwild/hogwild/data/format"
)

// entries is a file of triples on the heap: two ids and a value each.
type entries struct {
	format string
	room   *format.Budget
	idx    []uint32 // 2 n: ids as the file has them; nodes after number
	y      []float32
}

// entryBytes is what an entry takes: 12 bytes, and a sixth more if it is held out.
const entryBytes = 14

// readEntries reads the triples of a file, and lets go of its text.
func readEntries(src *source) (*entries, error) {
	e, err := src.entries()
	if err == nil && len(e.y) == 0 {
		err = src.Errorf("no entries in the file (read as three numbers a line)")
	}
	src.Done()
	return e, err
}

func (s *source) entries() (e *entries, err error) {
	var f *format.File
	if s.memory != nil {
		f = s.memory.triples(s.Source)
	} else if f, err = format.Open(s.Source, format.Options{Triples: true}); err != nil {
		return nil, err
	}
	n := f.Rows
	if err := format.Countable(s.Path, n, 0); err != nil {
		return nil, err
	}
	if err := s.Room.Take(s.Path, int64(n)*entryBytes, count(n)+" entries"); err != nil {
		return nil, err
	}
	e = &entries{format: f.Format, room: s.Room}
	e.idx, e.y = format.Array[uint32](e.room, 2*n, &err), format.Array[float32](e.room, n, &err)
	var row format.Row
	for err == nil {
		if err = f.Next(&row); err == nil {
			e.idx, e.y = append(e.idx, row.IDs[0], row.IDs[1]), append(e.y, float32(row.Label))
		}
	}
	if err != io.EOF {
		return nil, err
	}
	return e, nil
}

// number turns ids into nodes. Those of a matrix have a number for each id of a row
// that occurs, in order of value, and then one for each of a column; those of a graph
// have one for each id. An edge has the smaller node first; loops, which no cut can
// part, are left out.
func (e *entries) number(src *source, graph bool) (*pairs, error) {
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
	for i := range e.y {
		rows.add(e.idx[2*i])
		second.add(e.idx[2*i+1])
	}
	p := &pairs{room: src.Room, Meta: Meta{Name: src.Path, Format: e.format, Kind: Pairs, Scale: "none", Checksum: src.Sum}}
	n, offset := rows.count(), 0
	p.Features, p.IDs = n, [][]uint32{rows.runs()}
	if !graph {
		m := second.count()
		p.Shape, p.Features, offset = []int{n, m}, n+m, n
		p.IDs = append(p.IDs, second.runs())
	}
	kept := 0
	for i, y := range e.y {
		a, _ := rows.place(e.idx[2*i])
		b, _ := second.place(e.idx[2*i+1])
		if graph && a == b {
			continue
		}
		if graph && a > b {
			a, b = b, a
		}
		e.idx[2*kept], e.idx[2*kept+1], e.y[kept] = a, b+uint32(offset), y
		kept++
	}
	if kept < len(e.y) {
		p.Notes = append(p.Notes, count(len(e.y)-kept)+" edges from a node to itself are left out")
	}
	e.y = e.y[:kept]
	p.Rows, p.at, p.read = kept, e.at, true
	return p, nil
}

func (e *entries) at(i int) (a, b uint32, y float32) { return e.idx[2*i], e.idx[2*i+1], e.y[i] }

// with is the entries as a set that m describes.
func (e *entries) with(m Meta, room *format.Budget) *pairs {
	m.Rows = len(e.y)
	return &pairs{Meta: m, room: room, at: e.at, read: true}
}

// holdOut moves entries, at least one, to others: those whose number, drawn from the seed, is
// among the ones to be held out.
func (e *entries) holdOut(seed, draw uint64, among func(x uint64) bool) (*entries, error) {
	held, kept, key := &entries{format: e.format, room: e.room}, 0, mix(mix(seed)+draw)
	n := 1
	for i := range e.y {
		if among(mix(key + uint64(i))) {
			n++
		}
	}
	var err error
	held.idx, held.y = format.Array[uint32](e.room, 2*n, &err), format.Array[float32](e.room, n, &err)
	if err != nil {
		return nil, err
	}
	for i, y := range e.y {
		if among(mix(key+uint64(i))) || i == len(e.y)-1 && len(held.y) == 0 {
			held.idx, held.y = append(held.idx, e.idx[2*i], e.idx[2*i+1]), append(held.y, y)
			continue
		}
		e.idx[2*kept], e.idx[2*kept+1], e.y[kept] = e.idx[2*i], e.idx[2*i+1], y
		kept++
	}
	e.y = e.y[:kept]
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
