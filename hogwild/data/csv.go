package data

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// decodeCSV reads a table of cells between commas, semicolons, tabs or |, some of them
// perhaps in quotes.
//
// The first line holds the names of the columns if a cell of it is a text above
// more numbers than texts, if it counts the columns from 0 (see countsColumns), or if there are no numbers at all and none of its texts
// occurs again in its column. The target is the column asked for, else one named
// target, label, y or class, else the last. A column of numbers becomes a feature;
// one of texts becomes a feature for each text (1 where it stands, else 0), and is
// left out if it has more than 100, or if they hardly occur twice. A text among more numbers is an error. Rows with a
// missing value (see isMissing) are left out, or are an error if that is asked for or if
// they are more than half of the training rows. Other data than the training data gets the features
// of that, by name. What was done is in the Notes.
func decodeCSV(src *source, o Options, like *Meta) (*table, error) {
	f := newCSVFile(src)
	f.missing = o.Missing
	if err := f.profile(); err != nil {
		return nil, err
	}
	if len(f.columns) == 1 && like == nil {
		return nil, f.errorf("one column only, so there are no features: separate columns by commas, semicolons, tabs or |")
	}
	t := newTable(src, "csv", Floats)
	if f.header && like == nil {
		t.notef(noteHeader)
	}
	if f.commas {
		t.notef("numbers are written with decimal commas")
	}
	y, err := f.target(t, o.Target, like)
	if err != nil {
		return nil, err
	}
	var features []feature
	if like != nil && like.Columns != nil {
		features, err = f.featuresOf(*like)
	} else {
		features, err = f.features(t, y)
	}
	if err != nil {
		return nil, err
	}
	if len(features) == 0 && like == nil {
		return nil, f.errorf("no column to learn %s from%s; free text must become numbers first, such as word counts in a LIBSVM file", human.Quote(t.Target), because(t.Notes))
	}
	t.Features = len(features)
	for _, x := range features {
		t.Columns = append(t.Columns, f.name(x))
		t.fromText = append(t.fromText, x.oneHot)
	}
	return t, f.fill(t, y, features, like)
}

// noteHeader tells other data that the names of columns are names, though they may be numbers.
const noteHeader = "the first line names the columns"

// csvFile is a file whose columns are known after profile.
type csvFile struct {
	*source
	comma   rune
	commas  bool // numbers have commas where others have points: 1,5
	header  bool
	missing string // what to do about values that are not there: drop the row ("" too), or error
	columns []column
	lines   int               // rows, the names of the columns too
	labels  map[string]string // texts, each once
}

// columnBytes is about what a column takes beside its texts, with its name and its feature.
const columnBytes = 300

func newCSVFile(src *source) *csvFile {
	first, _, _ := strings.Cut(string(src.text[:min(len(src.text), 1<<20)]), "\n")
	f := &csvFile{source: src, comma: ','}
	for _, c := range ";\t|" {
		if strings.Count(first, string(c)) > strings.Count(first, string(f.comma)) {
			f.comma = c
		}
	}
	if f.comma != ',' {
		has := func(mark string) bool {
			number := regexp.MustCompile(`(?m)(?:^|[;\t])[ "]*[-+]?\d+` + mark + `\d+[ "]*(?:[;\t\r]|$)`)
			return number.Match(src.text[:min(len(src.text), 1<<16)])
		}
		f.commas = has(`(?:\.\d{3})*,`) && !has(`\.`)
	}
	return f
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

// rows calls do with the cells of each row, trimmed, and its line in the file. The
// slice of cells is valid during the call only.
func (f *csvFile) rows(do func(line int, cells []string) error) error {
	return f.rowsFrom(bytes.NewReader(f.text), do)
}

// rowsFrom is rows of a file that is read as it comes.
func (f *csvFile) rowsFrom(from io.Reader, do func(line int, cells []string) error) error {
	b := &bounded{Reader: from, left: mostRow}
	r := csv.NewReader(b)
	r.Comma, r.ReuseRecord = f.comma, true
	last := 0
	for {
		cells, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if at := (*csv.ParseError)(nil); errors.As(err, &at) {
			if errors.Is(err, csv.ErrFieldCount) {
				return fmt.Errorf("data: %s:%d: %s, the first line has %d: correct it (a cell that holds %q needs quotes)", f.path, at.Line, human.Plural(len(cells), "cell"), r.FieldsPerRecord, f.comma)
			}
			return fmt.Errorf("data: %s:%d:%d: %w: quote a cell as a whole, and double the quotes inside it", f.path, at.Line, at.Column, at.Err)
		}
		if errors.Is(err, errLongRow) {
			return fmt.Errorf("data: %s:%d: a row of more than %s: is a quote before it never closed?", f.path, last+1, human.Bytes(mostRow))
		}
		if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		last = line
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
			if f.commas {
				cells[j] = withPoint(cells[j])
			}
		}
		if err := do(line, cells); err != nil {
			return err
		}
		b.left = mostRow
	}
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

// profile reads all cells once to learn what the columns are.
func (f *csvFile) profile() error {
	var first []string
	firstLine, lines := 0, 0
	err := f.rows(func(line int, cells []string) error {
		if lines++; first == nil {
			first, firstLine = slices.Clone(cells), line
			f.columns = make([]column, len(cells))
			return f.room.take(f.path, int64(len(cells))*columnBytes, count(len(cells))+" columns")
		}
		return f.see(line, cells)
	})
	if err != nil {
		return err
	}
	f.header = f.isHeader(first)
	f.nameColumns(first)
	if f.header && lines == 1 {
		return f.errorf("a header (%s) and no rows", some(f.names()))
	}
	f.lines = lines
	if !f.header {
		return f.see(firstLine, first)
	}
	return nil
}

// countsColumns says whether the cells of a first line are 0, 1, 2 and so on: what pandas writes above columns
// without names, perhaps after an empty cell above the numbers of the rows.
func countsColumns(first []string) bool {
	if first[0] == "" {
		first = first[1:]
	}
	for j, cell := range first {
		if cell != strconv.Itoa(j) {
			return false
		}
	}
	return len(first) >= 4 // fewer may well be values
}

// nameColumns gives each column its name in the header, or its number. Of columns with the
// same name the second is called NAME.2, or by the next number that no column is called by.
func (f *csvFile) nameColumns(header []string) {
	given, wanted := make([]string, len(f.columns)), map[string]bool{}
	for j := range given {
		given[j] = strconv.Itoa(j + 1)
		if f.header && header[j] != "" {
			given[j] = header[j]
			wanted[given[j]] = true
		}
	}
	taken, last := map[string]bool{}, map[string]int{}
	for j, name := range given {
		unnamed := f.header && header[j] == ""
		for taken[name] || (unnamed || name != given[j]) && wanted[name] {
			last[given[j]]++
			name = given[j] + "." + strconv.Itoa(1+last[given[j]])
		}
		taken[name] = true
		f.columns[j].name, f.columns[j].unnamed = name, unnamed
	}
}

func (f *csvFile) see(line int, cells []string) error {
	kept := int64(0)
	for j, cell := range cells {
		kept += f.columns[j].see(line, cell)
	}
	if kept == 0 {
		return nil
	}
	return f.room.take(f.path, kept, fmt.Sprintf("the texts of %s columns", count(len(cells))))
}

// isHeader judges the first line by the columns under it.
func (f *csvFile) isHeader(first []string) bool {
	if countsColumns(first) {
		return true
	}
	onlyTexts := true
	for j, cell := range first {
		c := &f.columns[j]
		_, isNumber := cellNumber(cell)
		isText := !isNumber && !isMissing(cell)
		if isText && c.numbers > c.texts {
			return true
		}
		onlyTexts = onlyTexts && isText && c.numbers == 0 && !c.distinct[cell]
	}
	return onlyTexts
}
