package data

import (
	"cmp"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hogwild/hogwild/data/format"
	"hogwild/hogwild/data/text"
	"hogwild/internal/human"
)

// lines is a text with labels: its lines, or the rows of a table.
type lines struct {
	*source
	Meta  // of what is read: Format, Target, Named, Text
	text  []byte
	rows  []labelled // in the order of the file; those of a line with several labels stand behind one another
	first []int32    // of each line with a label: its first row
	names []string   // of labels, in the order in which they appear
}

// labelled is a line and a label of it; -1: it has none.
type labelled struct {
	at          int
	size, label int32
}

// longestLine is how many bytes a line may have.
const longestLine = 16 << 20

// readLines finds the lines of a text, and their labels; like is nil for training data.
func (o Options) readLines(src *source, like *Meta) (l *lines, err error) {
	if src.Text == nil {
		return nil, src.Errorf("the model takes lines of text with labels, from a file")
	}
	if err = src.CheckWords(src.Text); err != nil {
		return nil, err
	}
	l = &lines{source: src, Meta: Meta{Format: "text", Text: o.Text, Checksum: src.Checksum()}}
	if like != nil {
		l.Text = like.Text
	}
	find := l.findLines
	if o.isTable(src, like) {
		find = func(number func(string) int32) error { return l.findRows(o, like, number) }
	}
	numbers := map[string]int32{}
	err = find(func(name string) int32 {
		n, known := numbers[name]
		if !known {
			n = int32(len(l.names))
			numbers[name], l.names = n, append(l.names, name)
		}
		return n
	})
	if err != nil {
		return nil, err
	}
	for i, r := range l.rows {
		if r.label >= 0 && (i == 0 || l.rows[i-1].at != r.at) {
			l.first = append(l.first, int32(i))
		}
	}
	if len(l.first) == 0 {
		return nil, src.Errorf("no line has a label: each begins with %sNAME; or name the column of a CSV file that has "+
			"the labels with --target", l.Text.Label)
	}
	err = format.Countable(src.Path, len(l.rows), 0)
	return l, cmp.Or(err, src.Room.Take(src.Path, int64(len(l.rows))*32, count(len(l.rows))+" lines"))
}

// isTable reports whether the file is one, and not lines with labels in them.
func (o Options) isTable(src *source, like *Meta) bool {
	ending := filepath.Ext(strings.TrimSuffix(src.Path, ".gz"))
	switch {
	case o.Format == "text" || like != nil && like.Text.Columns == nil:
		return false
	case o.Format == "csv" || o.Target != "" || like != nil:
		return true
	}
	return ending == ".csv" || ending == ".tsv"
}

// findLines finds the labels in the lines of a text.
func (l *lines) findLines(number func(name string) int32) error {
	l.text = l.source.Text
	for at, line := 0, 1; at < len(l.text); line++ {
		end := text.LineEnd(l.text, at)
		r := labelled{at, int32(min(end-at, longestLine)), -1}
		if end-at > longestLine {
			return l.Errorf("line %d has more than %s: does each text have a line of its own?", line,
				human.Bytes(longestLine))
		}
		n := len(l.rows)
		l.Meta.Text.EachLabel(l.text[at:end], func(name []byte) {
			r.label = number(string(name))
			l.rows = append(l.rows, r)
		})
		if len(l.rows) == n {
			l.rows = append(l.rows, r)
		}
		at = end
	}
	return nil
}

// findRows makes lines of the rows of a table.
func (l *lines) findRows(o Options, like *Meta, number func(name string) int32) error {
	f, err := format.OpenTexts(l.Source, format.Options{Format: "csv", Target: o.Target, Ignore: o.Ignore,
		Like: like.texts()})
	if err != nil {
		return err
	}
	own := *l.Meta.Text
	l.Format, l.Target, l.Named, own.Columns = "csv", f.Target, f.Named, f.Columns
	if like == nil {
		l.Meta.Text = &own
	}
	size := len(l.source.Text)
	if err = l.Room.Take(l.Path, int64(size), "its texts"); err == nil {
		l.text = format.Array[uint8](l.Room, size+1, &err)
	}
	var row format.Row
	for err == nil {
		if err = f.Next(&row); err != nil {
			break
		}
		r := labelled{len(l.text), int32(len(row.Bytes)), -1}
		if row.Text != "" {
			r.label = number(row.Text)
		}
		l.text, l.rows = append(l.text, row.Bytes...), append(l.rows, r)
	}
	l.Done()
	if k := len(l.names); err == io.EOF && like == nil && k > format.FewClasses && 2*k > len(l.rows) {
		return l.Errorf("%s: %s different labels of %s rows, almost one for each: name another column with --target",
			f.Labels, count(k), count(len(l.rows)))
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// texts is what the columns of other tables are found by.
func (m *Meta) texts() *format.Known {
	if m == nil {
		return nil
	}
	return &format.Known{Columns: m.Text.Columns, Target: m.Target, Named: m.Named}
}

// line is the text of a row.
func (l *lines) line(i int32) []byte { return l.text[l.rows[i].at:][:l.rows[i].size] }

// number makes the vocabulary, of the words of some of the lines with labels, and those without, and the classes, by
// falling count as fastText has them.
func (l *lines) number(training []int32) error {
	var counted []int32
	for _, n := range training {
		counted = append(counted, l.first[n])
	}
	for i, r := range l.rows {
		if r.label < 0 {
			counted = append(counted, int32(i))
		}
	}
	var all []*text.Counter
	var lock sync.Mutex
	parallel(len(counted), func(from, to int) {
		c := text.NewCounter()
		for _, i := range counted[from:to] {
			c.Line(l.line(i), int64(l.rows[i].at), l.Meta.Text.Label)
		}
		lock.Lock()
		defer lock.Unlock()
		all = append(all, c)
	})
	for _, c := range all {
		if err := l.Room.Take(l.Path, c.Held(), "its words"); err != nil {
			return err
		}
	}
	v := text.Join(all, l.Meta.Text.MinCount)
	if len(v.Words) == 0 {
		return l.Errorf("no word occurs %d times, so none is left; lower --min-count", l.Meta.Text.MinCount)
	}
	l.Use(v)
	l.Features = len(v.Words) + l.Meta.Text.Buckets
	labels := make([]int, len(l.names))
	for _, n := range training {
		for i := range l.labelsOf(n) {
			labels[l.rows[i].label]++
		}
	}
	order := make([]int, len(l.names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return labels[b] - labels[a] })
	for _, i := range order {
		if labels[i] > 0 {
			l.Classes = append(l.Classes, l.names[i])
		}
	}
	if len(l.Classes) == 1 {
		return l.Errorf("every label is %s, so there is nothing to learn", human.Quote(l.Classes[0]))
	}
	return nil
}

// labelsOf are the rows of a line with labels.
func (l *lines) labelsOf(n int32) func(yield func(i int32) bool) {
	return func(yield func(i int32) bool) {
		first := l.first[n]
		for i := first; int(i) < len(l.rows) && l.rows[i].at == l.rows[first].at && yield(i); i++ {
		}
	}
}
