package data

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hogwild/internal/human"
)

// fill reads the cells a second time, now knowing what they are.
func (f *csvFile) fill(t *table, y int, features []feature, like *Meta) error {
	needed := []int{y}
	for _, x := range features {
		needed = append(needed, x.column)
	}
	needed = slices.Compact(needed) // the features of one column are neighbours
	missing, all, header := make([]int, len(f.columns)), 0, f.header
	unknown := newUnknown(features)
	// The inputs, the label, which may be a text, and the line.
	if err := t.takeRows(f.lines, 4*len(features)+28); err != nil {
		return err
	}
	var err error
	t.x, t.line = arrayOf[float32](t.room, f.lines*len(features), &err), make([]int32, 0, f.lines)
	if t.room.space() != nil {
		t.label = arrayOf[float64](t.room, f.lines, &err)
	}
	if err != nil {
		return err
	}
	f.labels = map[string]string{}
	err = f.rows(func(line int, cells []string) error {
		if header {
			header = false
			return nil
		}
		all++
		if lacks(cells, needed, missing) {
			if f.missing == "error" {
				return f.lacking(line, missing)
			}
			return nil
		}
		t.line = append(t.line, int32(line))
		if like != nil {
			unknown.see(cells)
		}
		return f.fillRow(t, line, cells, y, features)
	})
	t.Rows = len(t.line)
	if t.Rows < all {
		t.notef("left out %s of %s rows with missing values: %s", count(all-t.Rows), count(all), f.list(missing))
	}
	for _, j := range slices.Sorted(maps.Keys(unknown.rows)) {
		n := unknown.rows[j]
		t.notef("in %s of %s rows column %s has a text that is not in the training data: its features are 0 there", count(n), count(t.Rows), human.Quote(f.columns[j].name))
	}
	if err == nil && like == nil && 0 < t.Rows && 2*t.Rows < all {
		err = f.errorf("%s of %s rows lack a value, most of them in column %s: remove that column from the file, or fill in its values",
			count(all-t.Rows), count(all), human.Quote(f.columns[most(missing)].name))
	}
	return err
}

// unknown counts the rows in which a column has a text that is no feature.
type unknown struct {
	texts map[int]map[string]bool // of each column, the features
	rows  map[int]int
}

func newUnknown(features []feature) *unknown {
	u := &unknown{texts: map[int]map[string]bool{}, rows: map[int]int{}}
	for _, x := range features {
		if x.oneHot && u.texts[x.column] == nil {
			u.texts[x.column] = map[string]bool{}
		}
		if x.oneHot {
			u.texts[x.column][x.text] = true
		}
	}
	return u
}

func (u *unknown) see(cells []string) {
	for j, texts := range u.texts {
		if !texts[cells[j]] {
			u.rows[j]++
		}
	}
}

func (o *Options) checkMissing() error {
	if o.Missing == "" || o.Missing == "drop" || o.Missing == "error" {
		return nil
	}
	return fmt.Errorf("data: missing %q: want drop or error", o.Missing)
}

// most is where the largest number is.
func most(n []int) int { return slices.Index(n, slices.Max(n)) }

// lacking is the error about the first row without a value, which missing counts.
func (f *csvFile) lacking(line int, missing []int) error {
	return fmt.Errorf("data: %s:%d: column %s has no value: fill it in, or train without such rows (--missing drop)", f.path, line, human.Quote(f.columns[most(missing)].name))
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
		label, ok := f.labels[cells[y]]
		if !ok {
			label = strings.Clone(cells[y])
			f.labels[label] = label
			if err := f.room.take(f.path, int64(len(label))+textBytes, "its labels, which are texts"); err != nil {
				return err
			}
		}
		t.text = append(t.text, label)
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
			parts = append(parts, fmt.Sprintf("%s (%s)", human.Name(f.columns[j].name), count(n)))
		}
	}
	return some(parts)
}

func (f *csvFile) number(line int, cells []string, j int) (float64, error) {
	v, ok := cellNumber(cells[j])
	if !ok || !finite(float64(float32(v))) { // the largest float32 is written as a little more
		return 0, fmt.Errorf("data: %s:%d: column %s: %s: want a finite number, at most 3.4e38", f.path, line, human.Quote(f.columns[j].name), human.Quote(cells[j]))
	}
	return v, nil
}
