package data

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"hogwild/hogwild/data/text"
)

// The parts of a corpus: what a sentence is for.
const (
	forTraining = iota
	forTesting
	forValidating
)

// loadWords makes the sets of a corpus: each word that is in the vocabulary is a row. A hundredth of the sentences is
// the test set unless there is a file of it.
func (o Options) loadWords(path, test string) (s Sets, err error) {
	defer s.closeOn(&err)
	share, isShare, err := ValidationShare(o.Validation)
	if err == nil {
		err = o.suitsWords(path)
	}
	if err == nil && o.Text == nil {
		err = errors.New("data: words are read by Options.Text, which is nil")
	}
	if err != nil {
		return s, err
	}
	key, apart := mix(mix(o.Seed)+drawHoldOut), mix(mix(o.Seed)+drawValidation)
	c, err := text.ReadCorpus(path, o.room, func(at int64) int {
		switch {
		case test == "" && mix(key+uint64(at))%100 == 0:
			return forTesting
		case isShare && float64(mix(apart+uint64(at))>>11)/(1<<53) < share:
			return forValidating
		}
		return forTraining
	})
	if err != nil {
		return s, err
	}
	m, err := o.corpus(c)
	if err != nil {
		return s, err
	}
	noteCorpus(&m, c)
	n := c.Number(m.Text.Vocabulary)
	if n[forTesting] > 0 {
		m.notef("held out %s of %s words (a hundredth of the lines) as the test set", count(n[forTesting]),
			count(n[forTraining]+n[forTesting]+n[forValidating]))
	}
	if o.Limit > 0 {
		n[forTraining] = min(n[forTraining], o.Limit)
	}
	sets, err := fillWords(c, m, n)
	s.Train, s.Test, s.Validation = sets[forTraining], sets[forTesting], sets[forValidating]
	if err != nil {
		return s, err
	}
	like := &s.Train.Meta
	switch {
	case isShare && s.Validation == nil:
		err = c.Errorf("validation %s: the text has too few lines to hold any out; name a file", o.Validation)
	case isShare:
		s.noteApart(o, n[forTraining]+n[forValidating])
	case o.Validation != "":
		s.Validation, err = o.likewise(o.Validation, like)
	}
	switch {
	case err != nil:
	case test != "":
		s.Test, err = o.wordsLike(test, like)
	case s.Test == nil:
		s.Train.notef("too few lines to hold any out: the training set is the test set, too; name another with --test")
		s.Test, err = s.Train.again()
	}
	return s, err
}

// suitsWords refuses what is no text, and settings of tables.
func (o Options) suitsWords(path string) error {
	switch name := strings.TrimSuffix(path, ".gz"); {
	case o.Memory != nil:
		return errors.New("data: words are read from a file, and the data are in memory")
	case o.Target != "":
		return fmt.Errorf("data: target %s: a corpus has no labels: leave target out, or choose the model text:100",
			o.Target)
	case o.Format == "text":
	case o.Format != "" && o.Format != "auto":
		return fmt.Errorf("data: format %s: the model takes words, from text: leave the format out", o.Format)
	case filepath.Ext(name) == ".csv" || filepath.Ext(name) == ".tsv" || filepath.Ext(name) == ".npy":
		return fmt.Errorf("data: %s: a table, and the model takes words, from text: write its column of text to a file, "+
			"a sentence a line; or have it read as it is with --format text", path)
	}
	return nil
}

// corpus describes the training words of a text.
func (o Options) corpus(c *text.Corpus) (m Meta, err error) {
	if c.Words == [3]int64{} {
		return m, c.Errorf("no words in the file")
	}
	v := c.Count(o.Text.MinCount)
	if len(v.Words) == 0 {
		return m, c.Errorf("no word occurs %d times, so none is left; lower --min-count", o.Text.MinCount)
	}
	own := *o.Text
	own.Vocabulary = v
	m = Meta{Name: o.Path, Format: "text", Features: len(v.Words), Kind: Tokens, Scale: "none", Checksum: c.Checksum(),
		Seed: o.Seed, Text: &own}
	for _, n := range v.Counts {
		m.Rows += int(n)
	}
	return m, nil
}

// noteCorpus says what the text has, and what of it is left out.
func noteCorpus(m *Meta, c *text.Corpus) {
	all, odd := c.Words[forTraining], 0
	m.notef("%s words in %s sentences; %s of them (%.2f%%) occur less than %d times and are left out", count(int(all)),
		count(int(c.Sentences)), count(int(all)-m.Rows), 100*float64(int(all)-m.Rows)/float64(all), m.Text.MinCount)
	for _, w := range m.Text.Vocabulary.Words {
		if !utf8.ValidString(w) {
			odd++
		}
	}
	if odd > 0 {
		m.notef("warning: %s of %s different words are not UTF-8; to convert the text: iconv -f WINDOWS-1252 -t UTF-8 "+
			"OLD >NEW", count(odd), count(m.Features))
	}
}

// fillWords makes a set of so many words of each part, of those that have any.
func fillWords(c *text.Corpus, m Meta, n [3]int) (sets [3]*Set, err error) {
	sp := c.Room.Space()
	for part := range sets {
		if m.Rows = n[part]; m.Rows > 0 {
			if sets[part], err = create(m, 0, c.Room); err != nil {
				return sets, err
			}
		}
		m.Notes = nil
	}
	var filled, written [3]int
	write := func(part, to int) error {
		if sp == nil || to == written[part] {
			return nil
		}
		err := cmp.Or(sp.Ctx.Err(), sets[part].flush(written[part], to))
		written[part] = to
		sp.Tell("words written", filled[0]+filled[1]+filled[2], n[0]+n[1]+n[2])
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

// wordsLike is another text, of the words that the training data has.
func (o Options) wordsLike(path string, like *Meta) (*Set, error) {
	if err := o.suitsWords(path); err != nil {
		return nil, err
	}
	c, err := text.ReadCorpus(path, o.room, func(int64) int { return forTraining })
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
