package cpu

import (
	"iter"
	"math/bits"

	"hogwild/hogwild/control"
	"hogwild/hogwild/model"
)

// blockLocks are the locks of locked mode: one for each block of weights, held around an
// update and not around the gradient, as AIG does (Hogwild!, section 7: "locks all of
// the variables" of an update). A worker takes the locks of its update in ascending order,
// so that no two can wait for each other.
//
// A lock's word holds 1 + the rank that has it, or 0. The coordinator frees the locks of a worker that died: the update
// that it was writing is then there in part, as with any worker that is killed.
type blockLocks struct {
	m     *control.Weights // has the locks
	rank  int
	shift int      // log2 of the weights in a block
	want  []uint64 // of the update at hand: a bit a block
	some  uint64   // and a bit a word of want, which has 64 at most
}

func newLocks(m *control.Weights, rank int) *blockLocks {
	n := len(m.Locks) / control.LockLine
	return &blockLocks{m: m, rank: rank, shift: control.LockShift(len(m.W)), want: make([]uint64, (n+63)/64)}
}

// mark says that the update at hand writes the weights from:to.
func (l *blockLocks) mark(from, to int) {
	for b := from >> l.shift; b <= (to-1)>>l.shift; b++ {
		l.want[b/64] |= 1 << (b % 64)
		l.some |= 1 << (b / 64)
	}
}

// markPart says that it writes what a part of the gradient does; whole, that it
// regularizes all of the part's weights.
func (l *blockLocks) markPart(p *model.Part, whole bool) {
	switch {
	case p.X == nil:
		l.mark(p.Offset, p.Offset+len(p.G))
		return
	case whole || len(p.X) == 0 || p.X[0].Idx == nil || nonzeros(p) >= p.In:
		l.mark(p.Offset, p.Offset+p.In*p.Out)
	default:
		for _, x := range p.X {
			for _, j := range x.Idx {
				at := p.Offset + int(j)*p.Out
				l.mark(at, at+p.Out)
			}
		}
	}
	if p.Bias >= 0 {
		l.mark(p.Bias, p.Bias+p.Out)
	}
	if p.Center != nil {
		l.mark(p.Center.S, p.Center.S+p.Out)
	}
}

// acquire takes all locks that were marked.
func (l *blockLocks) acquire() {
	for block := range l.marked() {
		l.m.Lock(block).Acquire(l.rank)
	}
}

// release gives them back.
func (l *blockLocks) release() {
	for block := range l.marked() {
		l.m.Lock(block).Release()
	}
	l.unmark()
}

// wake wakes those who sleep until one of the marked locks is free, and leaves none marked.
func (l *blockLocks) wake() {
	for block := range l.marked() {
		l.m.Lock(block).Wake()
	}
	l.unmark()
}

// marked returns the marked blocks, in ascending order.
func (l *blockLocks) marked() iter.Seq[int] {
	return func(yield func(int) bool) {
		for some := l.some; some != 0; some &= some - 1 {
			i := bits.TrailingZeros64(some)
			for set := l.want[i]; set != 0; set &= set - 1 {
				if !yield(64*i + bits.TrailingZeros64(set)) {
					return
				}
			}
		}
	}
}

// unmark leaves none marked.
func (l *blockLocks) unmark() {
	for ; l.some != 0; l.some &= l.some - 1 {
		l.want[bits.TrailingZeros64(l.some)] = 0
	}
}
