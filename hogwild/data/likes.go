package data

import (
	"math/bits"
	"slices"

	"hogwild/hogwild/data/format"
)

// likes are the items that each user liked: items[ptr[u]:ptr[u+1]], ascending, as columns of the matrix.
type likes struct {
	ptr   []int64
	items []uint32
}

// likesOf returns what entries tell of a matrix of this shape, and what is known of it already.
func likesOf(budget *format.Budget, name string, idx []uint32, shape []int, known *Set) (*likes, error) {
	users, first := shape[0], uint32(shape[0])
	n := len(idx) / 2
	if known != nil {
		n += len(known.Seen)
	}
	if err := budget.Take(name, 4*int64(n)+16*int64(users), "the items of each user"); err != nil {
		return nil, err
	}
	l := &likes{ptr: make([]int64, users+1), items: make([]uint32, n)}
	for i := 0; i < len(idx); i += 2 {
		l.ptr[idx[i]+1]++
	}
	for u := range users {
		if l.ptr[u+1] += l.ptr[u]; known != nil {
			l.ptr[u+1] += int64(len(known.Liked(uint32(u))))
		}
	}
	at := slices.Clone(l.ptr)
	for i := 0; i < len(idx); i += 2 {
		u := idx[i]
		l.items[at[u]] = idx[i+1] - first
		at[u]++
	}
	kept, from := 0, 0
	for u := range users {
		own := l.items[from:l.ptr[u+1]]
		if from = int(l.ptr[u+1]); known != nil {
			copy(own[len(own)-len(known.Liked(uint32(u))):], known.Liked(uint32(u)))
		}
		slices.Sort(own)
		kept += copy(l.items[kept:], slices.Compact(own))
		l.ptr[u+1] = int64(kept)
	}
	l.items = l.items[:kept]
	return l, nil
}

// Liked returns the columns of the items that a user is known to like, ascending.
func (s *Set) Liked(user uint32) []uint32 { return s.Seen[s.SeenPtr[user]:s.SeenPtr[user+1]] }

// Likes reports whether a user is known to like the item in a column.
func (s *Set) Likes(user, item uint32) bool {
	liked := s.Liked(user)
	for len(liked) > 8 { // the halves are chosen without a jump that has to be foreseen
		if half := len(liked) / 2; liked[half] <= item {
			liked = liked[half:]
		} else {
			liked = liked[:half]
		}
	}
	for _, j := range liked {
		if j == item {
			return true
		}
	}
	return false
}

// Draws are items drawn at random, as negatives of the entries of a set: either all alike, or each as often as it is in
// an entry. They are functions of seed, epoch and row: every process draws the same, and a chunk that is trained again
// is the same work. In mode blocks an entry's items are drawn from a range of columns.
type Draws struct {
	s       *Set
	base    uint64
	uniform bool
	epoch   int
	key     uint64 // of the epoch

	grid   *Grid // of a set that lies block by block
	starts []int
}

// NewDraws returns the draws of a set of likes.
func NewDraws(s *Set, seed uint64, uniform bool) Draws {
	d := Draws{s: s, base: mix(seed + drawNegatives), uniform: uniform}
	if d.key = mix(d.base); s.Grid > 0 {
		d.grid = NewGrid(s, s.Grid)
		d.starts = d.grid.Blocks(s).Starts
	}
	return d
}

// Of returns what the draws for a row begin with. Next of it draws.
func (d *Draws) Of(row int32, epoch int) uint64 {
	if epoch != d.epoch {
		d.epoch, d.key = epoch, mix(d.base+uint64(epoch))
	}
	return draw(d.key, int(row))
}

// Next draws the column of an item for a row, and returns what the next draw begins with. It is one of the columns of a
// block, counted from 1, or with 0 any.
func (d *Draws) Next(row int32, x uint64, twin int) (item uint32, next uint64) {
	next = x*6364136223846793005 + 1442695040888963407
	among := func(n int) int {
		at, _ := bits.Mul64(x, uint64(n))
		return int(at)
	}
	switch {
	case twin > 0:
		n := d.grid.N
		block := d.grid.Of(d.s, int(row))/n*n + (twin-1)%n
		from, to := d.starts[block], d.starts[block+1]
		if own := d.grid.Members(block)[1]; d.uniform || from == to {
			return own[among(len(own))], next
		}
		return d.s.Idx[2*(from+among(to-from))+1] - uint32(d.s.Shape[0]), next
	case d.uniform:
		return uint32(among(d.s.Shape[1])), next
	}
	return d.s.Idx[2*among(d.s.Rows)+1] - uint32(d.s.Shape[0]), next
}
