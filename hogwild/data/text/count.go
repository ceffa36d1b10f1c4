package text

import (
	"bytes"
	"cmp"
	"slices"

	"hogwild/hogwild/data/format"
)

// parts is how many parts a text has: what is trained on, and what is held out.
const parts = 3

// longest is how many words a sentence has at most: a longer line is cut, as gensim does.
const longest = 10_000

// A number of a word while a text is read: the number that its counter gave it, and in the first word of a sentence
// also which part of the text the sentence is in.
const (
	first    = uint32(1) << 31
	partAt   = 29
	maxWords = 1 << partAt
)

// Counter numbers the words of some parts of a text, in the order in which it sees them. It counts those to be trained
// on. It serves one goroutine.
type Counter struct {
	ids    map[string]uint32
	list   []string
	counts []int64
	place  []int64      // where each occurs first
	bytes  int64        // that it holds beyond what was counted
	held   int64        // that were counted
	words  [parts]int64 // that were read
	starts int64        // sentences
}

// NewCounter has seen nothing.
func NewCounter() *Counter { return &Counter{ids: map[string]uint32{}} }

// What a word takes without its letters, about: in a counter, and when a vocabulary is made of counters, in that, its
// index and words.txt.
const (
	wordBytes   = 160
	joinedBytes = 200
)

// read numbers the words of a piece; part tells in which part of the text the sentence is that begins at a byte of it.
func (c *Counter) read(p *format.Piece, part func(at int64) int) {
	p.IDs = p.IDs[:0]
	for at := 0; at < len(p.Text); {
		end := bytes.IndexByte(p.Text[at:], '\n')
		if end += at; end < at {
			end = len(p.Text)
		}
		in := 0
		for n := 0; ; n++ {
			from, to := gensimWord(p.Text[:end], at)
			if at = to; from == to {
				break
			}
			mark := uint32(0)
			if n%longest == 0 {
				in = part(p.At + int64(from))
				mark = first | uint32(in)<<partAt
				c.starts++
			}
			c.words[in]++
			id := c.see(p.Text[from:to], p.At+int64(from), in == 0)
			p.IDs = append(p.IDs, id&(maxWords-1)|mark)
		}
		at = end + 1
	}
}

// see numbers a word at a byte of the text, and may count it.
func (c *Counter) see(word []byte, at int64, counts bool) uint32 {
	id, known := c.ids[string(word)]
	if !known {
		id = c.add(string(word))
	}
	if counts {
		if c.counts[id] == 0 {
			c.place[id] = at
		}
		c.counts[id]++
	}
	return id
}

// Line counts the words of a line with labels, which are none, at a byte of the text.
func (c *Counter) Line(line []byte, at int64, prefix string) {
	label := []byte(prefix)
	each(line, func(word []byte) {
		if !bytes.HasPrefix(word, label) {
			c.see(word, at, true)
			at++ // each has its own place
		}
	})
}

func (c *Counter) add(word string) uint32 {
	id := uint32(len(c.list))
	c.ids[word], c.list = id, append(c.list, word)
	c.counts, c.place = append(c.counts, 0), append(c.place, 0)
	c.bytes += int64(len(word)) + wordBytes
	return id
}

// Take counts what the words take beyond what was counted, once that is so much.
func (c *Counter) Take(path string, budget *format.Budget, from int64) error {
	if c.bytes < from {
		return nil
	}
	n := c.bytes
	c.held, c.bytes = c.held+n, 0
	return budget.Take(path, n, "its words")
}

// Give counts what the words of counters take no more.
func Give(budget *format.Budget, counters []*Counter) {
	for _, c := range counters {
		budget.Give(c.held)
	}
}

// Join returns the vocabulary of the words that several counters have counted at least so often together. What it takes
// is counted. The counters see no words after it.
func Join(path string, budget *format.Budget, counters []*Counter, least int) (*Vocabulary, error) {
	n := 0
	for _, c := range counters {
		n += len(c.list)
	}
	if err := budget.Take(path, joinedBytes*int64(n), "its words"); err != nil {
		return nil, err
	}
	all := counters[0]
	for _, c := range counters[1:] {
		for i, w := range c.list {
			if c.counts[i] == 0 {
				continue
			}
			id, known := all.ids[w]
			if !known {
				id = all.add(w)
			}
			if all.counts[id] == 0 || c.place[i] < all.place[id] {
				all.place[id] = c.place[i]
			}
			all.counts[id] += c.counts[i]
		}
		c.ids = nil
	}
	all.ids = nil
	var order []int
	for i, n := range all.counts {
		if n >= int64(max(least, 1)) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all.counts[b], all.counts[a]), cmp.Compare(all.place[a], all.place[b]))
	})
	v := &Vocabulary{}
	for _, i := range order {
		v.Words, v.Counts = append(v.Words, all.list[i]), append(v.Counts, all.counts[i])
	}
	return v, nil
}
