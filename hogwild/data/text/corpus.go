package text

import (
	"cmp"
	"runtime/debug"

	"hogwild/hogwild/data/format"
)

// Corpus is a text that has been read once, as numbers of words: 4 bytes a word, and the vocabulary.
type Corpus struct {
	*format.Source
	Sentences int64        // lines, and pieces of lines of more than 10,000 words
	Words     [parts]int64 // of each part

	counters []*Counter
	pieces   []piece
	ids      [][]uint32 // of the words of each counter, in the vocabulary
}

// piece is the words of a piece of the text, as numbers of a counter.
type piece struct {
	slot int
	ids  []uint32
}

// none is the number of a word that a vocabulary lacks.
const none = ^uint32(0)

// ReadCorpus reads a text, a sentence a line. part tells which part a sentence is in, 0 to 2, by the byte at which it
// begins; it is called by several goroutines.
func ReadCorpus(path string, budget *format.Budget, part func(at int64) int) (*Corpus, error) {
	c := &Corpus{counters: make([]*Counter, format.Slots())}
	for i := range c.counters {
		c.counters[i] = NewCounter()
	}
	src, err := format.Pieces(path, budget,
		func(p *format.Piece) { c.counters[p.Slot].read(p, part) },
		func(p *format.Piece) (err error) {
			n := c.counters[p.Slot]
			err = cmp.Or(n.Take(path, budget, 0), budget.Take(path, 4*int64(len(p.IDs)), "its words"))
			if err == nil && len(p.IDs) > 0 {
				ids := append(format.Array[uint32](budget, len(p.IDs), &err), p.IDs...)
				c.pieces = append(c.pieces, piece{p.Slot, ids})
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	c.Source = src
	for _, n := range c.counters {
		c.Sentences += n.starts
		for i, k := range n.words {
			c.Words[i] += k
		}
	}
	return c, nil
}

// Count returns the vocabulary of the words that occur at least so often in the part 0.
func (c *Corpus) Count(least int) (*Vocabulary, error) {
	return Join(c.Path, c.Budget, c.counters, least)
}

// Number returns how many words of each part are in a vocabulary, by which Each numbers them. The memory of the words
// is counted no more: what Each fills takes its place.
func (c *Corpus) Number(v *Vocabulary) (n [parts]int) {
	for _, k := range c.counters {
		ids := make([]uint32, len(k.list))
		for i, w := range k.list {
			ids[i] = none
			if id, known := v.ID(w); known {
				ids[i] = uint32(id)
			}
		}
		c.ids = append(c.ids, ids)
	}
	Give(c.Budget, c.counters)
	c.counters = nil
	part := 0
	for _, p := range c.pieces {
		c.Budget.Give(4 * int64(len(p.ids)))
		ids := c.ids[p.slot]
		for _, x := range p.ids {
			if x&first != 0 {
				part = int(x >> partAt & parts)
			}
			if ids[x&(maxWords-1)] != none {
				n[part]++
			}
		}
	}
	return n
}

// Each calls do with the words of each sentence that are in the vocabulary, if there are any, as their numbers there.
// It lets go of what it has read.
func (c *Corpus) Each(do func(part int, sentence []uint32) error) error {
	var sentence []uint32
	part, done := 0, 0
	for i, p := range c.pieces {
		ids := c.ids[p.slot]
		for k, x := range p.ids {
			if x&first != 0 {
				part, sentence = int(x>>partAt&parts), sentence[:0]
			}
			if id := ids[x&(maxWords-1)]; id != none {
				sentence = append(sentence, id)
			}
			if last := k+1 == len(p.ids) || p.ids[k+1]&first != 0; last && len(sentence) > 0 {
				if err := do(part, sentence); err != nil {
					return err
				}
			}
		}
		c.pieces[i].ids = nil
		if done += len(p.ids); done > 8<<20 { // the set that is filled needs the memory
			debug.FreeOSMemory()
			done = 0
		}
	}
	return nil
}
