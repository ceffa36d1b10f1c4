// Package workers starts the processes that train, one of each rank, and keeps account of their lives. It does not know
// what a run is: it says which worker has ended and why, and whether it may be started again.
//
//	set.go      Set: who runs, who has ended, and who is started again
//	process.go  a process, from its start to its end
//	crash.go    why it ended, from what it printed
//	log.go      what a program prints
//	watch.go    finds processes that neither run nor end, by what the kernel says of them
//	child.go    the process itself: whether it is a worker, and what it was given
package workers

import (
	"os"
	"slices"
	"time"

	"hogwild/shm"
)

// Set is the workers of a run. One goroutine uses it.
type Set struct {
	launcher launcher
	events   chan Event
	ranks    []member // as many as there have been at once
	n        int      // that there are to be
	limit    int      // of restarts in a row
	repeated repeated
	orphans  []int // programs of workers that have ended
}

// member is the account of one rank.
type member struct {
	process  *Process // nil: gone, left, or between two lives
	begun    bool     // a process of it was started before
	restarts int
	inRow    int    // restarts since a life in which it has trained
	trained  uint64 // its examples when its last life ended
	due      bool   // between two lives
	gone     bool   // it has had all its restarts
	leaving  bool   // there are fewer workers now, and it has a chunk in hand
}

// repeated is a crash that happened more than once in an epoch, at one place in the program.
type repeated struct {
	epoch uint64
	crash Crash
	ranks map[int]bool // who crashed so
	times int
}

// Event is the end of a worker, or of the wait before a restart: see Take.
type Event struct {
	Rank int
	exit *Exit // nil: the wait is over
}

// New returns the account of n workers, none started yet, with at most maxRestarts in a row for each.
func New(n, maxRestarts int) *Set {
	s := &Set{launcher: newLauncher(), events: make(chan Event, 256), limit: maxRestarts}
	s.Scale(n)
	return s
}

// Close ends the thread that has started the workers: the kernel kills those that still run. It waits, so long at most,
// until the programs of others have ended, and returns whether no process is left.
func (s *Set) Close(limit time.Duration) bool {
	close(s.launcher)
	return s.awaitOrphans(limit) && len(s.Running()) == 0
}

// Start starts this same binary again as the worker of a rank. It inherits the files; the log gets what it prints, nil:
// nothing does. Events has its end.
func (s *Set) Start(rank int, files []*os.File, log *Log) (*Process, error) {
	m := &s.ranks[rank]
	p, err := s.launcher.start(rank, m.begun, files, log, func(e *Exit) { s.events <- Event{rank, e} })
	if m.begun = true; err == nil {
		m.process = p
	}
	return p, err
}

// Events tells what has happened to workers. Each event is to be given to Take.
func (s *Set) Events() <-chan Event { return s.events }

// Failed has Events tell that the worker of a rank has failed which runs in this process. Any goroutine may call it.
func (s *Set) Failed(rank int, err error) {
	s.events <- Event{rank, &Exit{Rank: rank, PID: os.Getpid(), Err: err}}
}

// Take takes in an event. It returns the exit of a worker that has ended, nil if that was marked lost before; or that
// the wait before a restart is over and the rank is still needed.
func (s *Set) Take(e Event) (dead *Exit, start bool) {
	m := &s.ranks[e.Rank]
	switch {
	case e.exit == nil:
		m.due = false
		return nil, e.Rank < s.n
	case e.exit.Err != nil:
		return e.exit, false
	case m.process == nil || m.process.PID() != e.exit.PID:
		return nil, false
	}
	dead = e.exit
	if hung := m.process.Hung; hung != "" {
		dead.How = hung
	}
	dead.Left = e.Rank >= s.n || m.leaving && dead.Clean
	m.process, m.leaving = nil, false
	return dead, false
}

// MarkLost takes in that a process which was killed does not end. It returns the exit that it should have had.
func (s *Set) MarkLost(p *Process) *Exit {
	dead, _ := s.Take(Event{p.Rank, &Exit{Rank: p.Rank, PID: p.PID(), Lived: time.Since(p.started),
		Crash: Crash{Signal: true}}})
	return dead
}

// Running returns the processes whose end is not known.
func (s *Set) Running() (all []*Process) {
	for _, m := range s.ranks {
		if m.process != nil {
			all = append(all, m.process)
		}
	}
	return all
}

// AwaitEnd waits, so long at most, until all have ended, and returns whether they have. It calls ended with the exit of
// each.
func (s *Set) AwaitEnd(limit time.Duration, ended func(*Exit)) bool {
	for late := time.After(limit); len(s.Running()) > 0; {
		select {
		case e := <-s.events:
			if dead, _ := s.Take(e); dead != nil {
				ended(dead)
			}
		case <-late:
			return false
		}
	}
	return true
}

// Orphan takes in that a worker which has ended had a program.
func (s *Set) Orphan(pid int) { s.orphans = append(s.orphans, pid) }

// awaitOrphans waits, so long at most, until they have ended, and returns whether they have. The kernel kills a program
// with its worker. But it has the memory open until it is gone, and on a GPU that must not be freed before.
func (s *Set) awaitOrphans(limit time.Duration) bool {
	for late := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		s.orphans = slices.DeleteFunc(s.orphans, func(pid int) bool { return !shm.Alive(pid) })
		if len(s.orphans) == 0 || time.Now().After(late) {
			return len(s.orphans) == 0
		}
	}
}

// shortLife is a life that counts towards the limit of restarts, and delays the next one, whatever the worker did in
// it.
const shortLife = time.Second

// Restart has a worker that has died started again after a while: Events says when. trained is how many examples the
// rank has trained by now. It returns which restart in a row this is; 0: the rank has had all of them, and is gone. The
// limit is for a worker that gets nowhere: one that has lived for a while and trained has all its restarts again, so
// that rare deaths do not add up over a long run.
func (s *Set) Restart(e *Exit, trained uint64) int {
	m := &s.ranks[e.Rank]
	if e.Lived > shortLife && trained > m.trained {
		m.inRow = 0
	}
	m.trained = trained
	if m.inRow >= s.limit {
		m.gone = true
		return 0
	}
	m.restarts++
	m.inRow++
	m.due = true
	n := m.inRow
	if e.PID == 0 { // it could not be started
		n++
	}
	time.AfterFunc(backOff(n, e.Lived), func() { s.events <- Event{Rank: e.Rank} })
	return m.inRow
}

// backOff returns the wait before a worker's n-th restart: none at first, and longer and
// longer for one that dies as soon as it lives.
func backOff(n int, lived time.Duration) time.Duration {
	if n == 1 || lived > shortLife {
		return 0
	}
	return min(20*time.Millisecond<<min(n, 10), 2*time.Second)
}

// SameCrashOnAll takes in the end of a worker, and returns whether by now every rank has crashed at the
// same place since the epoch began. One rank alone gets a second chance.
func (s *Set) SameCrashOnAll(e *Exit, epoch uint64) bool {
	p, c := &s.repeated, &e.Crash
	if c.Place == "" {
		return false
	}
	if p.epoch != epoch || !p.crash.same(c) {
		*p = repeated{epoch: epoch, crash: *c, ranks: map[int]bool{}}
	}
	p.ranks[e.Rank] = true
	p.times++
	for other := range s.n { // there may have been more
		if !p.ranks[other] {
			return false
		}
	}
	return p.times > 1
}

// Scale changes the number of workers, and returns the ranks that are to be started. Those that are too many leave by
// themselves.
func (s *Set) Scale(n int) (start []int) {
	s.n = n
	for len(s.ranks) < n {
		s.ranks = append(s.ranks, member{})
	}
	for rank := range s.ranks {
		m := &s.ranks[rank]
		m.gone = false
		switch {
		case rank >= n:
			m.leaving = m.process != nil
		case m.process == nil && !m.due: // one that is leaving is started when it has
			m.restarts, m.inRow = 0, 0 // also of one that was gone
			start = append(start, rank)
		}
	}
	return start
}

// Capacity returns how many workers there have been at once: one more than the highest rank.
func (s *Set) Capacity() int { return len(s.ranks) }

// Restarts returns how often a rank was started again.
func (s *Set) Restarts(rank int) int { return s.ranks[rank].restarts }

// State is what has become of a rank.
type State int

// The states of a rank.
const (
	Active  State = iota // its worker runs, or is about to be started
	Gone                 // it has had all its restarts
	Leaving              // there are fewer workers now, and its worker runs still
	Left                 // the same, and it has ended
)

// State returns the state of a rank.
func (s *Set) State(rank int) State {
	switch m := &s.ranks[rank]; {
	case m.gone:
		return Gone
	case rank < s.n:
		return Active
	case m.process != nil:
		return Leaving
	}
	return Left
}

// AllGone returns whether every rank has.
func (s *Set) AllGone() bool {
	return !slices.ContainsFunc(s.ranks[:s.n], func(m member) bool { return !m.gone })
}
