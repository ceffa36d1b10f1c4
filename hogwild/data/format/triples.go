package format

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"hogwild/internal/human"
)

// triples is a file of them: row, column and value of a matrix's entries, or two nodes and the
// weight of a graph's edges. As text they are one a line; columns.go finds out where in it. As
// .npy they are an array of n x 3. Edges may lack the weight, which is then 1. Those to be predicted
// have no values, or any.
type triples struct {
	parser
	roles
	o      Options
	file   *File
	cells  [][]byte
	begun  bool // a row, or the line of names, has been there
	stored int  // entries that were read
	passed int  // lines between them that are none
	twin   Row  // of a symmetric matrix: the entry on the other side of the diagonal, if it comes next
}

func openTriples(s *Source, is string, o Options) (*File, error) {
	switch {
	case is == "npy":
		return openTripleArray(s, o.Inputs)
	case (is == "idx" || is == "libsvm") && o.Inputs:
		return nil, s.Errorf("looks like %s: want two ids a line (row, column), or an .npy array of n x 2", is)
	case is == "idx" || is == "libsvm":
		return nil, s.Errorf("looks like %s: want three numbers a line (row, column, value), or an .npy array of n x 3",
			is)
	}
	p := &triples{parser: newParser(s), o: o}
	if err := p.find(s, o); err != nil {
		return nil, err
	}
	f := &File{Known: Known{Format: "ratings", Kind: Pairs, Target: p.columns}, Next: p.next}
	f.Heads = make([]string, 2, 3)
	if p.at[2] >= 0 {
		f.Heads = f.Heads[:3]
	}
	for k := range f.Heads {
		if j := p.at[k]; p.header && j < len(p.names) {
			f.Heads[k] = p.names[j]
		}
	}
	f.Target = cmp.Or(f.Target, p.byName(f.Heads))
	p.file = f
	if s.rest == nil {
		f.Rows = lineCount(s.Text)
		if p.symmetric {
			f.Rows *= 2
		}
	}
	return f, nil
}

// byName is what finds the same columns in other files: Options.Columns. It is "" if some have no name of their own.
func (p *triples) byName(heads []string) string {
	var cells []string
	for k, name := range heads {
		if name == "" || slices.Index(p.names, name) != p.at[k] {
			return ""
		}
		cells = append(cells, parts[k][0]+"="+name)
	}
	return csvLine(cells)
}

// next reads the next line that is no comment, behind that of names.
func (p *triples) next(row *Row) error {
	if p.twin.Line > 0 {
		*row, p.twin.Line = p.twin, 0
		return nil
	}
	line, err := p.content()
	if err == nil && !p.begun {
		if p.begun = true; p.header {
			line, err = p.content()
		}
	}
	p.file.Read = p.stored
	if err == io.EOF && p.passed > 0 {
		p.file.notef("passed over %s between the entries: blank, or comments behind #", human.Plural(p.passed, "line"))
		p.passed = 0
	}
	if err == io.EOF && p.sizes != nil && p.stored != p.sizes[2] {
		return p.Errorf("%s entries, and the line of sizes promises %s: the file is incomplete, or damaged",
			count(p.stored), count(p.sizes[2]))
	}
	if err != nil {
		return err
	}
	if p.cells, err = p.split(line, p.cells[:0], p.last+1); err != nil {
		return p.fail(p.start, "%v", err)
	}
	row.Line, row.Gap = p.line, ""
	for k := range row.IDs {
		row.Cells[k] = p.cell(k)
		if err := p.id(row, k); err != nil && p.o.Inputs {
			row.IDs[k], row.Names[k], row.Gap = 0, []byte{}, strings.TrimPrefix(err.Error(), "data: ")
		} else if err != nil {
			return err
		}
		if id := row.IDs[k]; p.sizes != nil && (row.Names[k] != nil || id < 1 || int(id) > p.sizes[k]) {
			return p.fail(p.where(p.cell(k)), "%s: want a whole number from 1 to %s, as the line of sizes says",
				human.Quote(string(p.cell(k))), count(p.sizes[k]))
		}
	}
	if !p.o.Inputs {
		row.Label, err = p.value()
	} else if row.Label = 0; isMissing(p.cell(2)) {
		row.Label = math.NaN()
	}
	if p.stored++; p.symmetric && row.IDs[0] != row.IDs[1] {
		p.twin = Row{Line: row.Line, IDs: [2]uint32{row.IDs[1], row.IDs[0]}, Label: row.Label}
		if p.skew {
			p.twin.Label = -row.Label
		}
	}
	return err
}

// content is the next line that is neither blank nor a comment; those behind % stand above the rows.
func (p *triples) content() ([]byte, error) {
	for {
		before := p.line
		if err := p.nextLine(); err != nil {
			return nil, err
		}
		if p.stored > 0 {
			p.passed += p.line - before - 1
		}
		if p.text[p.pos] == '%' && !p.begun {
			continue
		}
		line := p.text[p.start:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		return bytes.TrimSuffix(line, []byte("\r")), nil
	}
}

// cell is that of a part of the triple: row, column, value. Where there is none, it is empty.
func (p *triples) cell(part int) []byte {
	if j := p.at[part]; j >= 0 && j < len(p.cells) {
		return p.cells[j]
	}
	return nil
}

// where is the byte at which a cell begins; of one that is not in the text as it is, the line does.
func (p *triples) where(cell []byte) int {
	if at := cap(p.text) - cap(cell); len(cell) > 0 && at >= p.start && at < len(p.text) {
		return at
	}
	return p.start
}

// id reads one of the two ids. Those that are no plain numbers are names.
func (p *triples) id(row *Row, k int) error {
	cell := p.cell(k)
	if v, ok := plainID(cell); ok {
		row.IDs[k], row.Names[k] = v, nil
		return nil
	}
	if whole, zeros, ok := bytes.Cut(cell, []byte(".")); ok && len(whole) > 0 && len(zeros) > 0 &&
		len(bytes.Trim(whole, "0123456789")) == 0 && len(bytes.Trim(zeros, "0")) == 0 { // 12.0, from pandas
		cell = whole
		if v, ok := plainID(cell); ok {
			row.IDs[k], row.Names[k] = v, nil
			return nil
		}
	}
	switch _, number := Number(cell); {
	case len(cell) == 0 || isMissing(cell):
		return p.fail(p.where(cell), "%s: the %s is missing: correct or remove the line", human.Quote(string(cell)),
			p.called(k))
	case number && bytes.IndexByte(cell, '.') >= 0:
		return p.fail(p.where(cell), "%s: the %s is a number with decimals, and no id: is it another column? name "+
			"them: %s", human.Quote(string(cell)), p.called(k), p.flag())
	case !utf8.Valid(cell):
		return p.fail(p.where(cell), notUTF8, human.Quote(string(cell)))
	}
	row.Names[k] = cell
	return nil
}

// plainID reads a whole number as it is mostly written: without zeros in front.
func plainID(cell []byte) (id uint32, ok bool) {
	if len(cell) == 0 || len(cell) > 10 || cell[0] == '0' && len(cell) > 1 {
		return 0, false
	}
	v := uint64(0)
	for _, c := range cell {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + uint64(c)
	}
	return uint32(v), v <= MaxID
}

// PaddedID reads a whole number that may have zeros in front.
func PaddedID[T string | []byte](text T) (id uint32, ok bool) {
	b := bytes.TrimLeft([]byte(text), "0")
	if len(b) == 0 && len(text) > 0 {
		return 0, true
	}
	return plainID(b)
}

// value reads the value. Edges may lack it, and so may all entries.
func (p *triples) value() (float64, error) {
	cell := p.cell(2)
	if v, n, ok := parseNumber(cell); ok && n == len(cell) && !(p.commas && bytes.IndexByte(cell, '.') >= 0) {
		return v, nil
	}
	if n := bytes.IndexByte(cell, '#'); n >= 0 { // a comment
		cell = bytes.TrimSpace(cell[:n])
	}
	switch {
	case len(cell) == 0 && (p.at[2] < 0 || p.o.Graph):
		return 1, nil
	case len(cell) == 0 || isMissing(cell):
		return 0, p.fail(p.where(cell), "%s: the %s is missing: correct or remove the line", human.Quote(string(cell)),
			p.called(2))
	}
	text := p.decimal(cell)
	if text == nil {
		return 0, p.fail(p.where(cell), "value %s: decimals, or groups of thousands? write a point before decimals, "+
			"and no marks between thousands", human.Quote(string(cell)))
	}
	v, ok := Number(text)
	if !ok || !finite(v) {
		return 0, p.fail(p.where(cell), "value %s: want a finite number, at most 3.4e38", human.Quote(string(cell)))
	}
	return v, nil
}

// decimal is a value as Go reads it; nil if its comma, or its point among values with commas, may be of decimals or of
// thousands: three digits are behind it, and no other value has told.
func (p *triples) decimal(cell []byte) []byte {
	comma, point := bytes.LastIndexByte(cell, ','), bytes.LastIndexByte(cell, '.')
	switch {
	case comma < 0 && !(p.commas && point >= 0 && len(cell)-point-1 == 3):
		return cell
	case isDecimal(cell) || p.commas && bytes.IndexByte(cell, ',') == comma && point < comma:
		p.commas = true
		digits, exponent, ok := bytes.Cut(bytes.ToLower(cell), []byte("e"))
		if digits = withPoint(digits); ok {
			digits = slices.Concat(digits, []byte("e"), exponent)
		}
		return digits
	}
	return nil
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
