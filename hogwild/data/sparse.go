package data

import (
	"math"
	"sync"

	"hogwild/hogwild/data/format"
	"hogwild/shm"
)

// sparseRows are rows that have only the values that are not zero. They were scaled when they were stored.
type sparseRows struct{ valued }

func init() { layouts[Sparse] = sparseRows{} }

func (sparseRows) inputs(s *Set, stored int) []array {
	ptr := ofRows("ptr", shm.I64, &s.Ptr, s.Rows+1)
	idx, val := ofRows("idx", shm.U32, &s.Idx, stored), ofRows("val", shm.F32, &s.Val, stored)
	idx.ptr, val.ptr = &s.Ptr, &s.Ptr
	return []array{ptr, idx, val}
}

func (sparseRows) scaledInPlace() bool { return false }

func (sparseRows) former(s *Set) former {
	return func(b *Batch, rows, _ []int32) {
		for _, i := range rows {
			from, to := s.Ptr[i], s.Ptr[i+1]
			b.Rows = append(b.Rows, Row{Idx: s.Idx[from:to:to], Val: s.Val[from:to:to]})
		}
	}
}

func (sparseRows) values(s *Set) float64 { return float64(len(s.Val)) / float64(s.Rows) }

// count is valued's, without batches: one goroutine counts, and another adds up.
func (sparseRows) count(s *Set) {
	seen, sum := make([]int32, s.Features), make([]float64, s.Features)
	var both sync.WaitGroup
	both.Go(func() {
		for k, j := range s.Idx {
			sum[j] += float64(s.Val[k])
		}
	})
	both.Go(func() {
		for i := range s.Rows {
			last := uint32(math.MaxUint32)
			for k, j := range s.Idx[s.Ptr[i]:s.Ptr[i+1]] {
				if s.Val[s.Ptr[i]+int64(k)] != 0 && j != last { // a word may be there twice
					seen[j]++
				}
				last = j
			}
		}
	})
	both.Wait()
	s.setCounts(seen)
	s.setMeans(sum)
}

func (sparseRows) damage(s *Set) string {
	ascends := func(i int) bool {
		from, to := s.Ptr[i], s.Ptr[i+1]
		if from < 0 || from > to || to > int64(len(s.Idx)) {
			return false
		}
		for k := from + 1; k < to; k++ {
			if s.Idx[k] < s.Idx[k-1] || s.Idx[k] == s.Idx[k-1] && s.Text == nil { // a line may have a word twice
				return false
			}
		}
		return true
	}
	if !every(s.Rows, ascends) {
		return "the indices of a row do not ascend"
	}
	return ""
}

func (sparseRows) allocate(t *table, f *format.File) error {
	wide := 20
	if f.Texts {
		wide += 8
	}
	err := t.budget.Take(t.path, int64(f.Values)*8, count(f.Values)+" values")
	if err == nil {
		err = t.allocateLabels(f, wide)
	}
	if err != nil {
		return err
	}
	t.ptr = append(format.Array[int64](t.budget, f.Rows+1, &err), 0)
	t.idx, t.val = format.Array[uint32](t.budget, f.Values, &err), format.Array[float32](t.budget, f.Values, &err)
	return err
}

func (sparseRows) add(t *table, row *format.Row) {
	t.idx, t.val = append(t.idx, row.Idx...), append(t.val, row.Val...)
	t.ptr = append(t.ptr, int64(len(t.idx)))
}

func (sparseRows) put(t *table, i int, s *Set, to int) {
	k, row := s.Ptr[to], t.row(i)
	for from, j := range row.Idx {
		s.Idx[k], s.Val[k] = j, t.scaled(int(j), row.Val[from])
		k++
	}
}
