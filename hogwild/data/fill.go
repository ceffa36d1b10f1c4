package data

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hogwild/internal/human"
)

// The values of Options.Missing.
const (
	Fill   = "fill"  // missing values become the mean, or the most common text, of their column in the training rows
	Drop   = "drop"  // rows that lack a value are left out
	Refuse = "error" // they are an error
)

func (o *Options) checkMissing() error {
	if o.Missing == "" || slices.Contains([]string{Fill, Drop, Refuse}, o.Missing) {
		return nil
	}
	return fmt.Errorf("data: missing %q: want fill, drop or error", o.Missing)
}

// fill reads the cells a second time, now knowing what they are.
func (f *csvFile) fill(t *table, y int, features []feature, like *Meta) error {
	// The inputs, the label, which may be a text, and the line.
	if err := t.takeRows(f.lines, 4*len(features)+28); err != nil {
		return err
	}
	if err := t.room.take(t.path, int64(len(features))*spreadBytes, "what fills missing values"); err != nil {
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
	in := newInputs(f, features, nil)
	if like != nil {
		in.fill = like.Fill
	} else if t.fills = f.missing == Fill; t.fills {
		in.fill = slices.Repeat([]float32{float32(math.NaN())}, len(features)) // until fillHoles knows better
	}
	all, unlabelled, err := f.fillRows(t, y, in)
	t.Rows = len(t.line)
	if in.fill != nil && unlabelled > 0 {
		t.notef("left out %s of %s rows without a value of the target %s", count(unlabelled), count(all), human.Quote(t.Target))
	} else if t.Rows < all {
		in.holes[y] += unlabelled
		t.notef("left out %s of %s rows with missing values: %s", count(all-t.Rows), count(all), f.list(in.holes))
	}
	t.Notes = append(t.Notes, in.notes(t.Rows)...)
	if err == nil && like == nil && 0 < t.Rows && 2*t.Rows < all {
		err = f.refuse(f.errorf("%s of %s rows lack a value, most of them in column %s: leave that column out (--ignore), or fill in its values",
			count(all-t.Rows), count(all), human.Quote(f.columns[most(in.holes)].name)))
	}
	t.Notes = append(t.Notes, f.problems...)
	return err
}

// fillRows appends the rows to t. It returns how many there are, and how many of them have no label.
func (f *csvFile) fillRows(t *table, y int, in *inputs) (all, unlabelled int, err error) {
	header := f.header
	err = f.rows(func(line int, cells []string) error {
		if header {
			header = false
			return nil
		}
		all++
		gap, err := in.row(line, cells)
		if err == nil && isMissing(cells[y]) {
			unlabelled++
			gap = y
		}
		switch {
		case err != nil:
			return f.refuse(err)
		case gap >= 0 && f.missing == Refuse:
			return fmt.Errorf("data: %s:%d: column %s has no value: fill it in, have hogwild do it (--missing fill), or train without such rows (--missing drop)",
				f.path, line, human.Quote(f.columns[gap].name))
		case gap >= 0:
			return nil
		}
		if err := f.label(t, line, y, cells[y]); err != nil {
			return f.refuse(err)
		}
		t.x, t.line = append(t.x, in.x...), append(t.line, int32(line))
		return nil
	})
	return all, unlabelled, err
}

// label appends the label in a cell to t.
func (f *csvFile) label(t *table, line, y int, cell string) error {
	if f.columns[y].texts == 0 {
		v, err := f.number(line, y, cell)
		if err == nil {
			t.label = append(t.label, v)
		}
		return err
	}
	label, ok := f.labels[cell]
	if !ok {
		label = strings.Clone(cell)
		f.labels[label] = label
		if err := f.room.take(f.path, int64(len(label))+textBytes, "its labels, which are texts"); err != nil {
			return err
		}
	}
	t.text = append(t.text, label)
	return nil
}

// most is where the largest number is.
func most(n []int) int { return slices.Index(n, slices.Max(n)) }

// fillHoles sets Fill by the training rows, and fills the missing values of all rows with it: the mean of
// numbers, the most common text.
func (t *table) fillHoles(rows []int32) {
	if !t.fills {
		return
	}
	sums, n := make([]float64, t.Features), make([]float64, t.Features)
	t.each(rows, func(j int, v float64) {
		if !math.IsNaN(v) {
			sums[j] += v
			n[j]++
		}
	})
	t.Fill = make([]float32, t.Features)
	for j := 0; j < t.Features; j++ {
		if t.oneHot[j] == 0 {
			t.Fill[j] = float32(sums[j] / max(n[j], 1))
			continue
		}
		common := j
		for ; j+1 < t.Features && t.oneHot[j+1] == t.oneHot[common]; j++ {
			if sums[j+1] > sums[common] {
				common = j + 1
			}
		}
		t.Fill[common] = 1
	}
	for i, v := range t.x {
		if v != v {
			t.x[i] = t.Fill[i%t.Features]
		}
	}
}
