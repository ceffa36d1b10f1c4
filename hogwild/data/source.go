package data

import (
	"cmp"

	"hogwild/hogwild/data/format"
)

// source is where rows come from: a file, or what has no text: digits, a cache, or memory.
type source struct {
	*format.Source
	memory *Memory
	cached bool // a cache, which is not read here
}

// read reads a file, unless it is generated or a cache.
func read(path string, budget *format.Budget) (*source, error) {
	if isDigits(path) || isCache(path) {
		return &source{Source: &format.Source{Path: path, Budget: budget}, cached: !isDigits(path)}, nil
	}
	s, err := format.Read(path, budget)
	return &source{Source: s}, err
}

// source returns the set in the place of a file.
func (m *Memory) source(budget *format.Budget) *source {
	return &source{Source: &format.Source{Path: cmp.Or(m.Name, "memory"), Budget: budget, Sum: m.checksum}, memory: m}
}

// isPairs reports whether the file is read as triples: it was said so, or the model
// takes nothing else, or no model is named and it looks so.
func (o Options) isPairs(src *source) bool {
	switch {
	case src.memory != nil:
		return src.memory.Pairs != nil
	case src.Text == nil:
		return false
	case o.Format == "ratings" || o.Columns != "" && o.Task == "" || o.Task == "triples" || o.Task == likesTask ||
		o.Task == "edges" || o.Format == "lists":
		return true
	}
	return o.Task == "" && o.Target == "" && (o.Format == "" || o.Format == "auto") && src.LooksLikeRatings()
}

// decode turns a source into a table. like is nil for training data; other data
// gets its features.
func decode(src *source, o Options, like *Meta) (t *table, err error) {
	switch {
	case src.memory != nil:
		t, err = src.memory.table(src.Source, like)
	case src.cached:
		err = src.Errorf("a data cache, where a file of rows is wanted")
	case src.Text == nil:
		t, err = drawDigits(src.Source, o.Seed, like != nil)
	default:
		var f *format.File
		f, err = format.Open(src.Source, format.Options{Format: o.Format, Target: o.Target, Ignore: o.Ignore,
			Weight: o.Weight, Missing: o.Missing, Lenient: o.lenient, Like: like.known()})
		if err == nil {
			t, err = tableOf(src.Source, f, like)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case t.Rows == 0 && src.memory != nil:
		return nil, src.Errorf("the data in memory has no rows; fill Rows, or Pairs, and Y")
	case t.Rows == 0:
		return nil, src.Errorf("no rows in the file (read as %s)%s", t.Format, format.Because(t.Notes))
	case t.Features == 0 && !o.lenient:
		return nil, src.Errorf("rows without features (read as %s)%s", t.Format,
			format.Because(append([]string{"is it another format? name it with --format"}, t.Notes...)))
	}
	if err := format.Countable(src.Path, t.Rows, t.Features); err != nil {
		return nil, err
	}
	if t.Checksum = cmp.Or(t.Checksum, src.Checksum()); t.x8 == nil { // bytes stay where they are
		src.Done()
	}
	// The rows in order, in the order that was drawn, and which of them are held out.
	return t, t.budget.Take(t.path, int64(t.Rows)*16, count(t.Rows)+" rows")
}
