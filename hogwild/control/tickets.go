package control

import (
	"math/bits"
	"sync/atomic"
	"time"

	"hogwild/internal/vec"
	"hogwild/shm"
)

// Tickets are for ordered mode, the paper's round robin (Hogwild!, section 7, after
// Langford, Smola, Zinkevich 2009): gradients are computed in parallel, and their
// updates written one after the other, in the order in which the gradients were begun.
//
// A step begins by taking a ticket, and its update is written when the ticket's turn
// comes. Who has which ticket is told by a ring of entries: a ticket is taken by one
// compare-and-swap of its entry, so that there is no moment at which a ticket is
// given out and not known to whom. When a worker dies the coordinator marks its ticket as passed on, and the worker
// that moves the turn there moves it further. No worker holds a ticket between two steps, so that nothing is waited for
// at the end of an epoch, nor while workers are paused.
type Tickets struct {
	words    []uint64 // shared with other processes: next, turn, then the ring; a line each
	sleeping []uint32 // a line a rank: asleep, aside, or another number
	rank     int
	late     bool      // it has waited much longer than it has worked
	worked   uint64    // its time on a core when it last waited, ns
	hand     [3]uint64 // the ticket of the step at hand; the entries of the ring less one; 1 + rank
}

// The words of Tickets.
const (
	ticketNext = 0         // the next ticket to be taken, give or take one
	TicketNow  = RankWords // the ticket whose update is written next
	TicketRing = 2 * RankWords
	sleepLine  = 2 * RankWords // words of 32 bits from one rank's word of sleeping to the next

	TicketPassed = 1<<16 - 1 // instead of 1 + rank in an entry: its owner is dead
)

// aside is what a worker's word of sleeping holds while it lets others take steps.
const aside = 3

// On a busy machine a worker may lose its core to another program in the middle of a step. All
// others wait for its ticket, and lose their cores too. From then on each step waits until the
// scheduler gives the next worker a core again, which takes milliseconds: a convoy, which does not
// dissolve by itself. So a worker that has waited much longer than it has worked steps aside before
// it takes its next ticket, and lets the others take steps without it. The updates still land in
// the order of the tickets.
const (
	looks     = 10_000           // before a worker sleeps: they take about as long as to wake it up
	longWait  = time.Millisecond // a scheduler's time slice is longer
	imbalance = 20               // waiting for a step of another, relative to work, in a convoy
	asideLook = 10 * time.Millisecond
	maxYield  = 10 * asideLook // at most
)

// ticketLines returns how many lines of words the workers' tickets have. The ring has
// room for a ticket of each worker, and as many of dead ones: a power of two, as a division
// takes as long as a compare-and-swap.
func ticketLines(workers int) int { return 2 + 1<<bits.Len(uint(2*workers-1)) }

// NewTickets returns the tickets of a rank.
func (m *Weights) NewTickets(rank int) *Tickets {
	ring := len(m.Tickets)/RankWords - 2
	return &Tickets{words: m.Tickets, sleeping: m.sleeping, rank: rank,
		hand: [3]uint64{0, uint64(ring - 1), uint64(rank + 1)}}
}

// Guard has a loop do by itself what Take, Await and Done do, as long as it need not wait.
// Over says afterwards whether it has written for the last ticket that it took. The loop adds its
// steps to count.
func (t *Tickets) Guard(count *uint64) *vec.Guard { return vec.TicketGuard(count, t.words, t.hand[:]) }

// entry returns the entry of a ticket. It holds 1 + ticket above 16 bits of 1 + rank; an earlier ticket's, or 0, as
// long as no worker has taken this one.
func (t *Tickets) entry(ticket uint64) *uint64 {
	return &t.words[TicketRing+ticket&t.hand[1]*RankWords]
}

// yieldTurn waits while others take steps.
func (t *Tickets) yieldTurn() {
	t.late = false
	word := t.sleepWord(t.rank)
	for range maxYield / asideLook {
		turn := atomic.LoadUint64(&t.words[TicketNow])
		if atomic.LoadUint64(&t.words[ticketNext]) <= turn {
			return // no worker is at a step
		}
		atomic.StoreUint32(word, aside)
		_ = shm.Wait(word, aside, asideLook)
		if atomic.LoadUint32(word) != aside || atomic.LoadUint64(&t.words[TicketNow]) == turn {
			return // called back, or the others do not get on either
		}
	}
}

// WakeYielded ends the wait of those that stepped aside: this worker has no more steps to take.
func (t *Tickets) WakeYielded() {
	for rank := range len(t.sleeping) / sleepLine {
		if word := t.sleepWord(rank); atomic.LoadUint32(word) == aside {
			shm.Wake(word)
		}
	}
}

// sleepWord returns the word on which a rank sleeps.
func (t *Tickets) sleepWord(rank int) *uint32 { return &t.sleeping[rank*sleepLine] }

// Take takes a ticket.
func (t *Tickets) Take() {
	if t.late {
		t.yieldTurn()
	}
	room := t.hand[1] + 1
	for tries := 0; ; tries++ {
		ticket := atomic.LoadUint64(&t.words[ticketNext])
		e := t.entry(ticket)
		was := atomic.LoadUint64(e)
		if ticket >= atomic.LoadUint64(&t.words[TicketNow])+room {
			Pause(tries) // the ring is full of tickets of workers that died
			continue
		}
		mine := was>>16 <= ticket && atomic.CompareAndSwapUint64(e, was, (ticket+1)<<16|t.hand[2])
		if !mine && atomic.LoadUint64(e)>>16 <= ticket {
			continue // not taken yet: an old entry was marked as passed on
		}
		// Whichever rank has the ticket: the next one is to be taken now.
		atomic.CompareAndSwapUint64(&t.words[ticketNext], ticket, ticket+1)
		if mine {
			t.hand[0] = ticket
			return
		}
	}
}

// Await waits until it is this worker's turn: looking, then asleep. It does not yield its core: on
// a busy machine another program would keep that for milliseconds.
func (t *Tickets) Await() {
	for range looks {
		if t.now() {
			return
		}
	}
	word, began, worked := t.sleepWord(t.rank), Monotonic(), threadTime()
	before := t.hand[0] - atomic.LoadUint64(&t.words[TicketNow]) // steps
	for !t.now() {
		atomic.StoreUint32(word, asleep)
		if !t.now() {
			_ = shm.Wait(word, asleep, 20*time.Millisecond) // looks again in any case
		}
	}
	waited := Monotonic() - began
	t.late = waited > uint64(longWait) && waited > imbalance*before*(worked-t.worked)
	t.worked = threadTime()
}

func (t *Tickets) now() bool { return atomic.LoadUint64(&t.words[TicketNow]) == t.hand[0] }

// Done ends this worker's turn.
func (t *Tickets) Done() { t.advance(t.hand[0]) }

// Over reports whether a loop has ended this worker's turn by itself; whose turn it is now is woken.
func (t *Tickets) Over() bool {
	if atomic.LoadUint64(&t.words[TicketNow]) <= t.hand[0] {
		return false
	}
	t.Done()
	return true
}

// advance moves the turn on from a ticket, over those that were passed on, and wakes
// the worker whose turn it is. Several may do so at once.
func (t *Tickets) advance(ticket uint64) {
	for {
		atomic.CompareAndSwapUint64(&t.words[TicketNow], ticket, ticket+1)
		ticket++
		e := atomic.LoadUint64(t.entry(ticket))
		if e>>16 != ticket+1 {
			return // that step is not begun yet
		}
		owner := e & TicketPassed
		if owner != TicketPassed {
			if word := t.sleepWord(int(owner - 1)); atomic.LoadUint32(word) == asleep {
				shm.Wake(word)
			}
			return
		}
	}
}

// PassTicket passes on the turn of a worker that is dead.
func (m *Weights) PassTicket(rank int) {
	if len(m.Tickets) == 0 {
		return
	}
	t := m.NewTickets(rank)
	for at := TicketRing; at < len(t.words); at += RankWords {
		if e := atomic.LoadUint64(&t.words[at]); e&TicketPassed == uint64(rank+1) {
			atomic.CompareAndSwapUint64(&t.words[at], e, e|TicketPassed)
		}
	}
	now := atomic.LoadUint64(&t.words[TicketNow])
	if e := atomic.LoadUint64(t.entry(now)); e == (now+1)<<16|TicketPassed {
		t.advance(now)
	}
}
