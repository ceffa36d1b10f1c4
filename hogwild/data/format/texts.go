package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hogwild/internal/human"
)

// textRows is a table of texts on its way to rows.
type textRows struct {
	*table
	blocks *blocks
	texts  []int // their columns
	y      int   // the column of labels; -1 of rows to be predicted
}

// OpenTexts gives the rows of a table whose columns are texts, but for the target: Row.Bytes is a line, the cells with
// blanks between them, and Row.Text the label. Columns are the names of those that have texts. Other data than the
// training data has these by name, or, where neither has names, in the same places.
func OpenTexts(s *Source, o Options) (*File, error) {
	r := &textRows{table: newTable(s, o), y: -1}
	r.Next, r.Texts = r.next, true
	begin := r.learn
	if o.Like != nil {
		begin = r.known
	}
	return &r.File, begin()
}

// learn finds the columns of the training data.
func (r *textRows) learn() error {
	if err := r.profile(); err != nil {
		return err
	}
	if len(r.columns) == 1 {
		return r.Errorf("one column only: want a label and a text, separated by a comma, a semicolon, a tab or |")
	}
	texts, err := r.asked()
	if err != nil {
		return err
	}
	y, err := r.target(r.o.Target)
	if err == nil {
		err = r.ignore(r.o.Ignore, y)
	}
	for _, name := range texts {
		if err == nil && r.find(name) < 0 {
			err = r.Errorf("no column %s; the columns are %s", human.Quote(name), Some(r.names()))
		}
	}
	if err != nil {
		return err
	}
	r.y, r.Named = y, r.header
	for j := range r.columns {
		c := &r.columns[j]
		is := texts == nil || slices.ContainsFunc(texts, func(name string) bool { return r.find(name) == j })
		if is && j != y && !c.ignored {
			r.texts, r.Columns = append(r.texts, j), append(r.Columns, c.name)
		}
	}
	if len(r.texts) == 0 {
		return r.Errorf("no column has the text to learn from")
	}
	r.blocks = r.cut()
	r.blocks.once = true
	if r.blocks.row = r.read; r.header {
		_, err = r.blocks.first()
	}
	return err
}

// asked returns the columns of texts that --columns names; label=NAME is the target.
func (r *textRows) asked() (texts []string, err error) {
	if r.o.Columns == "" {
		return nil, nil
	}
	parts, err := partsOf(r.o.Columns)
	for _, of := range parts {
		switch of[0] {
		case "label":
			if r.o.Target != "" && r.o.Target != of[1] {
				err = fmt.Errorf("the label is %s by --target: name it once", human.Quote(r.o.Target))
			}
			r.o.Target = of[1]
		case "text":
			texts = append(texts, of[1])
		default:
			err = fmt.Errorf("%s: want label= and text=", human.Quote(of[0]))
		}
	}
	if err != nil {
		err = r.Errorf("--columns %s: %v", r.o.Columns, err)
	}
	return texts, err
}

// known finds the columns of other data.
func (r *textRows) known() error {
	q, like := r.cut(), r.o.Like
	b, err := q.first()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	first := b.texts()
	r.columns = make([]column, len(first))
	names, err := r.asked()
	if names == nil {
		names = like.Columns
	}
	r.header = like.Named && slices.Contains(first, names[0])
	r.nameColumns(first)
	for i, name := range names {
		j := r.find(name)
		if !r.header && len(first) == len(names) {
			j = i // there are no labels
		}
		if j < 0 {
			return r.Errorf("no column %s, which has the text in the training data; the columns are %s",
				human.Quote(name), Some(r.names()))
		}
		r.texts = append(r.texts, j)
	}
	if err == nil && !r.o.Inputs {
		r.y, err = r.target(r.o.Target)
	}
	if err != nil {
		return err
	}
	if r.blocks, q.row = q, r.read; !r.header {
		q.again(b)
	}
	return nil
}

// read reads a row.
func (r *textRows) read(b *block) error {
	row := Row{Line: b.at}
	for i, j := range r.texts {
		if i > 0 {
			row.Bytes = append(row.Bytes, ' ')
		}
		row.Bytes = append(row.Bytes, bytes.ReplaceAll(b.row[j].text, []byte("\n"), []byte(" "))...)
	}
	row.Bytes = append(row.Bytes, '\n')
	if r.y >= 0 {
		row.Text = strings.Join(strings.Fields(string(b.row[r.y].text)), "-") // as fastText's labels, without blanks
	}
	b.given = append(b.given, row)
	return nil
}

// next reads the next row.
func (r *textRows) next(row *Row) error {
	b, i, err := r.blocks.hand()
	if err == nil {
		*row = b.given[i]
	}
	return err
}

// OpenLines gives the lines of a text, each as Row.Bytes with a newline.
func OpenLines(s *Source) *File {
	f := &File{Known: Known{Format: "text"}}
	rest, line := s.rest, []byte(nil)
	if rest == nil {
		rest = bufio.NewReader(bytes.NewReader(s.Text))
	}
	f.Next = func(row *Row) error {
		row.Line++
		line = line[:0]
		for {
			part, err := rest.ReadSlice('\n')
			line = append(line, part...)
			switch {
			case errors.Is(err, bufio.ErrBufferFull) && len(line) <= mostRow:
				continue
			case len(line) > mostRow:
				return s.Errorf("line %d has more than %s: does it end?", row.Line, human.Bytes(mostRow))
			case err == io.EOF && len(line) == 0:
				return err
			case err == io.EOF:
				line = append(line, '\n')
			case err != nil:
				return s.failed(err)
			}
			row.Bytes = line
			return s.CheckLines(line, row.Line-1)
		}
	}
	return f
}
