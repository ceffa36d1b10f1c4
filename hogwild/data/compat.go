package data

import (
	"fmt"
	"slices"
	"strconv"

	"hogwild/hogwild/data/text"
)

// task returns what rows are for.
func (m *Meta) task() string {
	switch {
	case m.Text != nil:
		return m.Text.Kind
	case m.Facts():
		return factsTask
	case m.Implicit:
		return likesTask
	case m.Matrix():
		return "triples"
	case m.Entries():
		return "edges"
	case m.Classes != nil:
		return "classes"
	}
	return "values"
}

// checkTask refuses a task that the rows of a cache are not for.
func checkTask(s *Set, task, path string) error {
	is := s.task()
	if task == "" && s.Text == nil || task == is {
		return nil
	}
	if task == "" {
		return fmt.Errorf("data: %s holds %s: choose the model %s", path, is,
			map[string]string{text.Words: "word2vec:100", text.Labels: "text:100"}[is])
	}
	return fmt.Errorf("data: %s holds %s, and the model takes %s: choose another model, or convert the data again "+
		"with --task %s", path, is, task, task)
}

// SetWindows has the windows of a text drawn as o says, and by a seed. Its words and features stay what they are. A
// cache was made with others.
func SetWindows(s *Set, o *text.Options, seed uint64) {
	own := *s.Text
	own.Window, own.Negatives, own.Sample, own.NoiseExponent, own.OneGroup = o.Window, o.Negatives, o.Sample,
		o.NoiseExponent, o.OneGroup
	s.Text, s.Seed = &own, seed
}

// applyTextOptions sets the windows of the sets of a cache. The cache must have been converted by the same settings.
func (s *Sets) applyTextOptions(o Options) error {
	was := s.Train.Text
	if was == nil || o.Text == nil {
		return nil
	}
	if o.Text.MinCount != was.MinCount || o.Text.NGrams != was.NGrams || o.Text.Buckets != was.Buckets {
		grams := ""
		if was.Kind == text.Labels {
			grams = fmt.Sprintf(" --word-ngrams %d --buckets %d", was.NGrams, was.Buckets)
		}
		return fmt.Errorf("data: %s was converted with --min-count %d%s, and holds the result: train with the same, "+
			"or convert the text again", o.Path, was.MinCount, grams)
	}
	for _, set := range []*Set{s.Train, s.Validation, s.Test} {
		if set != nil && set.Text != nil {
			SetWindows(set, o.Text, o.Seed)
		}
	}
	return nil
}

// compatible returns an error unless the rows are inputs of a model that was trained on rows like m's.
// Bytes are scaled when they are read: as m says from then on.
func (s *Set) compatible(m *Meta, path string) error {
	switch {
	case s.Kind != m.Kind || s.Features != m.Features:
		return fmt.Errorf("data: %s has %s features (%s), the training data %s (%s)", path, count(s.Features), s.Kind,
			count(m.Features), m.Kind)
	case !slices.EqualFunc(s.Classes, m.Classes, sameClass):
		return fmt.Errorf("data: %s: its classes are not those of the training data: name the file that it was "+
			"converted from", path)
	case !slices.Equal(s.Columns, m.Columns):
		return fmt.Errorf("data: %s: its columns are not those of the training data: name the file that it was "+
			"converted from", path)
	case s.Text != nil && (m.Text == nil || m.Text.Vocabulary == nil ||
		!slices.Equal(s.Vocabulary().Words, m.Text.Vocabulary.Words)):
		return fmt.Errorf("data: %s: its words are not those of the training data: name the file that it was "+
			"converted from", path)
	case !slices.EqualFunc(s.IDs, m.IDs, slices.Equal[[]uint32]):
		return fmt.Errorf("data: %s: its ids are not those of the training data: name the file that it was converted "+
			"from", path)
	case s.X8 != nil:
		s.Scale, s.Mul, s.Add = m.Scale, m.Mul, m.Add
	case !s.ScaledAlike(m):
		return fmt.Errorf("data: %s: its rows are scaled in another way than the training data: name the file that "+
			"it was converted from", path)
	}
	return nil
}

// sameClass says whether two names are of one class: earlier versions wrote 1e+06 for 1000000.
func sameClass(a, b string) bool {
	v, err := strconv.ParseFloat(b, 64)
	return a == b || err == nil && a == className(v)
}
