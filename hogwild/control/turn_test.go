package control

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hogwild/hogwild/config"
)

// Turns come in the order of tickets, one at a time, for any ranks and however many wait; tickets of the dead are
// passed over.
func TestTurnsComeInOrder(t *testing.T) {
	const workers, steps = 9, 500
	c := config.Config{Workers: workers, Mode: config.MustMode("ordered"), Optimizer: "sgd"}
	m := newTestWeights(t, &c, 10)
	var mu sync.Mutex
	var order, dead []uint64
	var all sync.WaitGroup
	for rank := range workers {
		all.Go(func() {
			turns := m.NewTickets(rank)
			for i := range steps {
				turns.Take()
				if rank == 0 && i%10 == 3 { // dies, and a new process takes its place
					mu.Lock()
					dead = append(dead, turns.hand[0])
					mu.Unlock()
					m.PassTicket(rank)
					continue
				}
				turns.Await()
				mu.Lock()
				order = append(order, turns.hand[0])
				mu.Unlock()
				turns.Done()
			}
		})
	}
	all.Wait()
	if !slices.IsSorted(order) || len(order)+len(dead) != workers*steps {
		t.Errorf("%d turns and %d passed on, sorted: %v", len(order), len(dead), slices.IsSorted(order))
	}
	both := slices.Concat(order, dead)
	slices.Sort(both)
	for i, ticket := range both {
		if ticket != uint64(i) {
			t.Fatalf("ticket %d at place %d", ticket, i)
		}
	}
}

// A worker that has waited too long steps aside while another takes steps, and comes back when that one
// calls, or does not get on; where no worker is at a step it does not step aside at all.
func TestStepAside(t *testing.T) {
	c := config.Config{Workers: 2, Mode: config.MustMode("ordered"), Optimizer: "sgd"}
	m := newTestWeights(t, &c, 10)
	a, b := m.NewTickets(0), m.NewTickets(1)
	step := func(t *Tickets) {
		t.Take()
		t.Await()
		t.Done()
	}
	b.late = true
	step(b) // no worker is at a step
	if word := atomic.LoadUint32(b.sleepWord(1)); b.late || word != 0 {
		t.Errorf("late %v, word %d", b.late, word)
	}
	for _, call := range []bool{false, true} {
		a.Take()
		b.late = true
		before := atomic.LoadUint32(b.sleepWord(1))
		done := make(chan struct{})
		go func() {
			step(b)
			close(done)
		}()
		for atomic.LoadUint32(b.sleepWord(1)) == before {
			time.Sleep(time.Millisecond)
		}
		if call {
			a.WakeYielded()
		}
		time.Sleep(3 * asideLook) // it takes its ticket behind a's
		a.Await()
		a.Done()
		<-done
	}
}

// Whether a worker steps aside depends on its waiting relative to its work. On a busy machine either may take longer
// than it is meant to: such a try is taken once more.
func TestLate(t *testing.T) {
	c := config.Config{Workers: 2, Mode: config.MustMode("ordered"), Optimizer: "sgd"}
	m := newTestWeights(t, &c, 10)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a, b := m.NewTickets(0), m.NewTickets(1)
	for _, worked := range []time.Duration{0, 50 * time.Millisecond} {
		for tells := false; !tells; {
			a.Take()
			b.Take()
			atomic.StoreUint32(b.sleepWord(1), 0)
			var sleeps, called uint64
			done := make(chan struct{})
			begun := Monotonic()
			b.worked = threadTime() - uint64(worked)
			go func() {
				defer close(done)
				for atomic.LoadUint32(b.sleepWord(1)) != asleep {
					time.Sleep(100 * time.Microsecond)
				}
				sleeps = Monotonic()
				time.Sleep(20 * time.Millisecond)
				called = Monotonic()
				a.Await()
				a.Done()
			}()
			b.Await()
			b.Done()
			<-done
			late := worked == 0
			if tells = Monotonic()-begun < imbalance*uint64(worked); late { // at most it has waited so long
				tells = called-sleeps > imbalance*(sleeps-begun) // and worked so long
			}
			if tells && b.late != late {
				t.Errorf("after %v of work and 20 ms of waiting: late %v", worked, b.late)
			}
			b.late = false
		}
	}
}
