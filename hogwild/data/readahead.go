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

// Stretch returns how many blocks an Order of this set is to keep together: 1 unless the set is large.
func (s *Set) Stretch() int { return stretchOf(s.size(), s.Rows) }

// stretchOf returns the Stretch of a set of size bytes.
func stretchOf(size, rows int) int {
	if size <= largeSet {
		return 1
	}
	block := BlockRows * size / rows
	return max(1, (stretchBytes+block-1)/block)
}

// streams reports whether rows are asked for before they are needed: for a large set in a file.
func (s *Set) streams() bool { return s.seg.InFile() && s.size() > largeSet }

// scatter tells the kernel that the next page is not the one that is read next.
func (s *Set) scatter() (err error) {
	for _, a := range s.arrays(0) {
		err = errors.Join(err, a.scatter())
	}
	return err
}

// Streams reports whether Fetch does anything.
func (s *Set) Streams() bool { return s.cacheInfo != nil && s.streams() }

// Fetch has the kernel read the rows at n positions of the epoch's order, from the one at position
// on, and does not wait for them: all rows of the stretches that begin there. Where they begin among the
// values of a sparse set must be there: it has that read for as many rows as are to come next.
func (s *Set) Fetch(o Order, epoch, position, n int) {
	arrays := s.arrays(0)
	for first, rows := range o.stretches(epoch, position, n) {
		for _, a := range arrays {
			a.fetch(first, first+rows)
		}
	}
	if s.Ptr == nil {
		return
	}
	for first, rows := range o.stretches(epoch, position+n, n) {
		_ = shm.Fetch(s.Ptr[first : first+rows+1])
	}
}
