package data

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// table is a decoded file on the heap: inputs as the file has them, not scaled, and labels not yet numbered. By Kind it
// has x8, x, or ptr, idx and val, as Set has; triples have idx, two ids each, and val.
type table struct {
	Meta
	x8     []uint8
	x      []float32
	ptr    []int64
	idx    []uint32
	val    []float32
	label  []float64 // n, unless the labels are texts
	text   []string  // n labels, some of them not numbers; else nil
	y      []float32 // n labels that are numbered already; else nil
	rows   []Row     // of a set in memory, in the place of x, or of ptr, idx and val
	path   string    // of the file, for messages
	weight []float32 // n weights; else nil
	line   []int32   // the line of each row in the file; nil where rows are not lines
	budget *format.Budget

	// of each feature that is 1 where a text stands: which of the columns of texts, from 1; 0 of others, nil if none is
	oneHot []int32
	target string // what messages call the labels: labels, or target "price" (the last column; ...)
}

func newTable(src *format.Source, of string, kind Kind) *table {
	return &table{Meta: Meta{Name: src.Path, Format: of, Kind: kind}, path: src.Path, budget: src.Budget,
		target: "labels"}
}

// tableOf returns the rows of a file; like is nil for training data.
func tableOf(src *format.Source, f *format.File, like *Meta) (*table, error) {
	t := newTable(src, f.Format, f.Kind)
	t.Features, t.Shape, t.Classes = f.Features, f.Shape, f.Classes
	t.Columns, t.Target, t.Named, t.Dates, t.Marks = f.Columns, f.Target, f.Named, f.Dates, f.Marks
	if t.oneHot, t.target = f.OneHot, cmp.Or(f.Labels, t.target); f.Fills {
		t.Fill = []float32{} // what fills missing values, NaN in x, is to be found
	}
	as := layouts[t.Kind].(tabular)
	err := format.Countable(t.path, f.Rows, 0)
	if err == nil {
		err = as.allocate(t, f)
	}
	if err != nil {
		return nil, err
	}
	var row format.Row
	for {
		if err := f.Next(&row); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if t.Rows++; row.Weighted {
			t.weight = append(t.weight, float32(row.Weight))
		}
		if as.add(t, &row); !t.Entries() { // whose values are no labels
			t.addLabel(&row, f.Texts)
		}
	}
	if err := checkWeights(t.weight, t.path, t.where); err != nil {
		return nil, err
	}
	t.Notes, t.Read = f.Notes, cmp.Or(f.Read, t.Rows)
	if f.Dropped > 0 {
		t.notef("dropped %s values of features beyond %s, the last in the training data", count(f.Dropped),
			count(t.Features))
	}
	if t.keepsZeros() && like == nil {
		return t, t.number(f)
	}
	return t, nil
}

// tabular is a layout of rows that files have.
type tabular interface {
	allocate(t *table, f *format.File) error // counts and makes the memory of the rows that the file has at most
	add(t *table, row *format.Row)           // appends the inputs of a row
}

// storer is a layout of sets that are made out of tables.
type storer interface {
	put(t *table, i int, s *Set, to int) // copies the inputs of row i, scaled, to row to of s
}

// allocateLabels counts the memory of the rows that the file has at most, wide bytes each, and makes the memory
// of their labels.
func (t *table) allocateLabels(f *format.File, wide int) error {
	err := t.takeRows(f.Rows, wide) // the inputs, the label, which may be a text, and the line
	if err == nil && f.Fills {
		err = t.budget.Take(t.path, int64(t.Features)*spreadBytes, "what fills missing values")
	}
	if err == nil && !f.Texts {
		t.label = format.Array[float64](t.budget, f.Rows, &err)
	}
	return err
}

// addLabel appends what is not the inputs of a row.
func (t *table) addLabel(row *format.Row, texts bool) {
	if texts {
		t.text = append(t.text, row.Text)
	} else {
		t.label = append(t.label, row.Label)
	}
	if row.Line > 0 {
		t.line = append(t.line, int32(row.Line))
	}
}

// number counts the file's features from 0, now that all indices are known. Rows become dense if more than
// half of the inputs are there.
func (t *table) number(f *format.File) error {
	t.Features = f.Features
	if f.ZeroBased {
		t.notef(noteZeroBased)
	} else {
		for k := range t.idx {
			t.idx[k]--
		}
	}
	if t.Features > 0 && float64(len(t.val)) > 0.5*float64(t.Rows)*float64(t.Features) {
		return t.dense()
	}
	return nil
}

// takeRows counts the memory of n rows of this many bytes each.
func (t *table) takeRows(n, bytes int) error {
	if err := format.Countable(t.path, n, 0); err != nil {
		return err
	}
	total := int64(math.MaxInt64)
	if bytes == 0 || int64(n) <= total/int64(bytes) {
		total = int64(n) * int64(bytes)
	}
	return t.budget.Take(t.path, total, fmt.Sprintf("%s rows of %s each", count(n), human.Bytes(int64(bytes))))
}

// where says where row i stands in the file: "path:line" or "path: row i".
func (t *table) where(i int) string {
	if t.line == nil {
		return fmt.Sprintf("%s: row %d", t.path, i+1)
	}
	return fmt.Sprintf("%s:%d", t.path, t.line[i])
}

// dense turns sparse inputs into floats.
func (t *table) dense() error {
	if err := t.takeRows(t.Rows, 4*t.Features); err != nil {
		return err
	}
	var err error
	if t.x = format.Array[float32](t.budget, t.Rows*t.Features, &err); err != nil {
		return err
	}
	t.x = t.x[:t.Rows*t.Features]
	for i := range t.Rows {
		row := t.x[i*t.Features:]
		for k := t.ptr[i]; k < t.ptr[i+1]; k++ {
			row[t.idx[k]] = t.val[k]
		}
	}
	t.budget.Give(int64(8 * cap(t.idx)))
	t.Kind, t.ptr, t.idx, t.val = Floats, nil, nil, nil
	return nil
}

// store copies the rows, in that order, into a sealed segment, scaled by t.Mul and
// t.Add. y has the targets of all rows of the table.
func (t *table) store(rows []int32, y []float32) (*Set, error) {
	m, stored := t.Meta, 0
	m.Rows, m.Nonzeros = len(rows), 0
	if t.Sparse() {
		for _, i := range rows {
			stored += len(t.row(int(i)).Val)
		}
	}
	var s *Set
	var err error
	around := t.budget.Around(t.x8)
	there := around != nil && len(rows) == t.Rows && t.weight == nil
	if there { // unless it has no room
		s, err = createAround(m, stored, false, t.budget, around)
		there = err == nil
	}
	if !there {
		s, err = createAround(m, stored, t.weight != nil, t.budget, nil)
	}
	if err != nil {
		return nil, err
	}
	if s.Ptr != nil {
		for to, i := range rows {
			s.Ptr[to+1] = s.Ptr[to] + int64(len(t.row(int(i)).Val))
		}
	}
	scratch, as := t.budget.Space(), layouts[t.Kind].(storer)
	fill := func(from, to int) {
		inOrder(scratch, from, to, func(at int) int { return int(rows[at]) }, func(at, i int) {
			if s.Y[at] = y[i]; s.W != nil {
				s.W[at] = t.weight[i]
			}
			if !there {
				as.put(t, i, s, at)
			}
		})
	}
	if there {
		permuteRows(s.X8, t.Features, rows)
	}
	if scratch == nil {
		fill = inParallel(fill)
	}
	return filled(s, t.budget, fill)
}

// fillHoles sets Fill by the training rows, and fills the missing values of all rows with it: the mean of
// numbers, the most common text.
func (t *table) fillHoles(rows []int32) {
	if t.Fill == nil {
		return
	}
	sums, n := make([]float64, t.Features), make([]float64, t.Features)
	t.each(rows, func(j int, v float64) {
		if v == v {
			sums[j] += v
			n[j]++
		}
	})
	t.Fill = make([]float32, t.Features)
	instead := map[int32]uint32{} // of texts, the feature of the most common one
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
		instead[t.oneHot[common]] = uint32(common)
	}
	for i, v := range t.x {
		if v != v {
			t.x[i] = t.Fill[i%t.Features]
		}
	}
	for k, v := range t.val { // of texts the first feature is there
		if j := t.idx[k]; v != v {
			if t.oneHot[j] > 0 {
				j = instead[t.oneHot[j]]
			}
			t.idx[k], t.val[k] = j, t.Fill[j]
		}
	}
}

// allRows returns 0 to n-1.
func allRows(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// shuffled returns rows in an order drawn from the seed; draw tells the uses of one seed
// from each other.
func shuffled(rows []int32, seed, draw uint64) []int32 {
	rows = slices.Clone(rows)
	rng := rand.New(rand.NewPCG(seed, draw))
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}
