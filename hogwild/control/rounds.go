package control

import (
	"golang.org/x/sys/unix"

	"hogwild/hogwild/plan"
)

// Tickets are the two meetings of a round: when all have trained, and when all
// have averaged.
func (w *Block) Tickets(epoch uint64, round int) (trained, averaged uint64) {
	n := 2 * (epoch*uint64(w.Plan.Rounds) + uint64(round))
	return n + 1, n + 2
}

// Round says what each rank trained in a round that is complete.
func (w *Block) Round(epoch uint64, round int) plan.Round {
	r := plan.Round{Number: int(epoch-1)*w.Plan.Rounds + round + 1, Examples: make([]int, w.Plan.Workers)}
	for rank := range r.Examples {
		from, to := w.Plan.Round(rank, round)
		for i := from; i < to; i++ {
			if state, _ := w.Chunk(i); state == ChunkDone {
				r.Examples[rank] += w.Plan.At(int(epoch-1), i).Count
			}
		}
	}
	from, _ := w.Plan.Round(0, round)
	r.Seen = w.Plan.At(int(epoch-1), from).Seen
	return r
}

// Monotonic is a clock that all processes of a machine share, in ns.
func Monotonic() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail for this clock
	return uint64(t.Nano())
}
