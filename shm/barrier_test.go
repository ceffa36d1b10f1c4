package shm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hogwild/internal/check"
)

// hall is where the parties of a test meet. Every party marks, before each meeting,
// which one it goes to: who comes out of meeting t must find all others at t, or on
// their way to t+1, and none further.
type hall struct {
	barrier     *Barrier
	marks, pids []uint64
}

func newHall(t *testing.T, n int) (*Segment, *hall) {
	t.Helper()
	var l Layout
	l.AddBarrier("barrier", n)
	l.Add("marks", U64, n)
	l.Add("pids", U64, n)
	s := create(t, &l)
	h, err := openHall(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}

func openHall(s *Segment) (*hall, error) {
	h := &hall{}
	var errs [3]error
	h.barrier, errs[0] = OpenBarrier(s, "barrier")
	h.marks, errs[1] = View[uint64](s, "marks")
	h.pids, errs[2] = View[uint64](s, "pids")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	h.barrier.Deadline = 20 * time.Second // a test ends, whatever goes wrong
	return h, nil
}

// party is one process of a test.
type party struct {
	Rank        int
	First, Last uint64 // meetings
	Patient     bool   // waits for a member that is dead
}

const partyVariable = "SHM_TEST_PARTY"

// attend is a party's life.
func attend(s *Segment) error {
	var p party
	if err := json.Unmarshal([]byte(os.Getenv(partyVariable)), &p); err != nil {
		return err
	}
	h, err := openHall(s)
	if err != nil {
		return err
	}
	atomic.StoreUint64(&h.pids[p.Rank], uint64(os.Getpid()))
	for t := p.First; t <= p.Last; t++ {
		if err := h.meet(p, t); err != nil {
			return err
		}
	}
	return nil
}

func (h *hall) meet(p party, t uint64) error {
	atomic.StoreUint64(&h.marks[p.Rank], t)
	err := h.barrier.Meet(p.Rank, t, func(missing int) error {
		pid := atomic.LoadUint64(&h.pids[missing])
		if pid != 0 && !p.Patient && !Alive(int(pid)) {
			return fmt.Errorf("party %d is dead", missing)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for rank := range h.marks {
		if m := atomic.LoadUint64(&h.marks[rank]); m < t || m > t+1 {
			return fmt.Errorf("out of meeting %d, but party %d is at %d", t, rank, m)
		}
	}
	return nil
}

// send starts a party.
func send(t *testing.T, s *Segment, p party) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return again(t, "party", s, partyVariable+"="+string(text))
}

// until waits for what other processes do.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for start := time.Now(); !f(); time.Sleep(time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatal("not within 20 s:", what)
		}
	}
}

// lasted checks that a party ends well.
func lasted(t *testing.T, rank int, cmd *exec.Cmd, said *strings.Builder) {
	t.Helper()
	if err := cmd.Wait(); err != nil {
		t.Errorf("party %d: %v: %s", rank, err, said)
	}
}

func TestPartiesNeverOverlap(t *testing.T) {
	checkLeaks(t)
	const n, meetings = 4, 4000
	s, h := newHall(t, n)
	var parties [n]*exec.Cmd
	var said [n]*strings.Builder
	for rank := range n {
		parties[rank], said[rank] = send(t, s, party{Rank: rank, First: 1, Last: meetings})
	}
	for rank := range n {
		lasted(t, rank, parties[rank], said[rank])
		if got := h.barrier.Arrived(rank); got != meetings {
			t.Errorf("party %d came to %d meetings", rank, got)
		}
	}
}

// A member that is killed stays a zombie here until the others have noticed.
func TestDeadPartyIsNoticed(t *testing.T) {
	checkLeaks(t)
	const n, dead = 4, 2
	s, h := newHall(t, n)
	var parties [n]*exec.Cmd
	var said [n]*strings.Builder
	for rank := range n {
		parties[rank], said[rank] = send(t, s, party{Rank: rank, First: 1, Last: 1 << 40})
	}
	until(t, "100 meetings", func() bool { return h.barrier.Arrived(dead) > 100 })
	if err := parties[dead].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	for rank := range n {
		if rank != dead {
			err := parties[rank].Wait()
			if err == nil || said[rank].String() != "party 2 is dead\n" {
				t.Errorf("party %d: %v, %s", rank, err, said[rank])
			}
		}
	}
	if took := time.Since(killed); took > 2*time.Second {
		t.Errorf("the others took %v to notice", took)
	}
	_ = parties[dead].Wait() // it was killed
}

// A dead member's replacement goes on from its ticket, wherever the
// member was killed, and the others notice nothing. It joins the last meeting again, which
// the others may not have come to yet.
func TestReplacementGoesOn(t *testing.T) {
	checkLeaks(t)
	const n, meetings, kills = 3, 6000, 12
	s, h := newHall(t, n)
	var parties [n]*exec.Cmd
	var said [n]*strings.Builder
	for rank := range n {
		parties[rank], said[rank] = send(t, s, party{rank, 1, meetings, true})
	}
	for k := range uint64(kills) {
		victim := rand.IntN(n)
		until(t, "more meetings", func() bool { return h.barrier.Arrived(victim) >= (k+1)*meetings/(kills+2) })
		time.Sleep(rand.N(3 * time.Millisecond))
		_ = parties[victim].Process.Kill() // fails if it has come to all its meetings
		if parties[victim].ProcessState != nil || parties[victim].Wait() == nil {
			continue
		}
		parties[victim], said[victim] = send(t, s, party{victim, max(h.barrier.Arrived(victim), 1), meetings, true})
	}
	for rank := range n {
		if parties[rank].ProcessState == nil {
			lasted(t, rank, parties[rank], said[rank])
		}
		if got := h.barrier.Arrived(rank); got != meetings {
			t.Errorf("party %d came to %d meetings", rank, got)
		}
	}
}

func TestMeetDeadline(t *testing.T) {
	checkLeaks(t)
	_, h := newHall(t, 3)
	b := h.barrier
	b.Deadline = 50 * time.Millisecond
	b.Arrive(0, 1)
	start := time.Now()
	err := b.Meet(2, 1, nil)
	if took := time.Since(start); took < b.Deadline || took > b.Deadline+time.Second {
		t.Errorf("a deadline of %v took %v", b.Deadline, took)
	}
	check.Error(t, err, "party 1 did not reach barrier 1 within 50ms")
	if !errors.Is(err, ErrDeadline) {
		t.Errorf("%v is not ErrDeadline", err)
	}
	if b.Arrived(2) != 1 {
		t.Error("the arrival does not stand")
	}
	b.Arrive(1, 1)
	if err := b.Meet(2, 1, nil); err != nil { // arriving twice
		t.Error("all are there, but:", err)
	}
}

func TestCheckEndsTheWaiting(t *testing.T) {
	checkLeaks(t)
	_, h := newHall(t, 2)
	end := errors.New("the end")
	calls := 0
	err := h.barrier.Meet(0, 5, func(missing int) error {
		if missing != 1 {
			t.Errorf("party %d is said to be missing", missing)
		}
		if calls++; calls == 4 {
			return end
		}
		return nil
	})
	if !errors.Is(err, end) || calls != 4 || h.barrier.Arrived(0) != 5 {
		t.Errorf("%v after %d checks, arrived at %d", err, calls, h.barrier.Arrived(0))
	}
}

func TestTicketsOnlyGrow(t *testing.T) {
	checkLeaks(t)
	_, h := newHall(t, 2)
	b := h.barrier
	b.Arrive(1, 9)
	b.Arrive(1, 3)
	if got := b.Arrived(1); got != 9 {
		t.Errorf("a late arrival took the ticket from 9 to %d", got)
	}
	if err := b.Meet(0, 8, nil); err != nil { // party 1 came there, and went on
		t.Error(err)
	}
}

func TestBarrierOfOne(t *testing.T) {
	checkLeaks(t)
	_, h := newHall(t, 1)
	for ticket := range uint64(1000) {
		if err := h.barrier.Meet(0, ticket, func(int) error { return errors.New("nobody is missing") }); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenBarrierRefuses(t *testing.T) {
	checkLeaks(t)
	var l Layout
	l.AddBarrier("none", 0)
	l.Add("half.arrived", U64, 2, barrierLine)
	l.Add("ragged.arrived", U64, barrierLine+1)
	l.Add("ragged.changed", U32, 1)
	l.Add("kind.arrived", F64, 1, barrierLine)
	l.Add("kind.changed", U32, 1)
	s := create(t, &l)
	for name, says := range map[string]string{"none": "0 and 1 words", "half": `no array "half.changed"`,
		"ragged": "17 and 1 words", "kind": "is f64, not u64", "other": `no array "other.arrived"`} {
		_, err := OpenBarrier(s, name)
		check.Error(t, err, says)
	}
}

func BenchmarkMeet(b *testing.B) {
	var l Layout
	l.AddBarrier("barrier", 2)
	s, err := l.Create("bench")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	m, err := OpenBarrier(s, "barrier")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		for t := range uint64(b.N) {
			_ = m.Meet(1, t+1, nil)
		}
	}()
	for t := range uint64(b.N) {
		if err := m.Meet(0, t+1, nil); err != nil {
			b.Fatal(err)
		}
	}
}
