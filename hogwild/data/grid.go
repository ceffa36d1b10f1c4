package data

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sort"

	"hogwild/hogwild/data/format"
)

// Grid cuts the rows and the columns of a matrix into N ranges each, with about equal numbers of training
// entries. The entries in a range of rows and a range of columns are a block; blocks that share neither range touch
// different rows and columns (Gemulla, Haas, Nijkamp, Sismanis 2011).
//
// A range is not one stretch of numbers: ids often lie by age or by popularity, and blocks would hold unequal numbers
// of entries. It has bundles of neighbouring nodes, wide enough that no cache line of the weights has two owners.
//
// The grid of a graph is Paired: its two axes are the same nodes, and what is between two ranges is one block, in
// either direction. It lies in the smaller range's row.
type Grid struct {
	N       int // ranges of rows, and of columns
	Paired  bool
	axes    [2]axis
	members [2][][]uint32 // the nodes of each range
}

// axis is the rows, or the columns.
type axis struct {
	from, to int     // their nodes
	shift    int     // a node's bundle is its number >> shift, counted from the first node's
	of       []uint8 // the range of each bundle
}

// Bundles have 32 nodes: 128 bytes of numbers each. On small axes they have fewer, so that a range has some to choose.
const (
	bundleShift  = 5
	rangeBundles = 16
)

// NewGrid returns the grid of a set of entries, n by n, a function of how many entries the rows and columns have.
func NewGrid(s *Set, n int) *Grid {
	g := &Grid{N: n, Paired: s.Facts()}
	g.axes[0] = axisOf(s.Freq, 0, s.Shape[0], n)
	if g.axes[1] = g.axes[0]; !g.Paired {
		g.axes[1] = axisOf(s.Freq, s.Shape[0], s.Features, n)
	}
	return g
}

// axisOf gives each bundle to the range that has the fewest entries, the heaviest first.
func axisOf(freq []float32, from, to, n int) axis {
	a := axis{from: from, to: to, shift: bundleShift}
	for a.shift > 0 && (to-from)>>a.shift < rangeBundles*n {
		a.shift--
	}
	mass := make([]float64, a.bundle(to-1)+1)
	order := make([]int, len(mass))
	for node := from; node < to; node++ {
		mass[a.bundle(node)] += float64(freq[node])
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(mass[j], mass[i]) })
	a.of = make([]uint8, len(mass))
	has := make([]float64, n)
	for _, i := range order {
		least := slices.Index(has, slices.Min(has))
		a.of[i] = uint8(least)
		has[least] += mass[i]
	}
	return a
}

// bundle returns the bundle of a node.
func (a *axis) bundle(node int) int { return node>>a.shift - a.from>>a.shift }

// Block returns the block of an entry, or of an edge.
func (g *Grid) Block(row, column uint32) int {
	r, c := &g.axes[0], &g.axes[1]
	a, b := int(r.of[r.bundle(int(row))]), int(c.of[c.bundle(int(column))])
	if g.Paired {
		a, b = min(a, b), max(a, b)
	}
	return a*g.N + b
}

// Nodes appends the nodes of a block's two ranges, as stretches [from, to). If twin is not 0, it is a block, counted
// from 1, from which negatives are drawn: of a matrix its columns, of a graph all its nodes, are written, too.
func (g *Grid) Nodes(block, twin int, stretches [][2]int) [][2]int {
	ranges := [][2]int{{0, block / g.N}, {1, block % g.N}} // axis and range
	if twin--; twin >= 0 {
		ranges = append(ranges, [2]int{1, twin % g.N})
	}
	if g.Paired && twin >= 0 {
		ranges = append(ranges, [2]int{1, twin / g.N})
	}
	for i, r := range ranges {
		if slices.ContainsFunc(ranges[:i], func(o [2]int) bool { return o == r || g.Paired && o[1] == r[1] }) {
			continue
		}
		a, own := &g.axes[r[0]], r[1]
		for b, of := range a.of {
			if int(of) != own {
				continue
			}
			first := (a.from>>a.shift + b) << a.shift
			stretches = append(stretches, [2]int{max(first, a.from), min(first+1<<a.shift, a.to)})
		}
	}
	return stretches
}

// Blocks are the blocks of a set that lies block by block.
type Blocks struct {
	Starts []int `json:"starts"`           // the row at which each begins, and the number of rows
	Paired bool  `json:"paired,omitempty"` // see Grid
	Drawn  bool  `json:"drawn,omitempty"`  // what is drawn as negatives is written, too
}

// Blocks returns where the blocks of a set that lies block by block begin.
func (g *Grid) Blocks(s *Set) Blocks {
	starts := make([]int, g.N*g.N+1)
	for b := range starts {
		starts[b] = sort.Search(s.Rows, func(i int) bool { return g.Of(s, i) >= b })
	}
	return Blocks{starts, g.Paired, s.Implicit || g.Paired}
}

// Members returns the nodes of a block's two ranges, each counted from its axis's first; of two equal ones the first.
func (g *Grid) Members(block int) (nodes [2][]uint32) {
	for i, own := range [2]int{block / g.N, block % g.N} {
		if g.members[i] == nil {
			a := &g.axes[i]
			g.members[i] = make([][]uint32, g.N)
			for node := a.from; node < a.to; node++ {
				of := a.of[a.bundle(node)]
				g.members[i][of] = append(g.members[i][of], uint32(node-a.from))
			}
		}
		if !g.Paired || i == 0 || own != block/g.N {
			nodes[i] = g.members[i][own]
		}
	}
	return nodes
}

// Of returns the block of a row.
func (g *Grid) Of(s *Set, i int) int {
	width := len(s.Idx) / s.Rows
	return g.Block(s.Idx[width*i], s.Idx[width*(i+1)-1])
}

// leastApart entries are worth the sorting. A block of fewer than a thousand is trained in less time than it takes to
// fetch its rows and columns.
const leastApart = 1 << 16

// gridOf returns the grid of a set of entries.
func gridOf(s *Set, o *Options) int {
	if o.Grid > 0 || s.Rows < leastApart || s.Streams() {
		return o.Grid
	}
	if size := int64(s.size()); o.budget.Take(s.Name, size, "") == nil {
		o.budget.Give(size)
		return o.Apart
	}
	return 0
}

// gridded returns a set of entries block by block, and within each in the order in which they were. The set is closed.
// One that is no matrix stays as it is: no model that trains blocks is for it.
func gridded(s *Set, n int, budget *format.Budget) (*Set, error) {
	if n == 0 || !s.Matrix() && !s.Facts() {
		return s, nil
	}
	defer s.Close()
	g, m := NewGrid(s, n), s.Meta
	m.Grid = n
	t, err := createAround(m, len(s.Seen), s.W != nil, budget, nil)
	if err != nil {
		return nil, fmt.Errorf("%w (the entries block by block, beside those that were read)", err)
	}
	copy(t.SeenPtr, s.SeenPtr)
	copy(t.Seen, s.Seen)
	pieces := runtime.GOMAXPROCS(0)
	at := make([][]int, pieces) // of each piece: entries of each block, and then where the next one goes
	each := func(do func(at []int, i, block int)) {
		parallel(0, pieces, func(from, to int) {
			for p := from; p < to; p++ {
				for i := p * s.Rows / pieces; i < (p+1)*s.Rows/pieces; i++ {
					do(at[p], i, g.Of(s, i))
				}
			}
		})
	}
	for p := range at {
		at[p] = make([]int, n*n)
	}
	each(func(at []int, _, block int) { at[block]++ })
	next, width := 0, len(s.Idx)/s.Rows
	for block := range n * n {
		for p := range at {
			at[p][block], next = next, next+at[p][block]
		}
	}
	each(func(at []int, i, block int) {
		j := at[block]
		at[block]++
		copy(t.Idx[j*width:(j+1)*width], s.Idx[i*width:])
		if t.Y[j] = s.Y[i]; t.W != nil {
			t.W[j] = s.W[i]
		}
	})
	budget.Give(12 * int64(s.Rows))
	return sealed(t)
}
