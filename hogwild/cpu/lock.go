package cpu

import (
	"math/bits"
	"sync/atomic"

	"hogwild/hogwild/control"
	"hogwild/hogwild/model"
)

// blockLocks are those of locked mode: one for each block of weights, held around an
// update and not around the gradient, as AIG does (Hogwild!, section 7: "locks all of
// the variables" of an update). A worker takes those of its update in ascending order,
// so that no two can wait for each other.
//
// A lock's word holds 1 + the rank that has it, or 0. The coordinator frees those of a
// worker that died: the update that it was writing is then there in part, as that of
// any worker that is killed.
type blockLocks struct {
	words []uint32 // shared with other processes: a line each
	rank  int
	shift int      // log2 of the weights in a block
	want  []uint64 // of the update at hand: a bit a block
	some  uint64   // and a bit a word of want, which has 64 at most
}

func newLocks(m *control.Weights, rank int) *blockLocks {
	n := len(m.Locks) / control.LockLine
	return &blockLocks{words: m.Locks, rank: rank, shift: control.LockShift(len(m.W)), want: make([]uint64, (n+63)/64)}
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
	for some := l.some; some != 0; some &= some - 1 {
		i := bits.TrailingZeros64(some)
		for set := l.want[i]; set != 0; set &= set - 1 {
			word := &l.words[(64*i+bits.TrailingZeros64(set))*control.LockLine]
			for tries := 0; !atomic.CompareAndSwapUint32(word, 0, uint32(l.rank+1)); tries++ {
				control.Pause(tries)
			}
		}
	}
}

// release gives them back.
func (l *blockLocks) release() {
	for ; l.some != 0; l.some &= l.some - 1 {
		i := bits.TrailingZeros64(l.some)
		for set := l.want[i]; set != 0; set &= set - 1 {
			atomic.StoreUint32(&l.words[(64*i+bits.TrailingZeros64(set))*control.LockLine], 0)
		}
		l.want[i] = 0
	}
}
