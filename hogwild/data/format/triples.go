package format

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"hogwild/internal/human"
)

// triples is a file of them: row, column and value of a matrix's entries, or two nodes and the
// weight of a graph's edges. As text they are the rows of a table; columns.go finds out which of its columns is what.
// As .npy they are an array of n x 3. Edges may lack the weight, which is then 1. Those to be predicted have no
// values, or any. Rows may have more cells than that, each another number of them.
type triples struct {
	*table
	roles
	blocks *blocks
	stored int   // entries that were read
	passed int   // lines between them that are none
	behind int32 // the line behind the last one
	twin   Row   // of a symmetric matrix: the entry on the other side of the diagonal, if it comes next
}

func openTriples(s *Source, is string, o Options) (*File, error) {
	switch {
	case is == "npy":
		return openTripleArray(s, o.Inputs)
	case (is == "idx" || is == "libsvm") && o.Inputs:
		return nil, s.Errorf("looks like %s: want two ids a line (row, column), or an .npy array of n x 2", is)
	case (is == "idx" || is == "libsvm") && o.Lists:
		return nil, s.Errorf("looks like %s, rows of numbers with labels, and the model takes what users liked: a "+
			"user and an item a line, or a user and all items (--format lists); for rows with labels choose a linear "+
			"model", is)
	case is == "idx" || is == "libsvm":
		return nil, s.Errorf("looks like %s: want three numbers a line (row, column, value), or an .npy array of n x 3",
			is)
	}
	p := &triples{table: newTable(s, o)}
	if err := p.find(); err != nil {
		return nil, err
	}
	p.Format, p.Kind, p.Next = "ratings", Pairs, p.next
	p.Heads = make([]string, 2, 3)
	if p.at[2] >= 0 {
		p.Heads = p.Heads[:3]
	}
	for k := range p.Heads {
		if j := p.at[k]; p.header && j < len(p.first) {
			p.Heads[k] = p.first[j]
		}
	}
	p.Target = cmp.Or(p.Target, p.byName())
	if p.Rows = 0; s.rest == nil {
		p.Rows = lineCount(s.Text)
		if p.symmetric {
			p.Rows *= 2
		}
	}
	err := error(nil)
	if p.blocks, err = p.begin(); err == nil {
		p.blocks.row, p.blocks.once = p.read, true
		if p.o.Inputs {
			p.blocks.row = p.readInput
		}
	}
	return &p.File, err
}

// byName returns the Options.Columns that find the same columns in other files, "" if some have no name of their own.
func (p *triples) byName() string {
	var cells []string
	for k, name := range p.Heads {
		if name == "" || slices.Index(p.first, name) != p.at[k] {
			return ""
		}
		cells = append(cells, parts[k][0]+"="+name)
	}
	return CSVLine(cells...)
}

// next hands out the next entry.
func (p *triples) next(row *Row) error {
	if p.twin.Line > 0 {
		*row, p.twin.Line = p.twin, 0
		return nil
	}
	b, i, err := p.blocks.hand()
	if err == io.EOF {
		return p.end()
	}
	if err != nil {
		return err
	}
	if p.o.Inputs {
		p.stored++
		*row = b.given[i]
		return nil
	}
	e := &b.entries[i]
	if p.stored > 0 {
		p.passed += int(e.line - p.behind)
	}
	p.stored, p.behind = p.stored+1, e.behind
	row.Line, row.IDs, row.Label = int(e.line), e.ids, e.value
	for k, id := range e.ids {
		if row.Names[k] = nil; id > MaxID {
			row.Names[k] = b.names[id-MaxID-1]
		}
	}
	if p.symmetric && row.IDs[0] != row.IDs[1] {
		p.twin = Row{Line: row.Line, IDs: [2]uint32{row.IDs[1], row.IDs[0]}, Label: row.Label}
		if p.skew {
			p.twin.Label = -row.Label
		}
	}
	return nil
}

// end is called behind the last entry.
func (p *triples) end() error {
	p.Read = p.stored
	if p.passed > 0 {
		p.notef("passed over %s between the entries: blank, or comments behind #", human.Plural(p.passed, "line"))
		p.passed = 0
	}
	if p.sizes != nil && p.stored != p.sizes[len(p.sizes)-1] {
		return p.Errorf("%s entries, and the line of sizes promises %s: the file is incomplete, or damaged",
			count(p.stored), count(p.sizes[len(p.sizes)-1]))
	}
	return io.EOF
}

// read reads an entry.
func (p *triples) read(b *block) (err error) {
	e := entry{line: int32(b.at), behind: int32(b.line)}
	for k := range e.ids {
		if err := p.id(b, &e, k); err != nil {
			return err
		}
	}
	e.value, err = p.value(b)
	b.entries = append(b.entries, e)
	return err
}

// readInput reads an entry that is to be predicted.
func (p *triples) readInput(b *block) error {
	row, e := Row{Line: b.at}, entry{}
	for k := range e.ids {
		n := len(b.kept)
		b.kept = append(b.kept, p.cell(b, k).text...)
		row.Cells[k] = b.kept[n:]
		switch err := p.id(b, &e, k); {
		case err != nil:
			row.Names[k], row.Gap = []byte{}, strings.TrimPrefix(err.Error(), "data: ")
		case e.ids[k] > MaxID:
			row.Names[k] = b.names[e.ids[k]-MaxID-1]
		default:
			row.IDs[k] = e.ids[k]
		}
	}
	if isMissing(p.cell(b, 2).text) {
		row.Label = math.NaN()
	}
	b.given = append(b.given, row)
	return nil
}

// cell returns the cell of a part of the triple: row, column, value. Where there is none, it is empty.
func (p *triples) cell(b *block, part int) *cell {
	if j := p.at[part]; j >= 0 && j < len(b.row) {
		return &b.row[j]
	}
	return &noCell
}

var noCell cell

// fail returns an error at a cell, or, if that is not in the text as it is, at its row.
func (p *triples) fail(b *block, x *cell, format string, args ...any) error {
	at := cap(b.text) - cap(x.text)
	if len(x.text) == 0 || at < b.from || at >= b.end || &b.text[at] != &x.text[0] {
		at = b.from
	}
	return fmt.Errorf("data: %s:%d:%d: %s", p.Path, b.at, at-b.from+1, fmt.Sprintf(format, args...))
}

// id reads one of the two ids.
func (p *triples) id(b *block, e *entry, k int) error {
	err := p.plainOrName(b, e, k)
	id, x := e.ids[k], p.cell(b, k)
	if err == nil && len(p.sizes) == 3 && (id < 1 || int(id) > min(p.sizes[k], MaxID)) {
		return p.fail(b, x, "%s: want a whole number from 1 to %s, as the line of sizes says",
			human.Quote(string(x.text)), count(p.sizes[k]))
	}
	return err
}

// plainOrName reads an id. Those that are no plain numbers are names.
func (p *triples) plainOrName(b *block, e *entry, k int) error {
	x, ok := p.cell(b, k), false
	if e.ids[k], ok = plainID(x.text); ok {
		return nil
	}
	name := x.text
	if whole, zeros, ok := bytes.Cut(name, []byte(".")); ok && len(whole) > 0 && len(zeros) > 0 &&
		len(bytes.Trim(whole, "0123456789")) == 0 && len(bytes.Trim(zeros, "0")) == 0 { // 12.0, from pandas
		if e.ids[k], ok = plainID(whole); ok {
			return nil
		}
		name = whole
	}
	switch _, number := Number(name); {
	case len(name) == 0 || isMissing(name) || isNullWord(name) && p.numbered[k]:
		return p.fail(b, x, "%s: the %s is missing: correct or remove the line", human.Quote(string(name)), p.called(k))
	case number && bytes.IndexByte(name, '.') >= 0:
		return p.fail(b, x, "%s: the %s is a number with decimals, and no id: is it another column? name them: %s",
			human.Quote(string(name)), p.called(k), p.flag())
	case !utf8.Valid(name):
		return p.fail(b, x, notUTF8, human.Quote(string(name)))
	}
	n := len(b.kept)
	b.kept = append(b.kept, name...)
	e.ids[k], b.names = MaxID+1+uint32(len(b.names)), append(b.names, b.kept[n:])
	return nil
}

// value reads the value. Edges may lack it, and so may all entries.
func (p *triples) value(b *block) (float64, error) {
	x := p.cell(b, 2)
	if x.plain {
		return x.v, nil
	}
	text := x.text
	if n := bytes.IndexByte(text, '#'); n > 0 { // a comment
		text = bytes.TrimSpace(text[:n])
	}
	switch v, ok := Number(text); {
	case len(text) == 0 && (p.at[2] < 0 || p.o.Graph):
		return 1, nil
	case isMissing(text) || isNullWord(text):
		return 0, p.fail(b, x, "%s: the %s is missing: correct or remove the line", human.Quote(string(text)),
			p.called(2))
	case !ok || !finite(v):
		return 0, p.fail(b, x, "value %s: want a finite number, at most 3.4e38", human.Quote(string(text)))
	default:
		return v, nil
	}
}

// openTripleArray reads an array of n x 3, or, to be predicted, of n x 2.
func openTripleArray(s *Source, inputs bool) (*File, error) {
	a, err := readArray(s)
	if err != nil {
		return nil, err
	}
	want := "3: row, column, value"
	if inputs {
		want = "2: row, column"
	}
	if len(a.shape) != 2 || a.shape[1] != 3 && !(inputs && a.shape[1] == 2) {
		return nil, s.Errorf("an array of shape %s: want n x %s", a.shapeText(), want)
	}
	f := &File{Known: Known{Format: "npy", Kind: Pairs}, Rows: a.shape[0]}
	i, d := 0, a.shape[1]
	f.Next = func(row *Row) error {
		if i == f.Rows {
			return io.EOF
		}
		for c := range row.IDs {
			v := a.at(d*i + c)
			if v < 0 || v > MaxID || v != math.Trunc(v) {
				return s.Errorf("row %d, column %d: %g: an id is a whole number from 0 to %s", i+1, c+1,
					v, count(MaxID))
			}
			row.IDs[c] = uint32(v)
		}
		if row.Label = math.NaN(); d > 2 {
			if row.Label = a.at(d*i + 2); !finite(row.Label) && !inputs {
				return s.Errorf("row %d: value %g: want a finite number, at most 3.4e38", i+1, row.Label)
			}
		}
		i++
		row.Line = i
		return nil
	}
	return f, nil
}
