package text

import (
	"bytes"
	"iter"
	"slices"
)

// endOfLine is the word that fastText has at the end of each line.
const endOfLine = "</s>"

// Lines returns where the lines of a text begin and end: see LineEnd.
func Lines(b []byte) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		newline := 0 // where the newest one ends: it is looked for once, however many words </s> come before it
		for from := 0; from < len(b); {
			if from == newline {
				if newline = from + 1 + bytes.IndexByte(b[from:], '\n'); newline == from {
					newline = len(b)
				}
			}
			to := LineEnd(b[:newline], from)
			if !yield(from, to) {
				return
			}
			from = to
		}
	}
}

// LineEnd returns where the line ends that begins at a byte of b, which ends at the first newline: there, or behind a
// word </s>, which ends a line for fastText.
func LineEnd(b []byte, at int) int {
	for i := at; ; i++ {
		n := bytes.Index(b[i:], []byte(endOfLine))
		if n < 0 {
			return len(b)
		}
		i += n
		to := i + len(endOfLine)
		if (i == at || blank[b[i-1]]&2 != 0) && (to == len(b) || blank[b[to]]&2 != 0) {
			return to
		}
	}
}

// each calls do with the words of a line, in order. A newline is one.
func each(line []byte, do func(word []byte)) {
	for from, to := word(line, 0); from < to; from, to = word(line, to) {
		do(line[from:to])
	}
	if len(line) > 0 && line[len(line)-1] == '\n' {
		do([]byte(endOfLine))
	}
}

// EachLabel calls do with the labels of a line, without their prefix.
func (o *Options) EachLabel(line []byte, do func(label []byte)) {
	for at := 0; ; {
		n := bytes.Index(line[at:], []byte(o.Label))
		if n < 0 {
			return
		}
		from, to := at+n+len(o.Label), 0
		for to = from; to < len(line) && blank[line[to]]&2 == 0; to++ {
		}
		if at += n; at == 0 || blank[line[at-1]]&2 != 0 {
			do(line[from:to])
		}
		at = to // what else is in this word begins none
	}
}

// Features gives the features of lines: the words that are in the vocabulary, and behind them
// sequences of words, which are hashed. It serves one goroutine.
type Features struct {
	o      *Options
	hashes []uint32
	ids    []uint32
}

// NewFeatures returns Features for lines that are read by the options, which have a vocabulary.
func NewFeatures(o *Options) *Features { return &Features{o: o} }

// Of returns the features of a line in rising order, each as often as it occurs, valid until the next call. They are
// the inputs that fastText's Dictionary::getLine finds: words that the vocabulary lacks are in sequences too.
func (f *Features) Of(line []byte) []uint32 {
	slices.Sort(f.Find(line))
	return f.ids
}

// Find returns the features of Of in another order.
func (f *Features) Find(line []byte) []uint32 {
	f.ids, f.hashes = f.ids[:0], f.hashes[:0]
	label, ids := []byte(f.o.Label), f.o.Vocabulary.index()
	each(line, func(word []byte) {
		if bytes.HasPrefix(word, label) {
			return
		}
		if id, known := ids[string(word)]; known {
			f.ids = append(f.ids, uint32(id))
		}
		if f.o.Buckets > 0 {
			f.hashes = append(f.hashes, hash(word))
		}
	})
	for i := range f.hashes {
		h := signed(f.hashes[i])
		for _, next := range f.hashes[i+1 : min(i+f.o.NGrams, len(f.hashes))] {
			h = h*116049371 + signed(next)
			f.ids = append(f.ids, uint32(len(ids))+uint32(h%uint64(f.o.Buckets)))
		}
	}
	return f.ids
}

// hash returns fastText's hash: FNV-1a of bytes with signs.
func hash(word []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range word {
		h = (h ^ uint32(int32(int8(c)))) * 16777619
	}
	return h
}

// signed returns a hash as fastText computes with it: an int32 that is made a uint64.
func signed(h uint32) uint64 { return uint64(int64(int32(h))) }
