package hogwild

import (
	"sync/atomic"
	"time"

	"hogwild/shm"
)

// turns are those of ordered mode, the paper's round robin (Hogwild!, section 7, after
// Langford, Smola, Zinkevich 2009): gradients are computed in parallel, and their
// updates written one after the other, in the order in which the gradients were begun.
//
// A step begins by taking a ticket, and its update is written when the ticket's turn
// comes. Who has which ticket is told by a ring of entries: a ticket is taken by one
// compare-and-swap of its entry, so that there is no moment at which a ticket is
// given out and nobody knows to whom. When a worker dies the coordinator marks its
// ticket as passed on, and whoever moves the turn there moves it further. Nobody holds
// a ticket between two steps, so that nothing is waited for at the end of an epoch, nor
// while workers are held.
type turns struct {
	words []uint64 // shared with other processes: next, turn, then the ring; a line each
	bells []uint32 // a line a rank: 1 while it sleeps until its turn
	rank  int
	mine  uint64 // the ticket of the step at hand
}

const (
	turnNext = 0         // the next ticket to be taken, give or take one
	turnNow  = lineWords // the ticket whose update is written next
	turnRing = 2 * lineWords

	turnPassed = 1<<16 - 1 // instead of 1 + rank in an entry: its owner is dead
)

// turnLines is how many lines of words turns of so many workers have. The ring has
// room for a ticket of each worker, and as many of dead ones.
func turnLines(workers int) int { return 2 + 2*workers }

func newTurns(m *weights, rank int) *turns { return &turns{words: m.turns, bells: m.bells, rank: rank} }

// entry is that of a ticket. It holds 1 + ticket above 16 bits of 1 + rank; that of an
// earlier ticket, or 0, as long as nobody has taken this one.
func (t *turns) entry(ticket uint64) *uint64 {
	n := uint64(len(t.words)/lineWords - 2)
	return &t.words[turnRing+ticket%n*lineWords]
}

// take takes a ticket.
func (t *turns) take() {
	room := uint64(len(t.words)/lineWords - 2)
	for tries := 0; ; tries++ {
		ticket := atomic.LoadUint64(&t.words[turnNext])
		e := t.entry(ticket)
		was := atomic.LoadUint64(e)
		if ticket >= atomic.LoadUint64(&t.words[turnNow])+room {
			pause(tries) // the ring is full of tickets of workers that died
			continue
		}
		mine := was>>16 <= ticket && atomic.CompareAndSwapUint64(e, was, (ticket+1)<<16|uint64(t.rank+1))
		// Whoever has the ticket: the next one is to be taken now.
		atomic.CompareAndSwapUint64(&t.words[turnNext], ticket, ticket+1)
		if mine {
			t.mine = ticket
			return
		}
	}
}

// await waits until it is this worker's turn: looking, then giving way, then asleep.
func (t *turns) await() {
	bell := &t.bells[t.rank*2*lineWords]
	for tries := 0; !t.now(); tries++ {
		if tries < 110 {
			pause(tries)
			continue
		}
		atomic.StoreUint32(bell, 1)
		if !t.now() {
			_ = shm.Wait(bell, 1, 20*time.Millisecond) // looks again in any case
		}
	}
}

func (t *turns) now() bool { return atomic.LoadUint64(&t.words[turnNow]) == t.mine }

// done ends this worker's turn.
func (t *turns) done() { t.advance(t.mine) }

// advance moves the turn on from a ticket, over those that were passed on, and wakes
// the worker whose turn it is. Several may do so at once.
func (t *turns) advance(ticket uint64) {
	for {
		atomic.CompareAndSwapUint64(&t.words[turnNow], ticket, ticket+1)
		ticket++
		e := atomic.LoadUint64(t.entry(ticket))
		if e>>16 != ticket+1 {
			return // nobody has begun that step yet
		}
		owner := e & turnPassed
		if owner != turnPassed {
			if bell := &t.bells[(owner-1)*2*lineWords]; atomic.LoadUint32(bell) == 1 {
				shm.Wake(bell)
			}
			return
		}
	}
}

// pass passes on the turn of a worker that is dead.
func (m *weights) pass(rank int) {
	if len(m.turns) == 0 {
		return
	}
	t := newTurns(m, rank)
	for at := turnRing; at < len(t.words); at += lineWords {
		if e := atomic.LoadUint64(&t.words[at]); e&turnPassed == uint64(rank+1) {
			atomic.CompareAndSwapUint64(&t.words[at], e, e|turnPassed)
		}
	}
	now := atomic.LoadUint64(&t.words[turnNow])
	if e := atomic.LoadUint64(t.entry(now)); e == (now+1)<<16|turnPassed {
		t.advance(now)
	}
}
