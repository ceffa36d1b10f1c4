package data

import (
	"hogwild/hogwild/data/text"
)

// loadWords makes the sets of a corpus: each word that is in the vocabulary is a row. A hundredth of the sentences is
// the test set unless there is a file of it.
func (o Options) loadWords(path, test string) (s Sets, err error) {
	defer s.closeOn(&err)
	share, isShare, err := ValidationShare(o.Validation)
	if err == nil {
		err = o.suitsWords(path)
	}
	if err != nil {
		return s, err
	}
	key, apart := mix(mix(o.Seed)+drawHoldOut), mix(mix(o.Seed)+drawValidation)
	c, err := text.ReadCorpus(path, o.budget, func(at int64) int {
		switch {
		case test == "" && o.Test != None && mix(key+uint64(at))%100 == 0:
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
		s.Validation, err = o.loadPath(o.Validation, like)
	}
	switch {
	case err != nil:
	case test != "":
		s.Test, err = o.loadPath(test, like)
	case s.Test == nil && o.Test != None:
		s.Train.notef("too few lines to hold any out: the training set is the test set, too; name another with --test")
		s.Test, err = s.Train.again()
	}
	return s, err
}

// corpus describes the training words of a text.
func (o Options) corpus(c *text.Corpus) (m Meta, err error) {
	if c.Words == [3]int64{} {
		return m, c.Errorf("no words in the file")
	}
	v, err := c.Count(o.Text.MinCount)
	if err != nil {
		return m, err
	}
	if len(v.Words) == 0 {
		return m, c.Errorf("no word occurs %d times, so none is left; lower --min-count", o.Text.MinCount)
	}
	own := *o.Text
	own.Vocabulary = v
	m = Meta{Name: o.Path, Format: "text", Features: len(v.Words), Kind: Tokens, Scale: "none", Checksum: c.Checksum(),
		Seed: o.Seed, Text: &own, Read: int(c.Words[forTraining] + c.Words[forTesting] + c.Words[forValidating])}
	for _, n := range v.Counts {
		m.Rows += int(n)
	}
	return m, nil
}

// noteCorpus says what the text has, and what of it is left out.
func noteCorpus(m *Meta, c *text.Corpus) {
	all := c.Words[forTraining]
	m.notef("%s words in %s sentences; %s of them (%.2f%%) occur less than %d times and are left out", count(int(all)),
		count(int(c.Sentences)), count(int(all)-m.Rows), 100*float64(int(all)-m.Rows)/float64(all), m.Text.MinCount)
}
