package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hogwild/internal/human"
)

// table is a decoded file on the heap: inputs as the file has them, not scaled, and
// labels not yet numbered. By Kind it has x8, x, or ptr, idx and val, as Set has.
type table struct {
	Meta
	x8    []uint8
	x     []float32
	ptr   []int64
	idx   []uint32
	val   []float32
	label []float64 // n, unless the labels are texts
	text  []string  // n labels of which some are not numbers; else nil
	y     []float32 // n labels that are numbered already; else nil
	rows  []Row     // of a set in memory, in the place of x, or of ptr, idx and val
	path  string    // of the file, for messages
	line  []int32   // the line of each row in the file; nil where rows are not lines
	room  *budget

	oneHot []int32 // of each feature that is 1 where a text stands: which of the columns of texts, from 1; 0 of others, nil if none is
	fills  bool    // missing values, NaN in x, are to be filled
	target string  // what messages call the labels: labels, or target "price" (the last column; ...)
}

func newTable(src *source, format, kind string) *table {
	return &table{Meta: Meta{Name: src.path, Format: format, Kind: kind, Checksum: src.sum}, path: src.path, room: src.room, target: "labels"}
}

// takeRows counts the memory of n rows of so many bytes each.
func (t *table) takeRows(n, bytes int) error {
	if err := countable(t.path, n, 0); err != nil {
		return err
	}
	total := int64(math.MaxInt64)
	if bytes == 0 || int64(n) <= total/int64(bytes) {
		total = int64(n) * int64(bytes)
	}
	return t.room.take(t.path, total, fmt.Sprintf("%s rows of %s each", count(n), human.Bytes(int64(bytes))))
}

func (m *Meta) notef(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
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
	x, err := newArray[float32](t.room, t.Rows*t.Features)
	if err != nil {
		return err
	}
	t.x = x[:t.Rows*t.Features]
	for i := range t.Rows {
		row := t.x[i*t.Features:]
		for k := t.ptr[i]; k < t.ptr[i+1]; k++ {
			row[t.idx[k]] = t.val[k]
		}
	}
	t.room.give(int64(8 * cap(t.idx)))
	t.Kind, t.ptr, t.idx, t.val = Floats, nil, nil, nil
	return nil
}

// row is the inputs of row i, unless they are bytes.
func (t *table) row(i int) Row {
	switch {
	case t.rows != nil:
		return t.rows[i]
	case t.Kind == Floats:
		return Row{Val: t.x[i*t.Features : (i+1)*t.Features]}
	}
	from, to := t.ptr[i], t.ptr[i+1]
	return Row{Idx: t.idx[from:to], Val: t.val[from:to]}
}

// each calls f with feature and value of every input that the rows store: all of
// them, or the non-zero ones of a sparse table.
func (t *table) each(rows []int32, f func(j int, v float64)) {
	d := t.Features
	for _, i := range rows {
		from := int(i) * d
		switch t.Kind {
		case Bytes:
			for j, v := range t.x8[from : from+d] {
				f(j, float64(v))
			}
		case Floats:
			for j, v := range t.row(int(i)).Val {
				f(j, float64(v))
			}
		default:
			row := t.row(int(i))
			for k, j := range row.Idx {
				f(int(j), float64(row.Val[k]))
			}
		}
	}
}

// store copies the rows, in that order, into a sealed segment, scaled by t.Mul and
// t.Add. y has the targets of all rows of the table.
func (t *table) store(rows []int32, y []float32) (*Set, error) {
	m, stored := t.Meta, 0
	m.Rows, m.Nonzeros = len(rows), 0
	if t.Kind == Sparse {
		for _, i := range rows {
			stored += len(t.row(int(i)).Val)
		}
	}
	s, err := create(m, stored, t.room)
	if err != nil {
		return nil, err
	}
	if t.Kind == Sparse {
		for to, i := range rows {
			s.Ptr[to+1] = s.Ptr[to] + int64(len(t.row(int(i)).Val))
		}
	}
	sp := t.room.space()
	err = sp.windows(s, len(rows), func(from, to int) {
		sp.inOrder(from, to, func(at int) int { return int(rows[at]) }, func(at, i int) {
			s.Y[at] = y[i]
			t.storeRow(s, at, i)
		})
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	return sealed(s)
}

// storeRow copies the inputs of row i to row number to of s.
func (t *table) storeRow(s *Set, to, i int) {
	d := t.Features
	switch t.Kind {
	case Bytes:
		copy(s.X8[to*d:(to+1)*d], t.x8[i*d:])
	case Floats:
		row := s.X[to*d : (to+1)*d]
		for j, v := range t.row(i).Val {
			row[j] = t.scaled(j, v)
		}
	default:
		k, row := s.Ptr[to], t.row(i)
		for from, j := range row.Idx {
			s.Idx[k], s.Val[k] = j, t.scaled(int(j), row.Val[from])
			k++
		}
	}
}

// scaled is a value of feature j as sets of this scaling have it.
func (m *Meta) scaled(j int, v float32) float32 {
	mul, add := m.scaling(j)
	return float32(float64(v)*float64(mul) + float64(add))
}

// allRows is 0 to n-1.
func allRows(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// shuffled is rows in an order drawn from the seed; draw tells the uses of one seed
// from each other.
func shuffled(rows []int32, seed, draw uint64) []int32 {
	rows = slices.Clone(rows)
	rng := rand.New(rand.NewPCG(seed, draw))
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// count writes n with commas: 20,433.
func count(n int) string { return human.Count(int64(n)) }
