package data

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"hogwild/hogwild/data/text"
)

// The parts of a corpus: what a sentence is for.
const (
	forTraining = iota
	forTesting
	forValidating
)

// suitsWords refuses what is no text, and settings of tables.
func (o Options) suitsWords(path string) error {
	switch name := strings.TrimSuffix(path, ".gz"); {
	case isDigits(path):
		return fmt.Errorf("data: %s: the model takes words, from a file of text", path)
	case o.Target != "":
		return fmt.Errorf("data: target %s: a corpus has no labels: leave target out, or choose the model text:100",
			o.Target)
	case o.Format == "text":
	case o.Format != "" && o.Format != "auto":
		return fmt.Errorf("data: format %s: the model takes words, from text: leave the format out", o.Format)
	case filepath.Ext(name) == ".csv" || filepath.Ext(name) == ".tsv" || filepath.Ext(name) == ".npy":
		return fmt.Errorf("data: %s: a table, and the model takes words, from text: write its column of text to a "+
			"file, a sentence a line; or have it read as it is with --format text", path)
	}
	return nil
}

// fillWords makes a set of n[part] words for each part that has any.
func fillWords(c *text.Corpus, m Meta, n [3]int) (sets [3]*Set, err error) {
	scratch := c.Budget.Space()
	for part := range sets {
		if m.Rows = n[part]; m.Rows > 0 {
			if sets[part], err = create(m, 0, c.Budget); err != nil {
				return sets, err
			}
		}
		m.Notes = nil
	}
	var filled, written [3]int
	write := func(part, to int) error {
		if scratch == nil || to == written[part] {
			return nil
		}
		err := cmp.Or(scratch.Ctx.Err(), sets[part].flush(written[part], to))
		written[part] = to
		scratch.Tell("words written", filled[0]+filled[1]+filled[2], n[0]+n[1]+n[2])
		return err
	}
	err = c.Each(func(part int, sentence []uint32) error {
		sentence[0] |= SentenceStart
		filled[part] += copy(sets[part].Idx[filled[part]:], sentence)
		if filled[part]-written[part] < windowBytes/4 {
			return nil
		}
		return write(part, filled[part])
	})
	for part, s := range sets {
		if s == nil || err != nil {
			continue
		}
		if err = write(part, n[part]); err == nil {
			err = s.seal()
		}
	}
	return sets, err
}

// loadWordsLike reads another text, of the words that the training data has.
func (o Options) loadWordsLike(path string, like *Meta) (*Set, error) {
	if err := o.suitsWords(path); err != nil {
		return nil, err
	}
	c, err := text.ReadCorpus(path, o.budget, func(int64) int { return forTraining })
	if err != nil {
		return nil, err
	}
	n := c.Number(like.Text.Vocabulary)
	if n[forTraining] == 0 {
		return nil, c.Errorf("none of its %s words is one of the training data: is it another language?",
			count(int(c.Words[forTraining])))
	}
	m := *like
	m.Name, m.Checksum, m.Notes, m.Nonzeros = c.Path, c.Checksum(), nil, 0
	m.Read = int(c.Words[forTraining])
	if left := int(c.Words[forTraining]) - n[forTraining]; left > 0 {
		m.notef("left out %s of %s words, which the training data does not have", count(left),
			count(int(c.Words[forTraining])))
	}
	sets, err := fillWords(c, m, n)
	if err != nil && sets[0] != nil {
		sets[0].Close()
		return nil, err
	}
	return sets[0], err
}
