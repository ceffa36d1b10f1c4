package shm

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrDeadline is what Meet returns when the others did not come in time.
var ErrDeadline = errors.New("shm: barrier deadline passed")

const (
	barrierLine = align / 8 // words between the arrivals of two parties
	barrierPoll = 20 * time.Millisecond
)

// Barrier is a meeting point for n processes.
//
// Each party has one word, the ticket of the last meeting it came to, and a
// meeting is complete when every word has reached its ticket. Tickets only grow.
// There is no counter to be left wrong by a process that dies: its word says
// exactly which meetings it came to, and its replacement goes on from
// there. Arriving twice is arriving once.
type Barrier struct {
	// Deadline bounds one call of Meet; 0 waits for ever.
	Deadline time.Duration

	arrived []uint64 // n lines
	changed *uint32  // futex word: grows when a meeting is completed
	n       int
}

// AddBarrier appends to a layout what a barrier of n parties needs.
func (l *Layout) AddBarrier(name string, n int) {
	l.Add(name+".arrived", U64, n, barrierLine)
	l.Add(name+".changed", U32, 1)
}

// OpenBarrier finds the barrier in a mapped segment.
func OpenBarrier(s *Segment, name string) (*Barrier, error) {
	arrived, err := View[uint64](s, name+".arrived")
	if err != nil {
		return nil, err
	}
	changed, err := View[uint32](s, name+".changed")
	if err != nil {
		return nil, err
	}
	if len(arrived) == 0 || len(arrived)%barrierLine != 0 || len(changed) != 1 {
		return nil, fmt.Errorf("shm: barrier %q has %d and %d words", name, len(arrived), len(changed))
	}
	return &Barrier{arrived: arrived, changed: &changed[0], n: len(arrived) / barrierLine}, nil
}

// First returns the same barrier with the first n parties alone, at most as many as it was made for.
func (b *Barrier) First(n int) *Barrier {
	first := *b
	first.n = n
	return &first
}

// Arrived returns the ticket of the last meeting that a party came to.
func (b *Barrier) Arrived(rank int) uint64 { return atomic.LoadUint64(&b.arrived[rank*barrierLine]) }

// Arrive marks a party as having come to a meeting, without waiting for the others.
func (b *Barrier) Arrive(rank int, ticket uint64) {
	own := &b.arrived[rank*barrierLine]
	if atomic.LoadUint64(own) < ticket {
		atomic.StoreUint64(own, ticket)
	}
}

// missing returns the first party that has not come to a meeting, or -1.
func (b *Barrier) missing(ticket uint64) int {
	for r := range b.n {
		if b.Arrived(r) < ticket {
			return r
		}
	}
	return -1
}

// Meet arrives at meeting ticket and waits for the others. While it waits it calls
// check about every 20 ms with the first party that is missing; an error from
// check, say that this party is dead, ends the waiting and is returned. The arrival
// stands even then.
func (b *Barrier) Meet(rank int, ticket uint64, check func(missing int) error) error {
	b.Arrive(rank, ticket)
	if b.missing(ticket) < 0 {
		Wake(b.changed) // the last to come; two may both think so, which is harmless
		return nil
	}
	start := time.Now()
	for {
		seen := atomic.LoadUint32(b.changed)
		m := b.missing(ticket)
		if m < 0 {
			return nil
		}
		if check != nil {
			if err := check(m); err != nil {
				return err
			}
		}
		if b.Deadline > 0 && time.Since(start) >= b.Deadline {
			return fmt.Errorf("%w: party %d did not reach barrier %d within %v", ErrDeadline, m, ticket, b.Deadline)
		}
		if err := Wait(b.changed, seen, barrierPoll); err != nil {
			return err
		}
	}
}
