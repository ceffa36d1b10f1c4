package data

import (
	"errors"

	"hogwild/shm"
)

// A set that memory does not hold is read from its file again and again, in an order drawn anew for
// each epoch. A disk gives stretches of a megabyte nearly as fast as the whole file; blocks of 64 rows
// may be 10 KB. So in large sets stretches of blocks are permuted, and the blocks within each.
const (
	largeSet     = 2 << 30 // bytes; all sets above it, also those in memory, so that both have one order
	stretchBytes = 1 << 20
)

// Stretch is how many blocks an Order of this set is to keep together: 1 unless the set is large.
func (s *Set) Stretch() int { return stretchOf(s.size(), s.Rows) }

// stretchOf is the Stretch of a set of so many bytes.
func stretchOf(size, rows int) int {
	if size <= largeSet {
		return 1
	}
	block := BlockRows * size / rows
	return max(1, (stretchBytes+block-1)/block)
}

// streams reports whether rows are asked for before they are needed: those of a large set in a file.
func (s *Set) streams() bool { return s.seg.InFile() && s.size() > largeSet }

// scatter tells the kernel that the next page is not the one that is read next.
func (s *Set) scatter() error {
	return errors.Join(shm.Scattered(s.X8), shm.Scattered(s.X), shm.Scattered(s.Ptr), shm.Scattered(s.Idx),
		shm.Scattered(s.Val),
		shm.Scattered(s.Y), shm.Scattered(s.M))
}

// Streams reports whether Fetch does anything.
func (s *Set) Streams() bool { return s.was != nil && s.streams() }

// Fetch has the kernel read the rows at n positions of the epoch's order, from the one at position
// on, and does not wait for them: those of the stretches that begin there. Where they begin among the
// values of a sparse set must be there: it has that read for as many rows as are to come next.
func (s *Set) Fetch(o Order, epoch, position, n int) {
	d := s.Features
	for first, rows := range o.stretches(epoch, position, n) {
		end := first + rows
		if s.Kind == Tokens {
			fetch(s.Idx[first:end])
			continue
		}
		fetch(s.Y[first:end])
		switch s.Kind {
		case Bytes:
			fetch(s.X8[first*d : end*d])
		case Floats:
			fetch(s.X[first*d : end*d])
		case Pairs:
			fetch(s.Idx[2*first : 2*end])
			continue
		default:
			from, to := s.Ptr[first], s.Ptr[end]
			fetch(s.Idx[from:to])
			fetch(s.Val[from:to])
		}
		fetch(s.M[first:end])
	}
	if s.Kind != Sparse {
		return
	}
	for first, rows := range o.stretches(epoch, position+n, n) {
		fetch(s.Ptr[first : first+rows+1])
	}
}

// fetch is advice: where it is not taken, the rows are read when they are used.
func fetch[T shm.Element](v []T) { _ = shm.Fetch(v) }
