package data

import (
	"cmp"
	"io"
	"slices"

	"hogwild/hogwild/data/format"
	"hogwild/hogwild/data/text"
	"hogwild/internal/human"
)

// tested returns how to read the test file, nil if it was only found by its name and has no labels, as the files to be
// predicted of Kaggle's folders: then m, the training data, has a note of it.
func (o Options) tested(readTest func() (*source, error), m *Meta) func() (*source, error) {
	if readTest == nil || o.Test != "" || o.TestMemory != nil || m.Words() || m.Implicit || m.Facts() {
		return readTest
	}
	src, err := readTest()
	if err != nil || src.cached || src.Text == nil || !unlabelled(src.Source, o, m) {
		return readTest
	}
	what := "labels"
	switch {
	case m.Entries():
		what = "values"
	case m.Named:
		what = "values of the target " + human.Quote(m.Target)
	}
	m.notef("%s has no %s: it is not taken as the test set, but left for predict", src.Path, what)
	return nil
}

// unlabelled reports whether a file has rows like the training data's, and none of them a label. It looks at
// more and more lines until one is there that can be predicted: a table of few lines has no other faults.
func unlabelled(src *format.Source, o Options, like *Meta) bool {
	for end := 0; end < len(src.Text); {
		end = text.LineEnd(src.Text, min(max(text.LineEnd(src.Text, 0), 2*end), len(src.Text)-1))
		head := func() *format.Source {
			return &format.Source{Path: src.Path, Text: src.Text[:end], Budget: format.NewBudget(0)}
		}
		if firstLike(head(), o, like, true) != nil {
			continue
		}
		if err := firstLike(head(), o, like, false); err != io.EOF || end == len(src.Text) {
			return err != nil
		}
	}
	return false
}

// firstLike reads a file up to its first row with a label, or the first at all if only inputs are wanted; io.EOF: it
// has none.
func firstLike(src *format.Source, o Options, like *Meta, inputs bool) (err error) {
	known, width, triples := like.known(), like.Features, like.Entries()
	if known.Columns != nil {
		known.Fill = make([]float32, width) // missing values are no fault here
	}
	is := format.Options{Format: o.Format, Like: known, Inputs: inputs || triples, Was: like.Target, Triples: triples}
	if is.Target = cmp.Or(like.Target, o.Target); inputs || triples { // no other column will do
		is.Target = ""
	}
	if is.Graph = len(like.Shape) != 2; triples {
		is.Columns = cmp.Or(o.Columns, like.Target)
	}
	var f *format.File
	switch {
	case like.Text == nil:
		f, err = format.Open(src, is)
	case like.Text.Columns != nil:
		is.Format, is.Like = "csv", textColumns(like)
		f, err = format.OpenTexts(src, is)
	default:
		return firstLine(src.Text, like.Text, inputs)
	}
	for row := (format.Row{}); err == nil; {
		switch err = f.Next(&row); {
		case err != nil:
		case row.Gap != "":
			err = src.Errorf("%s", row.Gap)
		case triples && !inputs && row.Label != row.Label:
		case !triples && like.Text == nil && f.Rows > 0 && f.Features != width:
			err = src.Errorf("other features")
		case inputs || like.Text == nil || row.Text != "":
			return nil
		}
	}
	return err
}

// firstLine looks for a line with a label.
func firstLine(all []byte, o *text.Options, inputs bool) error {
	found := inputs
	for at := 0; at < len(all) && !found; {
		end := text.LineEnd(all, at)
		o.EachLabel(all[at:end], func([]byte) { found = true })
		at = end
	}
	if !found {
		return io.EOF
	}
	return nil
}

// testOnTraining makes the training set the test set, too, of a run that trains on all rows.
func (s *Sets) testOnTraining(why string) (err error) {
	s.Train.notef("%s: the training set is the test set, too: its scores say nothing of other rows", why)
	if s.Test, err = s.Train.again(); err == nil {
		s.Test.W = nil // scores count all rows alike
	}
	return err
}

// targetsLike numbers the labels by the classes of the training data. Rows of other classes, on which no model can be
// right, are not among the rows, and a note says how many. If most are, these are no labels.
func targetsLike(t *table, classes []string) (rows []int32, y []float32, err error) {
	if y, err = t.targets(classes); err == nil || classes == nil {
		return allRows(t.Rows), y, err
	}
	all, seen := slices.Clone(classes), map[string]bool{}
	for _, name := range classes {
		seen[name] = true
	}
	for i := range t.Rows {
		if name := t.name(i); !seen[name] {
			seen[name], all = true, append(all, name)
		}
	}
	y, other := t.targets(all)
	for i, class := range y {
		if int(class) < len(classes) {
			rows = append(rows, int32(i))
		}
	}
	if 2*len(rows) < t.Rows {
		return nil, nil, cmp.Or(other, err)
	}
	t.notef("left out %s of %s rows, whose classes the training data does not have, such as %s",
		count(t.Rows-len(rows)), count(t.Rows), human.Quote(all[len(classes)]))
	return rows, y, nil
}
