package format

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"hogwild/internal/human"
)

// table is a file of cells.
type table struct {
	*Source
	File
	o Options
	layout
	header   bool
	marks    []string // of each column, how numbers are written; nil: as Go does
	doubts   []string // of each column, in which ways its numbers can be read; "" if they are sure
	head     []byte   // of rows to be predicted: the first ones
	problems []string // what is wrong, where that is no error
	columns  []column
	kept     int64 // bytes that are counted for them
}

// layout is how the lines of a table are cut into cells.
type layout struct {
	comma    byte // or runs, or colons
	skipped  int  // lines before the first row: sep=; of Excel, comments
	letters  bool // quotes are letters, as in files of tabs that know no quotes
	blanks   bool // nothing but blanks separates cells
	tail     bool // rows end with a separator
	titled   bool // the first line has another number of cells than all below
	rowNames bool // each row begins with its name, which the header has none for, as R's write.table writes it
}

// What separates the cells of triples, if not a byte: blanks, as many as there are, and ::.
const (
	runs   = byte(0)
	colons = byte(1)
)

// columnBytes is about what a column takes without its texts, with its name and its feature.
const columnBytes = 300

// cells are the rows in a part of a table.
type cells struct {
	*table
	text       []byte  // where the part is
	pos, end   int     // what is not read yet
	line       int     // at pos, from 1
	width      int     // cells of the first row; 0 before it is read
	row        []cell  // the row that next read, valid until the next one
	from, at   int     // where it begins, its line
	rough      int     // how many of its cells are not plain
	quoted     []byte  // what cells in quotes hold that is not in text as it is
	open       bool    // a quote is not closed
	complaints []error // what is wrong with a file that is only described
}

// next reads the next row; io.EOF behind the last.
func (c *cells) next() error {
	for {
		if c.pos == c.end {
			return io.EOF
		}
		if c.pass() {
			continue
		}
		c.from, c.at = c.pos, c.line
		if !c.split() || c.pos-c.from > mostRow {
			return c.unreadable()
		}
		if len(c.row) == 1 && len(c.row[0].text) == 0 && c.text[c.from] != '"' {
			continue // a blank line
		}
		c.takeExtra()
		if c.width == 0 || len(c.row) == c.width || c.o.Triples {
			return c.trim()
		}
		cure := fmt.Sprintf("correct it (a cell that holds %q needs quotes)", c.comma)
		if c.titled {
			cure = "remove that one if it is a title"
		}
		if err := c.refuse(fmt.Errorf("data: %s:%d: %s, the first line has %d: %s", c.Path, c.at,
			human.Plural(len(c.row), "cell"), c.width, cure)); err != nil {
			return err
		}
	}
}

// pass goes behind a line of a file of triples that is blank or a comment.
func (c *cells) pass() bool {
	if !c.o.Triples || c.text[c.pos] > '#' {
		return false
	}
	end := LineEnd(c.text[:c.end], c.pos)
	if text := bytes.TrimSpace(c.text[c.pos:end]); len(text) > 0 && text[0] != '#' {
		return false
	}
	c.pos, c.line = end, c.line+1
	return true
}

// LineEnd returns where the line ends that a byte is in, behind its newline.
func LineEnd(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// between returns how long the separator at a byte is; 0: there is none.
func (l *layout) between(text []byte, at int) (n int) {
	switch {
	case l.comma == runs:
		for at+n < len(text) && (text[at+n] == ' ' || text[at+n] == '\t' || text[at+n] == '\r') {
			n++
		}
	case l.comma == colons && bytes.HasPrefix(text[at:], []byte("::")):
		n = 2
	case at < len(text) && text[at] == l.comma:
		n = 1
	}
	return n
}

// takeExtra takes off what is no cell: see layout.
func (c *cells) takeExtra() {
	switch n := len(c.row); {
	case c.tail && n > 1 && (c.width == 0 || n == c.width+1) && len(bytes.TrimSpace(c.row[n-1].text)) == 0:
		c.row = c.row[:n-1]
	case c.rowNames && c.width > 0 && n == c.width+1:
		c.row = slices.Delete(c.row, 0, 1)
	}
}

// split cuts the row at pos into cells; not ok if its quotes are wrong.
func (c *cells) split() (ok bool) {
	text, at, row := c.text[:c.end], c.pos, c.row[:0]
	c.quoted, c.rough, c.open = c.quoted[:0], 0, false
	for {
		if c.comma > colons {
			row, at = plainCells(row, text, at, c.comma)
			if at > c.pos && text[at-1] == '\n' {
				break
			}
		} else if c.comma == runs {
			at += c.between(text, at)
			if at == len(text) || text[at] == '\n' || text[at] == '#' {
				at = LineEnd(text, at)
				break
			}
		}
		v, n, plain := parseNumber(text[at:])
		x, end := cell{text[at : at+n], v, true, false}, at+n
		between := c.between(text, end)
		if !plain || end < len(text) && between == 0 && text[end] != '\n' {
			for c.o.Triples && at < len(text) && text[at] == ' ' {
				at++
			}
			x.plain, x.quoted = false, at < len(text) && text[at] == '"'
			if x.text, end, ok = c.cell(text, at); !ok {
				return false
			}
			between = c.between(text, end)
			c.rough++
		}
		row = append(row, x)
		if at = end + max(between, 1); end == len(text) || text[end] == '\n' {
			break
		}
	}
	c.row, c.pos, c.line = row, min(at, len(text)), c.line+1
	return true
}

// cell returns the cell at a byte, and where it ends.
func (c *cells) cell(text []byte, at int) (cell []byte, end int, ok bool) {
	if at == len(text) || text[at] != '"' || c.letters {
		for end = at; end < len(text) && text[end] != '\n'; end++ {
			if text[end] == c.comma || c.comma <= colons && c.between(text, end) > 0 {
				break
			}
			if text[end] == '"' && !c.letters && !c.o.Triples {
				return nil, end, false
			}
		}
		if cell = text[at:end]; end == len(text) || text[end] == '\n' {
			cell = bytes.TrimSuffix(cell, []byte("\r"))
		}
		return cell, end, true
	}
	begin := len(c.quoted)
	for end = at; ; c.quoted = append(c.quoted, '"') {
		part := text[end+1:]
		n := bytes.IndexByte(part, '"')
		if c.open = n < 0; c.open {
			return nil, end, false
		}
		part, end = part[:n], end+n+2
		if bytes.IndexByte(part, '\n') >= 0 {
			c.line += bytes.Count(part, []byte("\n"))
			part = bytes.ReplaceAll(part, []byte("\r\n"), []byte("\n"))
		}
		c.quoted = append(c.quoted, part...)
		if end == len(text) || text[end] != '"' {
			break
		}
	}
	if end < len(text) && text[end] == '\r' && (end+1 == len(text) || text[end+1] == '\n') {
		end++
	}
	for c.o.Triples && c.comma != runs && end < len(text) && text[end] == ' ' {
		end++
	}
	return c.quoted[begin:], end, end == len(text) || c.between(text, end) > 0 || text[end] == '\n'
}

// trim takes the blanks off the cells of a row, and looks at their letters.
func (c *cells) trim() error {
	for j := 0; j < len(c.row) && c.rough > 0; j++ {
		x := &c.row[j]
		if x.plain || len(x.text) == 0 {
			continue
		}
		if err := c.refuse(c.checkUTF8(c.at, x.text)); err != nil {
			return err
		}
		x.text = bytes.TrimSpace(x.text)
	}
	for j, is := range c.marks[:min(len(c.marks), len(c.row))] {
		if is == "" {
			continue
		}
		n := len(c.quoted)
		if c.quoted = plainNumber(c.quoted, c.row[j].text, is); len(c.quoted) > n {
			c.row[j].text, c.row[j].plain = c.quoted[n:], false
		}
	}
	return nil
}

// unreadable says what is wrong with the quotes of the row at from.
func (c *cells) unreadable() error {
	in := &io.LimitedReader{R: bytes.NewReader(c.text[c.from:]), N: mostRow}
	r := csv.NewReader(in)
	if r.Comma = rune(c.comma); c.comma <= colons {
		r.Comma = ' '
	}
	_, err := r.Read()
	if at := (*csv.ParseError)(nil); in.N > 0 && errors.As(err, &at) {
		return fmt.Errorf("data: %s:%d:%d: %w: quote a cell as a whole, and double the quotes inside it", c.Path,
			c.at+at.Line-1, at.Column, at.Err)
	}
	return fmt.Errorf("data: %s:%d: a row of more than %s: is a quote before it never closed?", c.Path, c.at,
		human.Bytes(mostRow))
}

// refuse returns an error that makes a file useless for training, unless the file is only described: then it is
// kept, to be told in the order of the file.
func (c *cells) refuse(err error) error {
	if err == nil || !c.o.Lenient {
		return err
	}
	c.complaints = append(c.complaints, err)
	return nil
}

// texts returns copies of the cells.
func (c *cells) texts() []string {
	texts := make([]string, len(c.row))
	for j, x := range c.row {
		texts[j] = string(x.text)
	}
	return texts
}

// mostRow is how many bytes a row may have: a million columns of 16. A quote that is never closed
// makes one row of all that follows, which the CSV reader holds several times.
const mostRow = 16 << 20
