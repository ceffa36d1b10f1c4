package control

import (
	"sync/atomic"

	"hogwild/hogwild/plan"
)

// firstReady returns the first chunk of blocks that is free, may be trained and can be claimed; -1: there is none.
// All before the one at cursor were done when this worker looked last, perhaps of another epoch: so it looks at all
// before it gives up.
func firstReady(chunks []uint64, p *plan.Plan, epoch uint64, cursor *int, claim func(i int) bool) int {
	done := func(i int) bool { return is(chunks, i, epoch, ChunkDone) }
	for from := *cursor; ; from = 0 {
		*cursor = from
		for i := from; i < p.Chunks(); i++ {
			switch {
			case done(i):
				if *cursor == i {
					*cursor++
				}
			case is(chunks, i, epoch, chunkFree) && p.Ready(int(epoch-1), i, done) && claim(i):
				return i
			}
		}
		if from == 0 {
			break
		}
	}
	for i := 0; p.Loose && i < p.Chunks(); i++ { // sooner than wait
		if is(chunks, i, epoch, chunkFree) && claim(i) {
			return i
		}
	}
	return -1
}

func is(chunks []uint64, i int, epoch, state uint64) bool {
	return atomic.LoadUint64(&chunks[2*i]) == epoch<<32|state
}
