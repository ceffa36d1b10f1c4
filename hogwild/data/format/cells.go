package format

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"hogwild/internal/human"
)

// table is a file of cells.
type table struct {
	*Source
	File
	o        Options
	comma    rune
	commas   bool // numbers have commas where others have points: 1,5
	header   bool
	comments int      // lines before the first that begin with #, and are no row
	problems []string // what is wrong, where that is no error
	columns  []column
}

// columnBytes is about what a column takes beside its texts, with its name and its feature.
const columnBytes = 300

func newTable(s *Source, o Options) *table {
	first := ""
	for line := range strings.Lines(string(s.Text[:min(len(s.Text), 1<<20)])) {
		if first = line; line[0] != '#' {
			break
		}
	}
	t := &table{Source: s, o: o, comma: ','}
	t.Format, t.Kind = "csv", Floats
	for _, c := range ";\t|" {
		if strings.Count(first, string(c)) > strings.Count(first, string(t.comma)) {
			t.comma = c
		}
	}
	if t.comma != ',' {
		has := func(mark string) bool {
			number := regexp.MustCompile(`(?m)(?:^|[;\t])[ "]*[-+]?\d+` + mark + `\d+[ "]*(?:[;\t\r]|$)`)
			return number.Match(s.Text[:min(len(s.Text), 1<<16)])
		}
		t.commas = has(`(?:\.\d{3})*,`) && !has(`\.`)
	}
	t.comments = t.leading()
	return t
}

// leading is how many lines there are before the rows that begin with # and have another number of cells.
func (t *table) leading() (n int) {
	text, rest := string(t.Text[:min(len(t.Text), 1<<16)]), ""
	cells := func(line string) int { return strings.Count(line, string(t.comma)) }
	var first []int
	for rest = text; strings.HasPrefix(rest, "#"); {
		line, after, _ := strings.Cut(rest, "\n")
		first, rest = append(first, cells(line)), after
	}
	line, _, _ := strings.Cut(rest, "\n")
	for line != "" && n < len(first) && first[n] != cells(line) {
		n++
	}
	return n
}

// withPoint is a number with a decimal comma, 1.234,5, as Go reads it; other cells are as they
// were.
func withPoint(cell string) string {
	whole, decimals, ok := strings.Cut(cell, ",")
	if !ok || strings.Trim(decimals, "0123456789") != "" || strings.Trim(whole, "+-.0123456789") != "" {
		return cell
	}
	return strings.ReplaceAll(whole, ".", "") + "." + decimals
}

// cells are the rows of a table.
type cells struct {
	t    *table
	r    *csv.Reader
	b    *bounded
	last int      // line
	back []string // the row that next gave last, to be given again
}

// rows begins with the first row.
func (t *table) rows() *cells {
	b := &bounded{Reader: t.from(), left: mostRow}
	lines := bufio.NewReaderSize(b, 1<<16)
	for range t.comments {
		for more := true; more; {
			_, err := lines.ReadSlice('\n')
			more = errors.Is(err, bufio.ErrBufferFull)
		}
	}
	c := &cells{t: t, r: csv.NewReader(lines), b: b}
	c.r.Comma, c.r.ReuseRecord = t.comma, true
	return c
}

// next is the cells of the next row, trimmed, and its line in the file; io.EOF behind the last. The cells are valid
// until the row after it.
func (c *cells) next() (line int, row []string, err error) {
	if row = c.back; row != nil {
		c.back = nil
		return c.last, row, nil
	}
	t := c.t
	c.b.left = mostRow
	for {
		row, err = c.r.Read()
		at := (*csv.ParseError)(nil)
		if !errors.As(err, &at) || !errors.Is(err, csv.ErrFieldCount) {
			break
		}
		err = fmt.Errorf("data: %s:%d: %s, the first line has %d: correct it (a cell that holds %q needs quotes)",
			t.Path, at.Line+t.comments, human.Plural(len(row), "cell"), c.r.FieldsPerRecord, t.comma)
		if err = t.refuse(err); err != nil {
			return 0, nil, err
		}
	}
	switch at := (*csv.ParseError)(nil); {
	case err == io.EOF:
		return 0, nil, err
	case errors.As(err, &at):
		return 0, nil, fmt.Errorf("data: %s:%d:%d: %w: quote a cell as a whole, and double the quotes inside it",
			t.Path, at.Line+t.comments, at.Column, at.Err)
	case errors.Is(err, errLongRow):
		return 0, nil, fmt.Errorf("data: %s:%d: a row of more than %s: is a quote before it never closed?", t.Path,
			c.last+1, human.Bytes(mostRow))
	case err != nil:
		return 0, nil, t.failed(err)
	}
	line, _ = c.r.FieldPos(0)
	line += t.comments
	c.last = line
	for j := range row {
		if err := t.refuse(t.checkUTF8(line, row[j])); err != nil {
			return 0, nil, err
		}
		row[j] = strings.TrimSpace(row[j])
		if t.commas {
			row[j] = withPoint(row[j])
		}
	}
	return line, row, nil
}

// checkUTF8 refuses a text in another encoding.
func (t *table) checkUTF8(line int, cell string) error {
	if utf8.ValidString(cell) {
		return nil
	}
	return fmt.Errorf("data: %s:%d: %s is not UTF-8 text: convert it to UTF-8 first: iconv -f WINDOWS-1252 -t UTF-8 "+
		"OLD >NEW (or from the encoding that it has)", t.Path, line, human.Quote(cell))
}

// mostRow is how many bytes a row may have: a million columns of 16. A quote that is never closed
// makes one row of all that follows, which the CSV reader holds several times.
const mostRow = 16 << 20

// bounded is a Reader that hands out left bytes at most.
type bounded struct {
	io.Reader
	left int
}

// Read fails when nothing is left.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errLongRow
	}
	n, err := b.Reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

var errLongRow = errors.New("long row")
