package data

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// readEntries reads the triples of a file, two ids and a value each, and lets go of its text. Ids that are texts have
// the numbers that names gives them.
func readEntries(src *source, o Options, like *Meta) (e *table, names *idNames, err error) {
	var f *format.File
	names = &idNames{number: map[string]uint32{}}
	if src.memory != nil {
		f = src.memory.triples(src.Source)
	} else {
		if like != nil {
			o.Columns = cmp.Or(o.Columns, like.Target)
		}
		if f, err = format.Open(src.Source, format.Options{Triples: true, Graph: o.Task == "edges", Columns: o.Columns,
			Like: like.known()}); err != nil {
			return nil, nil, err
		}
	}
	next := f.Next
	f.Next = func(row *format.Row) error {
		err := next(row)
		for k := range row.Names {
			if err == nil && row.Names[k] != nil {
				row.IDs[k], err = names.add(src, row.Names[k])
			}
		}
		return err
	}
	if e, err = tableOf(src.Source, f, nil); err == nil && e.Rows == 0 {
		err = src.Errorf("no entries in the file (read as three numbers a line)")
	}
	src.Done()
	return e, names, err
}

// idNames are ids that are texts: text k has the number firstName + k.
type idNames struct {
	texts  []string
	number map[string]uint32
}

const firstName = format.MaxID + 1

// nameBytes is about what an id takes beside its letters, twice: while the file is read, and in Meta.
const nameBytes = 150

func (t *idNames) add(src *source, name []byte) (uint32, error) {
	id, ok := t.number[string(name)]
	if ok {
		return id, nil
	}
	if err := src.Room.Take(src.Path, int64(nameBytes+2*len(name)), "an id"); err != nil {
		return 0, err
	}
	id = firstName + uint32(len(t.texts))
	t.texts = append(t.texts, string(name))
	t.number[t.texts[len(t.texts)-1]] = id
	return id, nil
}

// name is how the file writes an id.
func (t *idNames) name(id uint32) string {
	if id >= firstName {
		return t.texts[id-firstName]
	}
	return strconv.FormatUint(uint64(id), 10)
}

// renumber gives ids their numbers if all are numbers, some with zeros in front. If not, it numbers them in the order
// in which they come, and returns them in it: those of a graph, or of rows and then of columns.
func (t *idNames) renumber(ids []uint32, graph bool) (names []string) {
	plain, all := make([]uint32, len(t.texts)), true
	for k, text := range t.texts {
		var ok bool
		plain[k], ok = format.PaddedID(text)
		all = all && ok
	}
	number, side := [2]map[uint32]uint32{{}, {}}, [2][]string{}
	for i, id := range ids {
		k := i % 2
		if graph {
			k = 0
		}
		if all && id >= firstName {
			ids[i] = plain[id-firstName]
		}
		if all {
			continue
		}
		n, ok := number[k][id]
		if !ok {
			n = uint32(len(side[k]))
			number[k][id], side[k] = n, append(side[k], t.name(id))
		}
		ids[i] = n
	}
	return slices.Concat(side[0], side[1])
}

// nodes turns ids into nodes. Those of a matrix have a number for each id of a row
// that occurs, in order of value, and then one for each of a column; those of a graph
// have one for each id. An edge has the smaller node first; loops, which no cut can
// part, are left out.
func (e *table) nodes(src *source, names *idNames, graph bool) (*pairs, error) {
	named := names.renumber(e.idx, graph)
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
		Checksum: src.Checksum(), Columns: named, Target: e.Target, Marks: e.Marks,
		Notes: e.Notes}}
	n, offset := rows.count(), 0
	p.Features, p.IDs = n, [][]uint32{rows.runs()}
	if !graph {
		m := second.count()
		p.Shape, p.Features, offset = []int{n, m}, n+m, n
		p.IDs = append(p.IDs, second.runs())
	}
	if named != nil {
		p.notef("ids such as %s are no whole numbers: all are numbered in the order in which they come",
			human.Quote(names.texts[0]))
	}
	if y := spreadOf(e.val); y.Min == y.Max && !graph && len(e.val) > 1 {
		p.notef("warning: all values are %g, so there is nothing to learn: pairs without values (implicit feedback) "+
			"need one each, such as a count or a rating", y.Min)
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
	names         [2]map[string]uint32 // of ids of which some are texts: the nodes
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
	if m.Columns != nil {
		p.names[0] = map[string]uint32{}
		if p.names[1] = p.names[0]; p.offset > 0 {
			p.names[1] = map[string]uint32{}
		}
		for i, name := range m.Columns {
			k := 0
			if p.offset > 0 && uint32(i) >= p.offset {
				k = 1
			}
			p.names[k][name] = uint32(i)
		}
	}
	return p
}

// named is Nodes of ids that are texts, or may be.
func (p Places) named(names [2]string) (nodes [2]uint32, ok bool) {
	if p.names[0] == nil {
		a, number := format.PaddedID(names[0])
		b, both := format.PaddedID(names[1])
		nodes, ok = p.Nodes([2]uint32{a, b})
		return nodes, ok && number && both
	}
	a, known := p.names[0][names[0]]
	b, both := p.names[1][names[1]]
	return [2]uint32{a, b}, known && both
}

// Nodes are the two inputs of a pair of ids, if the set has both.
func (p Places) Nodes(ids [2]uint32) (nodes [2]uint32, ok bool) {
	if p.names[0] != nil {
		return p.named([2]string{strconv.Itoa(int(ids[0])), strconv.Itoa(int(ids[1]))})
	}
	a, known := p.first.place(ids[0])
	b, both := p.second.place(ids[1])
	return [2]uint32{a, b + p.offset}, known && both
}

// loadPairsLike reads other entries of the matrix (or graph) that m describes. Those
// of rows and columns that it does not know are counted and left out: there is nothing
// that could be said of them.
func loadPairsLike(src *source, o Options, m *Meta) (*Set, error) {
	if o.Task = ""; len(m.Shape) != 2 {
		o.Task = "edges"
	}
	e, names, err := readEntries(src, o, m)
	if err != nil {
		return nil, err
	}
	places, kept := m.Places(), 0
	for i, y := range e.val {
		ids := [2]uint32(e.idx[2*i:])
		nodes, ok := places.Nodes(ids)
		if max(ids[0], ids[1]) >= firstName {
			nodes, ok = places.named([2]string{names.name(ids[0]), names.name(ids[1])})
		}
		if ok {
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
func (o Options) describePairs(src *source) (Meta, error) {
	e, names, err := readEntries(src, o, nil)
	if err != nil {
		return Meta{}, err
	}
	p, err := e.nodes(src, names, false)
	if err != nil {
		return Meta{}, err
	}
	p.Targets, p.Nonzeros = spreadOf(e.val), 2*int64(len(e.val))
	return p.Meta, nil
}
