package data

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// decodeCSV reads a table of cells between commas, semicolons or tabs, some of them
// perhaps in quotes.
//
// The first line holds the names of the columns if a cell of it is a text above
// nothing but numbers, or if there are no numbers at all and none of its texts
// occurs again in its column. The target is the column asked for, else one named
// target, label, y or class, else the last. A column of numbers becomes a feature;
// one of texts becomes a feature for each text (1 where it stands, else 0), and is
// left out if it has more than 100. Rows with a missing value (an empty cell, NA,
// NaN, null or ?) are left out. Other data than the training data gets the features
// of that, by name. What was done is in the Notes.
func decodeCSV(src *source, target string, like *Meta) (*table, error) {
	f := newCSVFile(src)
	if err := f.profile(); err != nil {
		return nil, err
	}
	t := newTable(src, "csv", Floats)
	if f.header && like == nil {
		t.notef("the first line names the columns")
	}
	y, err := f.target(t, target, like)
	if err != nil {
		return nil, err
	}
	var features []feature
	if like != nil && like.Columns != nil {
		features, err = f.featuresOf(*like)
	} else {
		features = f.features(t, y)
	}
	if err != nil {
		return nil, err
	}
	t.Features = len(features)
	for _, x := range features {
		t.Columns = append(t.Columns, f.name(x))
		t.fromText = append(t.fromText, x.oneHot)
	}
	return t, f.fill(t, y, features)
}

// csvFile is a file whose columns are known after profile.
type csvFile struct {
	*source
	comma   rune
	header  bool
	columns []column
}

func newCSVFile(src *source) *csvFile {
	src.text = bytes.TrimPrefix(src.text, []byte("\ufeff"))
	first, _, _ := strings.Cut(string(src.text[:min(len(src.text), 1<<20)]), "\n")
	f := &csvFile{source: src, comma: ','}
	for _, c := range ";\t" {
		if strings.Count(first, string(c)) > strings.Count(first, string(f.comma)) {
			f.comma = c
		}
	}
	return f
}

// rows calls do with the cells of each row, trimmed, and its line in the file. The
// slice of cells is valid during the call only.
func (f *csvFile) rows(do func(line int, cells []string) error) error {
	r := csv.NewReader(bytes.NewReader(f.text))
	r.Comma, r.ReuseRecord = f.comma, true
	for {
		cells, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if at := (*csv.ParseError)(nil); errors.As(err, &at) {
			if errors.Is(err, csv.ErrFieldCount) {
				return fmt.Errorf("data: %s:%d: %d cells, the first line has %d", f.path, at.Line, len(cells), r.FieldsPerRecord)
			}
			return fmt.Errorf("data: %s:%d:%d: %w", f.path, at.Line, at.Column, at.Err)
		}
		line, _ := r.FieldPos(0)
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		if err := do(line, cells); err != nil {
			return err
		}
	}
}

// profile reads all cells once to learn what the columns are.
func (f *csvFile) profile() error {
	var first []string
	firstLine := 0
	err := f.rows(func(line int, cells []string) error {
		if first == nil {
			first, firstLine = slices.Clone(cells), line
			f.columns = make([]column, len(cells))
			return nil
		}
		f.see(line, cells)
		return nil
	})
	if err != nil {
		return err
	}
	f.header = f.isHeader(first)
	for j := range f.columns {
		f.columns[j].name = strconv.Itoa(j + 1)
		if f.header && first[j] != "" {
			f.columns[j].name = first[j]
		}
	}
	if !f.header && first != nil {
		f.see(firstLine, first)
	}
	return nil
}

func (f *csvFile) see(line int, cells []string) {
	for j, cell := range cells {
		f.columns[j].see(line, cell)
	}
}

// isHeader judges the first line by the columns under it.
func (f *csvFile) isHeader(first []string) bool {
	onlyTexts := true
	for j, cell := range first {
		c := &f.columns[j]
		_, isNumber := cellNumber(cell)
		isText := !isNumber && !isMissing(cell)
		if isText && c.numbers > 0 && c.texts == 0 {
			return true
		}
		onlyTexts = onlyTexts && isText && c.numbers == 0 && !c.distinct[cell]
	}
	return onlyTexts
}

// fill reads the cells a second time, now knowing what they are.
func (f *csvFile) fill(t *table, y int, features []feature) error {
	needed := []int{y}
	for _, x := range features {
		needed = append(needed, x.column)
	}
	needed = slices.Compact(needed) // the features of one column are neighbours
	missing, all, header := make([]int, len(f.columns)), 0, f.header
	err := f.rows(func(line int, cells []string) error {
		if header {
			header = false
			return nil
		}
		all++
		if lacks(cells, needed, missing) {
			return nil
		}
		t.line = append(t.line, int32(line))
		return f.fillRow(t, line, cells, y, features)
	})
	t.Rows = len(t.line)
	if t.Rows < all {
		t.notef("left out %s of %s rows with missing values: %s", count(all-t.Rows), count(all), f.list(missing))
	}
	return err
}

// fillRow appends a row without missing values to t.
func (f *csvFile) fillRow(t *table, line int, cells []string, y int, features []feature) error {
	for _, x := range features {
		var v float64
		if !x.oneHot {
			var err error
			if v, err = f.number(line, cells, x.column); err != nil {
				return err
			}
		} else if cells[x.column] == x.text {
			v = 1
		}
		t.x = append(t.x, float32(v))
	}
	if f.columns[y].texts > 0 {
		t.text = append(t.text, strings.Clone(cells[y]))
		return nil
	}
	v, err := f.number(line, cells, y)
	t.label = append(t.label, v)
	return err
}

// lacks says whether a needed cell is missing, and counts those in missing.
func lacks(cells []string, needed, missing []int) bool {
	found := false
	for _, j := range needed {
		if isMissing(cells[j]) {
			missing[j]++
			found = true
		}
	}
	return found
}

// list names the columns in which values are missing, with how many.
func (f *csvFile) list(missing []int) string {
	var parts []string
	for j, n := range missing {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", f.columns[j].name, count(n)))
		}
	}
	return some(parts)
}

func (f *csvFile) number(line int, cells []string, j int) (float64, error) {
	v, ok := cellNumber(cells[j])
	if !ok || math.Abs(v) > math.MaxFloat32 {
		return 0, fmt.Errorf("data: %s:%d: column %q: %q: want a finite number, at most 3.4e38", f.path, line, f.columns[j].name, cells[j])
	}
	return v, nil
}
