package vec

// A Guard is what a loop in assembly can put between the halves of a step by itself: it takes
// the guard if it need not wait for it, and gives it back. A loop that cannot leaves it alone, and
// the second half to its caller.
type Guard struct {
	kind    half
	count   *uint64   // of the steps under it
	locks   []uint32  // of locked steps
	tickets []uint64  // of ordered ones
	words   []uint64  // what else these two need: gen/guard.go says what
	room    []float32 // of atomic steps: the numbers of one before it and after it
}

// LockGuard returns the guard of locked steps: block b of 1<<shift numbers has the lock
// words[b*line], which holds mine while this worker has it, and 0 while no worker does. The word
// behind it is 1 while somebody sleeps until it is free: the loop ends after a step that gave such
// a lock back, as waking takes a system call. See Slept.
func LockGuard(count *uint64, words []uint32, line, shift int, mine uint32) *Guard {
	return &Guard{kind: locked, count: count, locks: words,
		words: []uint64{uint64(mine), uint64(4 * line), uint64(shift + 2), 0}}
}

// Slept tells, once, whether a loop has ended because somebody sleeps who waits for a lock of its last step. It has
// taken that step, and has not begun the next one. (The processor may look for sleepers before others see that the lock
// is free. One that goes to sleep just then is missed, so no worker may sleep without end.)
func (g *Guard) Slept() bool {
	if g == nil || g.kind != locked || g.words[3] == 0 {
		return false
	}
	g.words[3] = 0
	return true
}

// TicketGuard returns the guard of ordered steps. tickets holds the next ticket, the one whose turn
// it is, and a ring of entries, 16 words each. hand is what this worker has: its ticket, the
// entries of the ring less one, their number being a power of two, and what it writes to an entry
// along with 1 + its ticket. The loop ends a turn, and takes the next ticket where it is free and
// there are more rows.
func TicketGuard(count *uint64, tickets, hand []uint64) *Guard {
	_, _ = tickets[16*(2+hand[1])], hand[2]
	return &Guard{kind: ordered, count: count, tickets: tickets, words: hand}
}

// AtomicGuard returns the guard of steps that write by compare-and-swap.
func AtomicGuard(count *uint64) *Guard {
	return &Guard{kind: atomically, count: count, room: make([]float32, 4*128)}
}

// covers reports whether the guard is one for n numbers.
func (g *Guard) covers(n int) bool {
	return g.kind != locked || uint64(n-1)>>(g.words[2]-2)*(g.words[1]/4) < uint64(len(g.locks))
}

// parts are the addresses of what a loop needs, nil of what it does not.
func (g *Guard) parts() (locks *uint32, words, tickets, count *uint64) {
	switch {
	case g == nil:
		return nil, nil, nil, nil
	case g.kind == locked:
		return &g.locks[0], &g.words[0], nil, g.count
	case g.kind == ordered:
		return nil, &g.words[0], &g.tickets[0], g.count
	}
	return nil, nil, nil, g.count
}
