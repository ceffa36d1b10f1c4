package data

import (
	"bytes"
	"fmt"

	"hogwild/hogwild/data/text"
)

// longestSentence is where a line without end is cut, as gensim does.
const longestSentence = 10_000

// loadWords makes the sets of a corpus: each word that is in the vocabulary is a row. A hundredth of the lines is the
// test set unless there is a file of it.
func (o Options) loadWords(src *source, readTest func() (*source, error)) (s Sets, err error) {
	defer s.closeOn(&err)
	held := func(line int) bool { return readTest == nil && mix(mix(o.Seed+drawHoldOut)+uint64(line))%100 == 0 }
	v := text.Count(src.Text, o.Text.MinCount, func(line int) bool { return !held(line) })
	if len(v.Words) == 0 {
		return s, src.Errorf("no word occurs %d times; lower --min-count", o.Text.MinCount)
	}
	m := Meta{Name: o.Path, Format: "text", Features: len(v.Words), Kind: Tokens, Checksum: src.Checksum(), Seed: o.Seed,
		Text: o.Text, vocabulary: v}
	if s.Train, err = o.tokens(src, m, func(line int) bool { return !held(line) }); err != nil {
		return s, err
	}
	if readTest != nil {
		var t *source
		if t, err = readTest(); err == nil {
			s.Test, err = o.tokens(t, m, func(int) bool { return true })
		}
		return s, err
	}
	if s.Test, err = o.tokens(src, m, held); err != nil {
		s.Test, err = s.Train.again()
	}
	return s, err
}

// tokens is the set of the words of some lines.
func (o Options) tokens(src *source, m Meta, use func(line int) bool) (*Set, error) {
	var idx []uint32
	line := 0
	for l := range bytes.Lines(src.Text) {
		if use(line) {
			n := 0
			for w := range bytes.FieldsSeq(l) {
				if id, ok := m.vocabulary.ID(string(w)); ok {
					if n%longestSentence == 0 {
						id |= SentenceStart
					}
					idx = append(idx, uint32(id))
					n++
				}
			}
		}
		line++
	}
	if m.Rows = len(idx); m.Rows == 0 {
		return nil, fmt.Errorf("data: %s: none of its words is in the vocabulary", src.Path)
	}
	s, err := create(m, 0, o.room)
	if err != nil {
		return nil, err
	}
	copy(s.Idx, idx)
	return sealed(s)
}
