package data

import (
	"cmp"
	"errors"
	"fmt"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// LoadLike reads other data exactly as like was read: the same features, classes
// and scaling. Of a folder and of the digits it reads the test part, if there is
// one. Digits are drawn with seed 1 unless the path says another: digits:60000:7.
func LoadLike(path, format, target string, like Meta) (*Set, error) {
	return Options{Path: path, Format: format, Target: target}.Like(&like)
}

// Like loads Path as LoadLike does, with Format, Target and Columns.
func (o Options) Like(like *Meta) (*Set, error) { return o.loadPath(o.Path, like) }

// loadPath loads a path as LoadLike does, in the format, and with the target, of o.
func (o Options) loadPath(path string, like *Meta) (*Set, error) {
	if isSynth(path) {
		return makeTest(o.budget, path, like)
	}
	part, err := evaluationPath(path)
	if err == nil {
		err = knowsWords(like)
	}
	if err != nil {
		return nil, err
	}
	if o.budget == nil {
		o.budget = format.NewBudget(0)
	}
	if like.Words() && !isCache(part) {
		return o.loadWordsLike(part, like)
	}
	src, err := read(part, o.budget)
	if err != nil {
		return nil, err
	}
	o.Seed = cmp.Or(like.Seed, 1)
	return loadSource(src, o, like)
}

// loadTest reads the test file, as the training rows were read.
func (s *Sets) loadTest(read func() (*source, error), o Options) error {
	src, err := read()
	if err != nil {
		return err
	}
	s.Test, err = loadSource(src, o, &s.Train.Meta)
	return s.noteTest(err, o)
}

// noteTest remarks on a test set that was read, or on why it was not.
func (s *Sets) noteTest(err error, o Options) error {
	if err == nil {
		s.Train.noteSingle("test", s.Test.Rows)
	} else if o.Test == "" && o.TestMemory == nil {
		err = fmt.Errorf("%w (taken as the test set of %s; name another with --test, or none)", err, o.Path)
	}
	return err
}

// loadValidation reads the validation file, as the training rows were read.
func (o Options) loadValidation(like *Meta) (*Set, error) {
	src, err := readValidation(&o)
	if err != nil {
		return nil, err
	}
	return loadSource(src, o, like)
}

func readValidation(o *Options) (*source, error) {
	path, err := evaluationPath(o.Validation)
	if err != nil {
		return nil, err
	}
	return read(path, o.budget)
}

// loadSource returns the rows of a source.
func loadSource(src *source, o Options, like *Meta) (*Set, error) {
	if src.cached {
		return cachedLike(src.Path, like)
	}
	if like.Entries() {
		return loadPairsLike(src, o, like)
	}
	if like.Facts() {
		g := graphOf(like)
		f, err := g.read(src, false)
		if err != nil {
			return nil, err
		}
		return f.like(like, g)
	}
	if like.Text != nil {
		return o.loadLinesLike(src, like)
	}
	t, err := decode(src, o, like)
	if err != nil {
		return nil, err
	}
	if t.Features != like.Features {
		return nil, otherFeatures(src.Source, t.Features, like)
	}
	rows, y, err := targetsLike(t, like.Classes)
	if err != nil {
		return nil, err
	}
	t.Classes, t.Scale, t.Mul, t.Add = like.Classes, like.Scale, like.Mul, like.Add
	return t.store(rows, y)
}

// knowsWords returns an error if a text is to be read by words that are not known.
func knowsWords(like *Meta) error {
	if like.Text != nil && like.Text.Vocabulary == nil {
		return errors.New("data: the words of the training data are not known: words.txt is missing in the run folder")
	}
	return nil
}

func otherFeatures(src *format.Source, n int, like *Meta) error {
	return src.Errorf("%s per row; the model was trained on %s", human.Plural(n, "feature"), count(like.Features))
}

// evaluationPath returns the file that is meant by a path of rows to evaluate: of a folder the
// test part, if there is one. A file stands for itself, whatever is next to it.
func evaluationPath(path string) (string, error) {
	first, second, err := locate(path)
	if first == path {
		second = first
	}
	return cmp.Or(second, first), err
}
