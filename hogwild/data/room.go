package data

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"hogwild/hogwild/data/format"
	"hogwild/internal/vec"
)

// Room is a set whose rows another process puts in their places, so that they are copied once: it maps File for
// writing, and unmaps it before Sealed. The rows are to lie in a random order, as Load draws one.
type Room struct {
	set *Set
	// Unsummed leaves the checksum out: no run will be resumed on the rows, and nothing else is compared with them.
	Unsummed bool
}

// filledElsewhere is a layout of sets that another process may fill.
type filledElsewhere interface {
	scaledInPlace() bool // each feature has a scaling of its own
}

// NewRoom makes the memory of m.Rows rows, which may have weights. stored is the number of values of sparse rows;
// budget limits what it takes.
func NewRoom(m Meta, stored int, weighted bool, budget *format.Budget) (*Room, error) {
	m.Name, m.Format = cmp.Or(m.Name, "memory"), "memory"
	l, ok := layouts[m.Kind].(filledElsewhere)
	switch {
	case !ok:
		return nil, fmt.Errorf("data: %s: rows of kind %q: want floats, sparse or pairs", m.Name, m.Kind)
	case m.Entries() && (len(m.Shape) != 2 || min(m.Shape[0], m.Shape[1]) < 1 ||
		m.Shape[0]+m.Shape[1] != m.Features):
		return nil, fmt.Errorf("data: %s: a matrix of the shape %v: want its rows and columns", m.Name, m.Shape)
	case m.Rows < 1 || m.Features < 1 || stored < 0:
		return nil, fmt.Errorf("data: %s: %d rows of %d features: there is nothing to learn from", m.Name, m.Rows,
			m.Features)
	case m.Columns != nil && len(m.Columns) != m.Features:
		return nil, fmt.Errorf("data: %s: %d names of %d features", m.Name, len(m.Columns), m.Features)
	}
	if m.Entries() { // ids are the numbers of the rows and of the columns, each from 0
		m.IDs = [][]uint32{{0, uint32(m.Shape[0])}, {0, uint32(m.Shape[1])}}
	}
	open := m // with room for what is known when the rows are in place
	open.Notes = []string{strings.Repeat("-", notesRoom)}
	open.Checksum = strings.Repeat("-", checksumRoom)
	if l.scaledInPlace() {
		open.Mul = slices.Repeat([]float32{-math.MaxFloat32}, m.Features)
		open.Add = open.Mul
	}
	if m.Implicit {
		stored = m.Rows // at most: see Sealed
	}
	s, err := createAround(open, stored, weighted, budget, nil)
	if err != nil {
		return nil, err
	}
	s.Meta = m
	return &Room{set: s}, nil
}

// What the notes and the checksum of a Room may take of the segment.
const notesRoom, checksumRoom = 1000, 32

// File returns the memfd; it stays the set's.
func (r *Room) File() *os.File { return r.set.File() }

// Offsets returns where in File the arrays lie, in bytes, and Size how many it has.
func (r *Room) Offsets() map[string]int64 { return r.set.Offsets() }

// Size returns the length of File in bytes.
func (r *Room) Size() int { return len(r.set.seg.Bytes()) }

// Close gives the memory back, unless Sealed has returned it as a set.
func (r *Room) Close() { _ = r.set.Close() }

// Rows returns the rows as they were filled in, to be predicted: views of the memory.
func (r *Room) Rows() (*Memory, error) {
	if err := r.check(true); err != nil {
		return nil, err
	}
	s := r.set
	m := &Memory{Name: s.Name, Rows: make([]Row, s.Rows), Features: s.Features, Columns: s.Columns}
	for i := range m.Rows {
		if s.X != nil {
			m.Rows[i].Val = s.X[i*s.Features : (i+1)*s.Features]
		} else {
			from, to := s.Ptr[i], s.Ptr[i+1]
			m.Rows[i] = Row{Idx: s.Idx[from:to:to], Val: s.Val[from:to:to]}
		}
	}
	return m, nil
}

// Sealed checks the rows, scales them, and makes them read-only for all. Of rows that are like others the scaling is
// theirs; else scale is Options.Scale. The process that has filled them may no longer map File.
func (r *Room) Sealed(scale string, like *Meta) (*Set, error) {
	s := r.set
	var known []spread
	if s.X != nil {
		known = denseSpreads(s.X, s.Rows, s.Features)
	}
	odd := func(f spread) bool { return !finite(f.mean) }
	if err := r.check(s.X == nil || slices.ContainsFunc(known, odd)); err != nil {
		return nil, err
	}
	if s.Entries() {
		scale, s.Targets = "none", spreadOf(s.Y)
	}
	if s.Implicit {
		l, err := likesOf(nil, s.Name, s.Idx, s.Shape, nil)
		if err == nil {
			err = (&pairs{Meta: s.Meta}).noteFull(l)
		}
		if err != nil {
			return nil, err
		}
		copy(s.SeenPtr, l.ptr)
		copy(s.Seen, l.items)
	}
	t := &table{Meta: s.Meta, ptr: s.Ptr, idx: s.Idx, val: s.Val, path: s.Name}
	if like != nil {
		t.Scale, t.Mul, t.Add = like.Scale, like.Mul, like.Add
	} else {
		rule, err := parseScale(scale)
		if err == nil {
			err = t.fit(rule, func() []spread {
				if known != nil {
					return known
				}
				return t.spreads(allRows(s.Rows))
			})
		}
		if err != nil {
			return nil, err
		}
	}
	s.Meta = t.Meta
	if !r.Unsummed { // of all that was filled in: a resumed run knows its data again by it
		s.Checksum = fmt.Sprintf("crc32c:%08x", sumOfSums(s.seg.Bytes()))
	}
	if s.X != nil {
		scaleDense(s, known)
		return s, sealCounted(s)
	}
	if s.Mul != nil {
		parallel(0, len(s.Val), func(from, to int) {
			for k := from; k < to; k++ {
				s.Val[k] = s.scaled(int(s.Idx[k]), s.Val[k])
			}
		})
	}
	return s, s.seal()
}

// sumOfSums returns the checksum of the checksums of pieces of b.
func sumOfSums(b []byte) uint32 {
	const piece = 8 << 20
	sums := make([]uint32, (len(b)+piece-1)/piece)
	parallel(0, len(sums), func(from, to int) {
		for i := from; i < to; i++ {
			sums[i] = checksum(b[i*piece:min((i+1)*piece, len(b))], func(int) {})
		}
	})
	return checksum(fmt.Append(nil, sums), func(int) {})
}

// fail returns an error of the rows.
func (r *Room) fail(format string, a ...any) error {
	return fmt.Errorf("data: %s: %s", r.set.Name, fmt.Sprintf(format, a...))
}

// check refuses what no loop may see; numbers that are not finite, too, or the caller does.
func (r *Room) check(numbers bool) error {
	s, fail := r.set, r.fail
	if s.Ptr != nil {
		if s.Ptr[0] != 0 || s.Ptr[s.Rows] != int64(len(s.Idx)) {
			return fail("the rows end at value %d of %d", s.Ptr[s.Rows], len(s.Idx))
		}
		if len(s.Idx) > 0 && int(vec.Largest(s.Idx)) >= s.Features {
			return fail("a column has number %d, and there are %d", vec.Largest(s.Idx), s.Features)
		}
		if bad := layouts[s.Kind].damage(s); bad != "" {
			return fail("%s", bad)
		}
	}
	if s.Entries() {
		if bad := layouts[s.Kind].damage(s); bad != "" || int(vec.Largest(s.Idx)) >= s.Features {
			return fail("%s", cmp.Or(bad, "an entry is outside of the matrix"))
		}
	}
	if numbers {
		if err := r.checkFinite(); err != nil {
			return err
		}
	}
	if err := checkWeights(s.W, s.Name, nil); err != nil {
		return err
	}
	classes := float32(len(s.Classes))
	for i, y := range s.Y {
		if !finite(float64(y)) || classes > 0 && (y < 0 || y >= classes || y != float32(int(y))) {
			return fail("row %d: target %g: want a finite number, or the number of a class below %g", i, y, classes)
		}
	}
	return nil
}

// checkFinite refuses numbers that are not finite.
func (r *Room) checkFinite() error {
	s := r.set
	if i := notFinite(s.X); i >= 0 {
		return r.fail("row %d, column %d: %g: want a finite number", i/s.Features, i%s.Features, s.X[i])
	}
	if k := notFinite(s.Val); k >= 0 {
		i, _ := slices.BinarySearch(s.Ptr, int64(k)+1)
		return r.fail("row %d, column %d: %g: want a finite number", i-1, s.Idx[k], s.Val[k])
	}
	return nil
}

// notFinite returns the place of a number that is not finite, -1 if there is none.
func notFinite(v []float32) int {
	var found atomic.Bool
	parallel(0, len(v), func(from, to int) {
		const exponent = 0x7f800000 // all ones, and only they carry into the sign
		var carried uint32
		for _, x := range v[from:to] {
			carried |= math.Float32bits(x)&exponent + 1<<23
		}
		if carried>>31 == 1 {
			found.Store(true)
		}
	})
	if !found.Load() {
		return -1
	}
	return slices.IndexFunc(v, func(x float32) bool { return x-x != 0 })
}

// OnTraining returns the sets of a run that trains on all rows, and is tested on them too.
func OnTraining(train *Set) (Sets, error) {
	s := Sets{Train: train}
	err := s.testOnTraining("test none")
	return s, err
}

// ValidateOnTest makes the test set the validation set, too.
func (s *Sets) ValidateOnTest() (err error) {
	s.Validation, err = s.Test.again()
	return err
}
