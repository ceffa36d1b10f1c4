package data

import (
	"bytes"
	"cmp"
	"io"
	"iter"
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
	src   *format.Source
	meta  Meta // Format, Checksum, Target, Named and Text, and once it is numbered Features and Classes
	text  []byte
	rows  []labelled // in the order of the file; the rows of a line with several labels follow one another
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
	switch {
	case src.Text == nil:
		return nil, src.Errorf("the model takes lines of text with labels, from a file")
	case like != nil:
		o.Text = like.Text
	}
	if err = src.CheckWords(src.Text); err != nil {
		return nil, err
	}
	own := *o.Text
	own.Label = cmp.Or(own.Label, text.LabelPrefix)
	l = &lines{src: src.Source, meta: Meta{Format: "text", Text: &own, Checksum: src.Checksum()}}
	numbers := map[string]int32{}
	number := func(name string) int32 {
		n, known := numbers[name]
		if !known {
			n = int32(len(l.names))
			numbers[name], l.names = n, append(l.names, name)
		}
		return n
	}
	if o.isTable(src.Path, like) {
		err = l.findRows(o, like, number)
	} else {
		err = l.findLines(number)
	}
	if err != nil {
		return nil, err
	}
	for i, r := range l.rows {
		if r.label < 0 && r.size > 1 { // it is not blank
			l.meta.Read++
		}
		if r.label >= 0 && (i == 0 || l.rows[i-1].at != r.at) {
			l.first = append(l.first, int32(i))
		}
	}
	l.meta.Read += len(l.first)
	if len(l.first) == 0 {
		return nil, src.Errorf("no line has a label: each begins with %sNAME; or name the column of a CSV file that "+
			"has the labels with --target", own.Label)
	}
	err = format.Countable(src.Path, len(l.rows), 0)
	return l, cmp.Or(err, src.Budget.Take(src.Path, int64(len(l.rows))*32, count(len(l.rows))+" lines"))
}

// isTable reports whether the file is one, and not lines with labels in them.
func (o Options) isTable(path string, like *Meta) bool {
	ending := filepath.Ext(strings.TrimSuffix(path, ".gz"))
	switch {
	case o.Format == "text":
		return false
	case o.Format == "csv" || o.Target != "" || o.Columns != "" || like != nil && like.Text.Columns != nil:
		return true
	}
	return ending == ".csv" || ending == ".tsv"
}

// findLines finds the labels in the lines of a text.
func (l *lines) findLines(number func(name string) int32) error {
	l.text = l.src.Text
	if err := l.src.CheckLines(l.text, 0); err != nil {
		return err
	}
	for at, end := range text.Lines(l.text) {
		if end-at > longestLine {
			return l.src.Errorf("line %d has more than %s: does each text have a line of its own?",
				1+bytes.Count(l.text[:at], []byte("\n")), human.Bytes(longestLine))
		}
		n := len(l.rows)
		l.meta.Text.EachLabel(l.text[at:end], func(name []byte) {
			l.rows = append(l.rows, labelled{at, int32(end - at), number(string(name))})
		})
		if len(l.rows) == n {
			l.rows = append(l.rows, labelled{at, int32(end - at), -1})
		}
	}
	return nil
}

// findRows makes lines of the rows of a table.
func (l *lines) findRows(o Options, like *Meta, number func(name string) int32) error {
	f, err := format.OpenTexts(l.src, format.Options{Format: "csv", Target: o.Target, Ignore: o.Ignore,
		Columns: o.Columns, Like: textColumns(like)})
	if err != nil {
		return err
	}
	l.meta.Format, l.meta.Target, l.meta.Named, l.meta.Text.Columns = "csv", f.Target, f.Named, f.Columns
	size := len(l.src.Text) + 1
	if err = l.src.Budget.Take(l.src.Path, int64(size), "its texts"); err == nil {
		l.text = format.Array[uint8](l.src.Budget, size, &err)
	}
	var row format.Row
	for err == nil {
		if err = f.Next(&row); err == nil {
			label := int32(-1)
			if row.Text != "" {
				label = number(row.Text)
			}
			l.rows = append(l.rows, labelled{len(l.text), int32(len(row.Bytes)), label})
			l.text = append(l.text, row.Bytes...)
		}
	}
	l.src.Done()
	if k := len(l.names); err == io.EOF && like == nil && k > format.FewClasses && 2*k > len(l.rows) {
		return l.src.Errorf("%s: %s different labels of %s rows, almost one for each: name another column with "+
			"--target", f.Labels, count(k), count(len(l.rows)))
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// textColumns returns what the columns of other tables are found by.
func textColumns(like *Meta) *format.Known {
	if like == nil || like.Text.Columns == nil {
		return nil
	}
	return &format.Known{Columns: like.Text.Columns, Target: like.Target, Named: like.Named}
}

// line returns the text of a row.
func (l *lines) line(i int32) []byte { return l.text[l.rows[i].at:][:l.rows[i].size] }

// labelsOf returns the rows of a line with labels.
func (l *lines) labelsOf(n int32) iter.Seq[int32] {
	return func(yield func(i int32) bool) {
		first := l.first[n]
		for i := first; int(i) < len(l.rows) && l.rows[i].at == l.rows[first].at && yield(i); i++ {
		}
	}
}

// number makes the vocabulary, of the words of some lines with labels and those without, and the classes, by falling
// count as fastText has them.
func (l *lines) number(training []int32) error {
	var counted []int32
	labels, order := make([]int, len(l.names)), make([]int, len(l.names))
	for _, n := range training {
		counted = append(counted, l.first[n])
		for i := range l.labelsOf(n) {
			labels[l.rows[i].label]++
		}
	}
	for i, r := range l.rows {
		if r.label < 0 {
			counted = append(counted, int32(i))
		}
	}
	v, err := l.vocabulary(counted)
	if err != nil {
		return err
	}
	l.meta.Text.Vocabulary, l.meta.Features = v, len(v.Words)+l.meta.Text.Buckets
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return labels[b] - labels[a] })
	for _, i := range order {
		if labels[i] > 0 {
			l.meta.Classes = append(l.meta.Classes, l.names[i])
		}
	}
	if len(l.meta.Classes) == 1 {
		return l.src.Errorf("every label is %s, so there is nothing to learn", human.Quote(l.meta.Classes[0]))
	}
	return nil
}

// vocabulary returns the vocabulary of some rows.
func (l *lines) vocabulary(rows []int32) (*text.Vocabulary, error) {
	var all []*text.Counter
	var lock sync.Mutex
	var full error
	budget := l.src.Budget
	parallel(0, len(rows), func(from, to int) {
		c := text.NewCounter()
		err := error(nil)
		for n := from; n < to && err == nil; n++ {
			i := rows[n]
			c.Line(l.line(i), int64(l.rows[i].at), l.meta.Text.Label)
			err = c.Take(l.src.Path, budget, 1<<20)
		}
		err = cmp.Or(err, c.Take(l.src.Path, budget, 0))
		lock.Lock()
		defer lock.Unlock()
		all, full = append(all, c), cmp.Or(full, err)
	})
	if full != nil {
		return nil, full
	}
	v, err := text.Join(l.src.Path, budget, all, l.meta.Text.MinCount)
	if err != nil {
		return nil, err
	}
	text.Give(budget, all)
	if len(v.Words) == 0 {
		return nil, l.src.Errorf("no word occurs %d times, so none is left; lower --min-count", l.meta.Text.MinCount)
	}
	return v, nil
}
