package data

import (
	"fmt"
	"math/bits"
	"strconv"

	"hogwild/hogwild/data/format"
)

// ids is a set of ids, a bit each, and after count their numbers in order of value.
type ids struct {
	words []uint64
	below []uint32 // ids before each word
}

// wordBytes is what a word of ids takes.
const wordBytes = 12

// newIDs returns an empty set of ids up to most. Along with the bits and the numbers it counts the runs,
// which may be as many as the ids.
func newIDs(src *source, most uint32) (*ids, error) {
	n := int(most/64) + 1
	if err := src.Budget.Take(src.Path, int64(n)*wordBytes, fmt.Sprintf("ids up to %s", count(int(most)))); err != nil {
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

// place returns the number of an id, if it is there.
func (s *ids) place(id uint32) (uint32, bool) {
	if int(id/64) >= len(s.words) {
		return 0, false
	}
	w, bit := s.words[id/64], uint64(1)<<(id%64)
	return s.below[id/64] + uint32(bits.OnesCount64(w&(bit-1))), w&bit != 0
}

// runs returns the ids as Meta keeps them: the first of each run of neighbours, and how
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

// listed returns the ids of runs, one by one.
func listed(runs []uint32) (ids []uint32) {
	for i := 0; i+1 < len(runs); i += 2 {
		for id := range runs[i+1] {
			ids = append(ids, runs[i]+id)
		}
	}
	return ids
}

// wordsOf returns how many words the ids of runs take.
func wordsOf(runs []uint32) int {
	n := len(runs)
	if n == 0 {
		return 0
	}
	return (int(runs[n-2])+int(runs[n-1]))/64 + 1
}

// idsOf returns the ids that runs were made from.
func idsOf(runs []uint32) *ids {
	s := &ids{words: make([]uint64, wordsOf(runs))}
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
	names         [2]map[string]uint32 // the nodes of the ids if some are texts
	held          int64                // bytes
}

// placeBytes is about what a name takes in Places, which shares its letters with Meta.
const placeBytes = 60

// Places returns the places of a set of pairs, which the budget counts; other sets have none.
func (m *Meta) Places(budget *format.Budget) (Places, error) {
	if !m.Entries() {
		return Places{}, nil
	}
	first, second := m.IDs[0], m.IDs[len(m.IDs)-1]
	p := Places{held: wordBytes*int64(wordsOf(first)+wordsOf(second)) + placeBytes*int64(len(m.Columns))}
	if err := p.take(m.Name, budget); err != nil {
		return Places{}, err
	}
	p.first, p.second = idsOf(first), idsOf(second)
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
	return p, nil
}

// take counts what they hold.
func (p Places) take(path string, budget *format.Budget) error {
	return budget.Take(path, p.held, "the ids of the training data")
}

// named returns the Nodes of ids that are texts, or may be.
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

// Nodes returns the two inputs of a pair of ids, if the set has both.
func (p Places) Nodes(ids [2]uint32) (nodes [2]uint32, ok bool) {
	if p.names[0] != nil {
		return p.named([2]string{idText(ids[0]), idText(ids[1])})
	}
	a, known := p.first.place(ids[0])
	b, both := p.second.place(ids[1])
	return [2]uint32{a, b + p.offset}, known && both
}

// idText returns how files mostly write an id.
func idText(id uint32) string { return strconv.FormatUint(uint64(id), 10) }
