package hogwild

import "golang.org/x/sys/unix"

// tickets are the two meetings of a round: when all have trained, and when all
// have averaged.
func (w *world) tickets(epoch uint64, round int) (trained, averaged uint64) {
	n := 2 * (epoch*uint64(w.plan.rounds) + uint64(round))
	return n + 1, n + 2
}

// round says what each rank trained in a round that is complete.
func (w *world) round(epoch uint64, round int) Round {
	r := Round{Number: int(epoch-1)*w.plan.rounds + round + 1, Examples: make([]int, w.plan.workers)}
	for rank := range r.Examples {
		from, to := w.plan.round(rank, round)
		for i := from; i < to; i++ {
			if state, _ := w.chunk(i); state == chunkDone {
				r.Examples[rank] += w.plan.at(int(epoch-1), i).Count
			}
		}
	}
	from, _ := w.plan.round(0, round)
	r.Seen = w.plan.at(int(epoch-1), from).Seen
	return r
}

// monotonic is a clock that all processes of a machine share, in ns.
func monotonic() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail for this clock
	return uint64(t.Nano())
}
