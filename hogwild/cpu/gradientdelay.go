package cpu

import (
	"math"
	"time"
)

// spin makes each gradient take so much longer to compute: the artificial delay with which
// the Hogwild! paper asks how slow a gradient must be for round robin to keep up (Niu et
// al. 2011). It comes when the gradient, or the coefficients, are there and nothing of the
// update is written, before any lock or turn is waited for.
//
// It keeps a core busy for a time. It counts turns of a loop, since a gradient takes a
// core and not only time: of two workers on one core, each waits for the other's. How long
// a turn is, about a nanosecond, is measured first; from clocked on a clock is looked at
// too, so that a wait is never shorter than it should be. In CPU time waits of 1, 10, 100,
// 1,000 and 10,000 ns were of 4.5, 11, 108, 1,140 and 10,800 (AMD EPYC, busy).
type spin struct {
	turns int
	least time.Duration // 0: without a clock
	x     uint64        // what the turns have come to: each waits for the one before it, of the last wait too
}

// clocked is how long a wait must be for two looks at the clock, of some 40 ns each, to
// be little of it.
const clocked = time.Microsecond

func newSpin(d time.Duration) spin {
	s := spin{turns: int(math.Round(float64(d.Nanoseconds()) / turnTime()))}
	if d >= clocked {
		s.least = d
	}
	return s
}

// wait takes the time.
func (s *spin) wait() {
	if s.turns == 0 {
		return
	}
	if s.least == 0 {
		s.x = turn(s.x, s.turns)
		return
	}
	start := time.Now()
	s.x = turn(s.x, s.turns)
	for time.Since(start) < s.least {
		s.x = turn(s.x, 8)
	}
}

// turnTime returns how many nanoseconds a turn takes: the best of several measurements, in
// which nothing came between.
func turnTime() float64 {
	const turns, tries = 20_000, 50
	best, x := math.Inf(1), uint64(0)
	for range tries {
		start := time.Now()
		x = turn(x, turns)
		best = min(best, float64(time.Since(start).Nanoseconds())/turns)
	}
	return best
}

// turn goes round n times: each time a multiplication and an addition that wait for those
// before them.
//
//go:noinline
func turn(x uint64, n int) uint64 {
	for range n {
		x = x*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
	}
	return x
}
