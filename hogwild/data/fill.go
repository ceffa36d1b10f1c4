package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"hogwild/hogwild/data/format"
	"hogwild/internal/fault"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// windowBytes is how much of a set is in memory at a time while its rows are put in their places.
var windowBytes = 128 << 20 // tests need less

// windows calls do for one part of n rows after the other, each of about windowBytes of s,
// and writes it to the disk. In memory there is one part.
func windows(scratch *format.Space, s *Set, n int, do func(from, to int)) error {
	if scratch == nil {
		do(0, n)
		return nil
	}
	step := max(1, n*windowBytes/max(1, s.size()))
	for from := 0; from < n; from += step {
		if err := scratch.Ctx.Err(); err != nil {
			return err
		}
		to := min(n, from+step)
		do(from, to)
		if err := errors.Join(fault.Point("convert.window"), s.flush(from, to)); err != nil {
			return fmt.Errorf("data: writing %s: %w", scratch.Out.Name(), err)
		}
		scratch.Tell("rows written", to, n)
	}
	return nil
}

// filled returns a set whose rows are put in their places by fill, a part of them at a time, sealed.
func filled(s *Set, budget *format.Budget, fill func(from, to int)) (*Set, error) {
	if err := windows(budget.Space(), s, s.Rows, fill); err != nil {
		s.Close()
		return nil, err
	}
	return sealed(s)
}

// flush writes rows of a set that is being made to its file.
func (s *Set) flush(from, to int) (err error) {
	for _, a := range s.arrays(len(s.Val)) {
		err = errors.Join(err, a.flush(from, to))
	}
	return err
}

// inOrder calls do with the positions from to to-1 and the row that each is to hold; where not all are
// in memory, in the order of the rows, which are then read one behind the other.
func inOrder(scratch *format.Space, from, to int, row func(at int) int, do func(at, row int)) {
	if scratch == nil {
		for at := from; at < to; at++ {
			do(at, row(at))
		}
		return
	}
	keys := make([]uint64, to-from)
	for k := range keys {
		keys[k] = uint64(row(from+k))<<32 | uint64(from+k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		do(int(k&(1<<32-1)), int(k>>32))
	}
}

// parallel cuts from..to-1 into pieces, one for each processor.
func parallel(from, to int, do func(from, to int)) {
	var all sync.WaitGroup
	n, pieces := to-from, runtime.GOMAXPROCS(0)
	for i := range pieces {
		all.Go(func() { do(from+i*n/pieces, from+(i+1)*n/pieces) })
	}
	all.Wait()
}

// permuteRows puts row rows[i], d bytes long, in place i. Each place is written once: along the cycles of the
// permutation, cut into pieces for all processors.
func permuteRows(x []uint8, d int, rows []int32) {
	const piece = 1 << 10
	row := func(i int32) []uint8 { return x[int(i)*d : (int(i)+1)*d] }
	var chains [][]int32 // places; each takes the row of the next, and the last one what follows
	var follow [][]uint8
	done := make([]bool, len(rows))
	for first := range rows {
		var cycle []int32
		for at := int32(first); !done[at]; at = rows[at] {
			done[at] = true
			cycle = append(cycle, at)
		}
		for from := 0; from < len(cycle) && len(cycle) > 1; from += piece {
			to := min(from+piece, len(cycle))
			chains = append(chains, cycle[from:to])
			follow = append(follow, slices.Clone(row(cycle[to%len(cycle)])))
		}
	}
	parallel(0, len(chains), func(from, to int) {
		for k := from; k < to; k++ {
			last := len(chains[k]) - 1
			for i, at := range chains[k][:last] {
				copy(row(at), row(chains[k][i+1]))
			}
			copy(row(chains[k][last]), follow[k])
		}
	})
}

// inParallel returns a function that calls do on all processors.
func inParallel(do func(from, to int)) func(from, to int) {
	return func(from, to int) { parallel(from, to, do) }
}

// every reports whether ok is true of 0 to n-1. All processors ask.
func every(n int, ok func(i int) bool) bool {
	var not atomic.Bool
	parallel(0, n, func(from, to int) {
		for i := from; i < to; i++ {
			if !ok(i) {
				not.Store(true)
				return
			}
		}
	})
	return !not.Load()
}

// sealed returns a set that is complete; one that cannot be sealed is closed.
func sealed(s *Set) (*Set, error) {
	if err := s.seal(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// setCounts sets Freq and Nonzeros by the rows in which each feature is not zero.
func (s *Set) setCounts(seen []int32) {
	s.Nonzeros = 0
	for j, c := range seen {
		s.Nonzeros += int64(c)
		s.Freq[j] = float32(max(c, 1)) / float32(s.Rows)
	}
}

// countNodes sets Freq of a set whose entries are all ones.
func countNodes(s *Set) {
	seen := make([]int32, s.Features)
	for _, j := range s.Idx {
		seen[j]++
	}
	s.setCounts(seen)
}

// setMeans sets Mean by the sums of the features.
func (s *Set) setMeans(sum []float64) {
	for j, v := range sum {
		s.Mean[j] = float32(v / float64(s.Rows))
	}
}

// project sets M, by the Mean that count has set.
func (s *Set) project() {
	if !layouts[s.Kind].hasInputs() {
		return
	}
	parallel(0, s.Rows, func(from, to int) {
		r := s.NewReader()
		for i := from; i < to; i++ {
			row := r.Batch([]int32{int32(i)}).Rows[0]
			if row.Idx == nil {
				s.M[i] = vec.Dot(row.Val, s.Mean)
			} else {
				s.M[i] = vec.SparseDot(row.Idx, row.Val, s.Mean)
			}
		}
	})
}

// seal completes a set whose rows are in place: it counts the frequencies, takes the
// means, writes the Meta and makes the segment read-only.
func (s *Set) seal() error {
	layouts[s.Kind].count(s)
	s.project()
	return sealCounted(s)
}

// sealCounted does what seal does after counting.
func sealCounted(s *Set) error {
	text, err := json.Marshal(s.Meta)
	if err != nil {
		return fmt.Errorf("data: description of %s: %w", s.Name, err)
	}
	meta, err := shm.View[uint8](s.seg, "meta")
	if err != nil {
		return err
	}
	for i := copy(meta, text); i < len(meta); i++ {
		meta[i] = ' '
	}
	if err := s.seg.Seal(); err != nil {
		return err
	}
	return s.view()
}
