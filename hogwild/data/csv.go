package data

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hogwild/internal/human"
)

// decodeCSV reads a table of cells between commas, semicolons, tabs or |, some of them
// perhaps in quotes.
//
// The first line holds the names of the columns if a cell of it is a text above
// more numbers than texts, if it counts the columns from 0 (see countsColumns), or if there are no numbers at all and none of its texts
// occurs again in its column. The target is the column asked for, else one named
// target, label, y or class, else the last. A column of numbers becomes a feature;
// one of dates some features (see dateFeatures); one of texts a feature for each text (1 where it stands, else 0).
// Texts are left out if there are more than 100, or if they hardly occur twice; so are numbers of rows. A text among more numbers is
// an error. Missing values (see isMissing) are filled in (see fillHoles); if that is asked for, such rows are left out, or are an error.
// Other data than the training data gets the features of that, by name. What was done is in the Notes.
func decodeCSV(src *source, o Options, like *Meta) (*table, error) {
	f := newCSVFile(src)
	f.missing, f.lenient = cmp.Or(o.Missing, Fill), o.lenient
	if err := f.profile(); err != nil {
		return nil, err
	}
	if len(f.columns) == 1 && like == nil {
		return nil, f.errorf("one column only, so there are no features: separate columns by commas, semicolons, tabs or |")
	}
	t := newTable(src, "csv", Floats)
	t.Named = f.header
	if f.commas {
		t.notef("numbers are written with decimal commas")
	}
	y, err := f.target(t, o.Target, like)
	if err != nil {
		return nil, err
	}
	if c := &f.columns[y]; like == nil && c.order != "" && len(c.distinct) > fewClasses {
		err := f.errorf("the target %s has dates, e.g. %s: choose another column with --target", human.Quote(c.name), human.Quote(c.text))
		if err = f.refuse(err); err != nil {
			return nil, err
		}
	}
	var features []feature
	if like != nil && like.Columns != nil {
		features, err = f.featuresOf(*like)
	} else if err = f.ignore(o.Ignore, y); err == nil {
		features, err = f.features(t, y)
	}
	if err != nil {
		return nil, err
	}
	if len(features) == 0 && like == nil {
		err := f.errorf("no column to learn %s from%s; free text must become numbers first, such as word counts in a LIBSVM file", human.Quote(t.Target), because(t.Notes))
		if err = f.refuse(err); err != nil {
			return nil, err
		}
	}
	f.describe(t, features)
	return t, f.fill(t, y, features, like)
}

// describe says in t what the features are.
func (f *csvFile) describe(t *table, features []feature) {
	t.Features = len(features)
	var last feature
	group := int32(0)
	for _, x := range features {
		if !x.oneHot {
			t.oneHot = append(t.oneHot, 0)
		} else {
			if !last.oneHot || last.column != x.column || last.part != x.part {
				group++
			}
			t.oneHot = append(t.oneHot, group)
		}
		last = x
		t.Columns = append(t.Columns, f.name(x))
		if x.part != "" {
			if t.Dates == nil {
				t.Dates = map[string]string{}
			}
			t.Dates[f.columns[x.column].name] = f.columns[x.column].order
		}
	}
}

// refuse returns an error that makes a file useless for training, unless the file is only described: then it
// is a problem to be told.
func (f *csvFile) refuse(err error) error {
	if err == nil || !f.lenient {
		return err
	}
	says := "problem: " + strings.TrimPrefix(err.Error(), "data: ")
	if len(f.problems) < 5 && !slices.Contains(f.problems, says) { // a file is read more than once
		f.problems = append(f.problems, says)
	}
	return nil
}

// csvFile is a file whose columns are known after profile.
type csvFile struct {
	*source
	comma    rune
	commas   bool // numbers have commas where others have points: 1,5
	header   bool
	missing  string // what to do about values that are not there: Fill, Drop, Refuse
	comments int    // lines before the first that begin with #, and are no row
	lenient  bool   // what is wrong is told among the problems, not an error
	problems []string
	columns  []column
	lines    int               // rows, the names of the columns too
	labels   map[string]string // texts, each once
}

// columnBytes is about what a column takes beside its texts, with its name and its feature.
const columnBytes = 300

func newCSVFile(src *source) *csvFile {
	first := ""
	for line := range strings.Lines(string(src.text[:min(len(src.text), 1<<20)])) {
		if first = line; line[0] != '#' {
			break
		}
	}
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
	f.comments = f.leading()
	return f
}

// leading is how many lines there are before the rows that begin with # and have another number of cells.
func (f *csvFile) leading() (n int) {
	text, rest := string(f.text[:min(len(f.text), 1<<16)]), ""
	cells := func(line string) int { return strings.Count(line, string(f.comma)) }
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

// rows calls do with the cells of each row, trimmed, and its line in the file. The
// slice of cells is valid during the call only.
func (f *csvFile) rows(do func(line int, cells []string) error) error {
	return f.rowsFrom(bytes.NewReader(f.text), do)
}

// rowsFrom is rows of a file that is read as it comes.
func (f *csvFile) rowsFrom(from io.Reader, do func(line int, cells []string) error) error {
	b := &bounded{Reader: from, left: mostRow}
	lines := bufio.NewReaderSize(b, 1<<16)
	for range f.comments {
		for more := true; more; {
			_, err := lines.ReadSlice('\n')
			more = errors.Is(err, bufio.ErrBufferFull)
		}
	}
	r := csv.NewReader(lines)
	r.Comma, r.ReuseRecord = f.comma, true
	last := 0
	for {
		cells, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if at := (*csv.ParseError)(nil); errors.As(err, &at) {
			at.Line += f.comments
			if errors.Is(err, csv.ErrFieldCount) {
				err = fmt.Errorf("data: %s:%d: %s, the first line has %d: correct it (a cell that holds %q needs quotes)", f.path, at.Line, human.Plural(len(cells), "cell"), r.FieldsPerRecord, f.comma)
				if err = f.refuse(err); err == nil {
					continue
				}
				return err
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
		line += f.comments
		last = line
		for j := range cells {
			if err := f.refuse(f.checkUTF8(line, cells[j])); err != nil {
				return err
			}
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

// checkUTF8 refuses a text in another encoding.
func (f *csvFile) checkUTF8(line int, cell string) error {
	if utf8.ValidString(cell) {
		return nil
	}
	return fmt.Errorf("data: %s:%d: %s is not UTF-8 text: convert it to UTF-8 first: iconv -f WINDOWS-1252 -t UTF-8 OLD >NEW (or from the encoding that it has)", f.path, line, human.Quote(cell))
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
		err = f.see(firstLine, first)
	}
	names := f.names()
	for j := range f.columns {
		c := &f.columns[j]
		if c.dates.fit == [3]int{} {
			continue
		}
		taken := slices.ContainsFunc(dateParts, func(part string) bool { return slices.Contains(names, c.name+"."+part) })
		if c.numbers == 0 && !taken {
			c.order = c.dates.order(c.texts, c.text)
		}
	}
	return err
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
