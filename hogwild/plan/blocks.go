package plan

import "hogwild/hogwild/data"

// blocks are what mode blocks trains (Gemulla, Haas, Nijkamp, Sismanis 2011). An epoch has as many sub-epochs as the
// grid has ranges of rows. In each, every range of rows meets one range of columns, and over the epoch each meets all:
// a sub-epoch trains the blocks (i, (i+shift) mod n), with a shift of its own. A block is a chunk, and chunk i of
// the table is of sub-epoch i / n and of the range of rows i mod n.
//
// In async too, entries of a matrix may lie in blocks (config.KeepsApart). Then the table is the same, and a worker
// that finds no chunk that may be trained takes another: Plan.Loose. All epochs of async come in turns: where few rows
// and columns have most entries, whole blocks end with a higher loss.
//
// A chunk may be trained when the chunks of the sub-epoch before that have a range in common with it are done: then all
// earlier ones that have are too. Blocks with no range in common touch different weights. So the weights are as if one
// worker trained chunk after chunk, and no worker waits for all blocks of a sub-epoch.
//
// The ranges of a graph are ranges of the same nodes: its grid is Paired. A block has the facts between two ranges, in
// either direction, or within one. In a sub-epoch range i meets range shift-i modulo n, so that over the epoch each
// meets all, and itself once. The pair has the chunk of its smaller range, and the other one's is empty. All blocks of
// a graph write the weights of its relations, so a chunk is trained when all sub-epochs before are done: see package
// cpu.
//
// Models that rank draw negatives, and write them. Were they drawn from a block's own ranges, what lies in others would
// never be compared with them. So a chunk draws from the ranges of another chunk of its sub-epoch, of what users liked
// from its range of columns, and the other one from its. They are trained one after the other. Which two are twins
// changes all the time.
//
// In the first epoch blocks come in turns, a part of each at a time. Factors begin at random, and a block's agree first
// on directions of their own, which the other blocks then would have to unlearn. Of a graph all epochs have parts, and
// the first ones shorter ones: while the sums of AdaGrad are small, the steps of chunks at once are too long together.
type blocks struct {
	n     int // ranges of rows, and of columns
	parts int // in which each block is trained in an epoch
	seed  uint64
	data.Blocks
}

// firstSubs are the sub-epochs of the first epoch, about: with them it teaches as much as one in random order.
const firstSubs = 64

// subs returns how many sub-epochs an epoch has at least, counted from 1; 0: as many as the grid has ranges.
func (b *blocks) subs(epoch uint64, loose bool) int {
	switch {
	case b.Paired && epoch <= 2:
		return 4 * firstSubs
	case b.Paired || epoch == 1 || loose:
		return firstSubs
	}
	return 0
}

// chunks returns how many chunks an epoch has.
func (b *blocks) chunks() int { return b.parts * b.n * b.n }

// columns returns the range of columns that a range of rows meets in a sub-epoch.
func (b *blocks) columns(epoch, sub, rows int) int {
	if b.Paired {
		rows = b.n - rows
	}
	return (rows + b.shift(epoch, sub)) % b.n
}

func (b *blocks) shift(epoch, sub int) int {
	return data.Permuted(sub%b.n, b.n, b.seed+uint64(sub/b.n)<<32, epoch)
}

// twin returns the place in a sub-epoch of the chunk from whose ranges the chunk at a place draws: itself, if there is
// none. Of a graph two pairs of ranges are twins, at random, of what users liked two ranges of columns.
func (b *blocks) twin(epoch, sub, place int) int {
	if !b.Paired {
		return b.rows(epoch, sub, b.drawn(epoch, sub, b.columns(epoch, sub, place)))
	}
	// The smaller ranges of pairs are 0 to shift/2, and shift+1 to (shift+n)/2.
	shift := b.shift(epoch, sub)
	low, gap := shift/2+1, shift-shift/2
	i, n := place, low+(shift+b.n)/2-shift
	switch {
	case place > (shift+b.n)/2 || place >= low && place <= shift: // an empty one
		return place
	case place >= low:
		i -= gap
	}
	if i = (n + data.Permuted(0, n, b.seed+drawnSeed+uint64(sub)<<32, epoch) - i) % n; i >= low {
		i += gap
	}
	return i
}

// drawn returns the range of columns from which what users liked in a range of columns is told apart.
func (b *blocks) drawn(epoch, sub, columns int) int {
	sum := data.Permuted(sub%b.n, b.n, b.seed+drawnSeed+uint64(sub/b.n)<<32, epoch)
	return (sum - columns + b.n) % b.n
}

const drawnSeed = 1 << 20

// rows returns the range of rows that meets a range of columns in a sub-epoch.
func (b *blocks) rows(epoch, sub, columns int) int {
	return (columns - b.shift(epoch, sub) + b.n) % b.n
}

// ready reports whether all chunks are done that chunk i waits for.
func (b *blocks) ready(epoch, i int, done func(i int) bool) bool {
	sub, rows := i/b.n, i%b.n
	if b.Drawn {
		if twin := b.twin(epoch, sub, rows); twin < rows && !done(sub*b.n+twin) {
			return false
		}
	}
	switch before := sub - 1; {
	case before < 0:
		return true
	case b.Paired:
		for place := range b.n {
			if !done(before*b.n + place) {
				return false
			}
		}
		return true
	default:
		had := func(columns int) bool { return done(before*b.n + b.rows(epoch, before, columns)) }
		columns := b.columns(epoch, sub, rows)
		if !done(i-b.n) || !had(columns) {
			return false
		}
		if !b.Drawn {
			return true
		}
		drawn := b.drawn(epoch, sub, columns)
		return had(drawn) && had(b.drawn(epoch, before, columns)) && had(b.drawn(epoch, before, drawn))
	}
}

// at returns chunk i of an epoch of rows rows: in a short run not all. It has the rate of the beginning of its
// sub-epoch: Weight is 0.
func (b *blocks) at(epoch, i, rows int) Chunk {
	sub, all := i/b.n, b.Starts[len(b.Starts)-1]
	block := i%b.n*b.n + b.columns(epoch, sub, i%b.n)
	n := b.Starts[block+1]*rows/all - b.Starts[block]*rows/all
	from, to := sub/b.n*n/b.parts, (sub/b.n+1)*n/b.parts
	c := Chunk{Index: i, Epoch: epoch, Rank: block, Batch: 1, Stride: 1, First: from, Count: to - from,
		Seen: int64(epoch)*int64(rows) + int64(rows*sub/(b.n*b.parts))}
	if b.Drawn {
		twin := b.twin(epoch, sub, i%b.n)
		c.Twin = 1 + twin*b.n + b.columns(epoch, sub, twin)
	}
	return c
}

// order returns the order of a block's rows.
func (b *blocks) order(block int) data.Order {
	first := b.Starts[block]
	return data.Order{Seed: b.seed + uint64(block)<<32, First: first, N: b.Starts[block+1] - first}
}
