package format

import (
	"fmt"
	"math"
	"slices"

	"hogwild/internal/human"
)

// inputs are the features in the cells of a row: of training rows, of others like them, of those to be predicted.
type inputs struct {
	*table
	columns []inputColumn // those that features come from
	d       int           // features
	sparse  bool          // rows have the values that are not 0 alone, and all numbers
	fill    []float32     // what is taken where a value is missing; nil: the row has a gap
	holes   []int         // missing values of each column of the file
	unseen  []int         // texts in it that are no feature
}

// inputColumn is a column that is one feature, or one for each of some texts.
type inputColumn struct {
	number  int
	part    string // of its dates
	feature int    // the first
	n       int    // how many
	filled  int    // the one that is not 0 where the value is missing
	texts   map[string]int
}

func newInputs(t *table, features []feature) *inputs {
	in := &inputs{table: t, d: len(features), sparse: t.Kind == Sparse,
		holes: make([]int, len(t.columns)), unseen: make([]int, len(t.columns))}
	for j, x := range features {
		last := len(in.columns) - 1
		if !x.oneHot || last < 0 || in.columns[last].texts == nil || in.columns[last].number != x.column ||
			in.columns[last].part != x.part {
			in.columns = append(in.columns, inputColumn{number: x.column, part: x.part, feature: j})
			last++
		}
		c := &in.columns[last]
		if c.n++; x.oneHot {
			if c.texts == nil {
				c.texts = map[string]int{}
			}
			c.texts[x.text] = j
		}
	}
	if like := t.o.Like; like != nil {
		in.fill = like.Fill
	} else if t.Fills = t.o.Missing == Fill; t.Fills {
		in.fill = slices.Repeat([]float32{float32(math.NaN())}, len(features)) // until the training rows are known
	}
	for i := range in.columns {
		c := &in.columns[i]
		for c.filled = c.feature; in.fill != nil && c.filled < c.feature+c.n-1 && in.fill[c.filled] == 0; {
			c.filled++
		}
	}
	return in
}

// row appends the inputs of a row of a block to its val, and idx. It returns the number of the first column without a
// value, if that makes a gap, else -1.
func (in *inputs) row(b *block) (gap int, err error) {
	var x []float32 // of a dense row
	if n := len(b.val); !in.sparse {
		b.val = slices.Grow(b.val, in.d)[:n+in.d]
		x = b.val[n:]
		clear(x)
	}
	gap = -1
	last := -1
	for _, c := range in.columns {
		cell, again := &b.row[c.number], c.number == last // of a date, several parts
		last = c.number
		if !cell.plain && (isMissing(cell.text) || (c.texts == nil || c.part != "") && isNullWord(cell.text)) {
			if !again {
				b.holes[c.number]++
			}
			if in.fill != nil && in.sparse {
				b.put(x, c.filled, in.fill[c.filled])
			} else if in.fill != nil {
				copy(x[c.feature:c.feature+c.n], in.fill[c.feature:])
			} else if gap < 0 {
				gap = c.number
			}
			continue
		}
		if c.part != "" {
			if cell, err = in.datePart(b.at, string(cell.text), c); err != nil {
				return gap, err
			}
		}
		if c.texts == nil {
			v, err := in.number(b.at, c.number, cell)
			if err != nil {
				return gap, err
			}
			b.put(x, c.feature, float32(v))
		} else if j, ok := c.texts[string(cell.text)]; ok {
			b.put(x, j, 1)
		} else {
			b.unseen[c.number]++
		}
	}
	return gap, nil
}

// put sets a value of the last row: x, if that is dense.
func (b *block) put(x []float32, feature int, v float32) {
	if x != nil {
		x[feature] = v
	} else {
		b.idx, b.val = append(b.idx, uint32(feature)), append(b.val, v)
	}
}

// datePart returns a part of a date, as a cell.
func (in *inputs) datePart(line int, date string, c inputColumn) (*cell, error) {
	at, _, ok := readDate(date, in.table.columns[c.number].order)
	if !ok {
		return nil, fmt.Errorf("data: %s:%d: column %s: %s: want a date as in the training data, such as %s",
			in.Path, line, human.Quote(in.table.columns[c.number].name), human.Quote(date),
			dateExample[in.table.columns[c.number].order])
	}
	return &cell{text: []byte(partOf(at, c.part))}, nil
}

// dateExample is a date in each order.
var dateExample = map[string]string{"ymd": "2026-03-31", "dmy": "31.3.2026", "mdy": "3/31/2026"}

// notes say what stands for missing values, and which texts have no feature, in n rows.
func (in *inputs) notes(n int) (notes []string) {
	if holes := sum(in.holes); in.fill != nil && holes > 0 {
		notes = append(notes, fmt.Sprintf("filled %s with the mean, or the most common text, of the column in the "+
			"training rows: %s",
			human.Plural(holes, "missing value"), in.list(in.holes)))
	}
	for j, k := range in.unseen {
		if k > 0 {
			notes = append(notes, fmt.Sprintf("in %s of %s rows column %s has a text that is not in the training "+
				"data: its features are 0 there",
				count(k), count(n), human.Quote(in.table.columns[j].name)))
		}
	}
	return notes
}

func sum(n []int) (total int) {
	for _, k := range n {
		total += k
	}
	return total
}

// list names the columns in which values are missing, with how many.
func (t *table) list(missing []int) string {
	var parts []string
	for j, n := range missing {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", human.Name(t.columns[j].name), count(n)))
		}
	}
	return Some(parts)
}

// number returns the number in a cell of column j.
func (t *table) number(line, j int, x *cell) (float64, error) {
	if x.plain { // and so below 2^53
		return x.v, nil
	}
	v, ok := Number(x.text)
	if !ok || !finite(v) { // the largest float32 is written as a little more
		return 0, fmt.Errorf("data: %s:%d: column %s: %s: want a finite number, at most 3.4e38", t.Path, line,
			human.Quote(t.columns[j].name), human.Quote(string(x.text)))
	}
	return v, nil
}
