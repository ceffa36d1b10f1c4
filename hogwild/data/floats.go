package data

import (
	"slices"

	"hogwild/hogwild/data/format"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// floatRows are rows of numbers, which were scaled when they were stored.
type floatRows struct{ valued }

func init() { layouts[Floats] = floatRows{} }

func (floatRows) inputs(s *Set, _ int) []array {
	return []array{ofRows("x", shm.F32, &s.X, s.Rows, s.Features)}
}

// near is how many numbers of a row memory is asked for: the processor sees by itself where these lead.
const near = 128

func (floatRows) scaledInPlace() bool { return true }

func (floatRows) former(s *Set) former {
	d := s.Features
	return func(b *Batch, rows, ahead []int32) { // asks for the next batch's first rows: products ask for the others
		b.Rows = slices.Grow(b.Rows, len(rows))[:len(rows)]
		for n, i := range rows {
			if k := n + max(0, len(rows)-lead); n < vec.RowsAhead && k < len(ahead) {
				next := int(ahead[k]) * d
				vec.PrefetchFloats(s.X[next : next+min(d, near)])
			}
			from := int(i) * d
			b.Rows[n] = Row{Val: s.X[from : from+d : from+d]}
		}
	}
}

func (floatRows) allocate(t *table, f *format.File) error {
	err := t.allocateLabels(f, 4*t.Features+28)
	if err == nil {
		t.x = format.Array[float32](t.budget, f.Rows*t.Features, &err)
	}
	return err
}

func (floatRows) add(t *table, row *format.Row) { t.x = append(t.x, row.Val...) }

func (floatRows) put(t *table, i int, s *Set, to int) {
	row := s.X[to*s.Features : (to+1)*s.Features]
	for j, v := range t.row(i).Val {
		row[j] = t.scaled(j, v)
	}
}
