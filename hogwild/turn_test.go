package hogwild

import (
	"slices"
	"sync"
	"testing"
)

// Turns come in the order of tickets, one at a time, whoever has them and however many
// wait; those of the dead are passed over.
func TestTurnsComeInOrder(t *testing.T) {
	const workers, steps = 9, 500
	c := Config{Workers: workers, Mode: "ordered", Optimizer: "sgd"}
	m := newTestWeights(t, &c, 10)
	var mu sync.Mutex
	var order, dead []uint64
	var all sync.WaitGroup
	for rank := range workers {
		all.Go(func() {
			turns := newTurns(m, rank)
			for i := range steps {
				turns.take()
				if rank == 0 && i%10 == 3 { // dies, and a new process takes its place
					mu.Lock()
					dead = append(dead, turns.mine)
					mu.Unlock()
					m.pass(rank)
					continue
				}
				turns.await()
				mu.Lock()
				order = append(order, turns.mine)
				mu.Unlock()
				turns.done()
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

// A dead worker's locks are free again, and nobody else's.
func TestLocksOfTheDead(t *testing.T) {
	c := Config{Workers: 2, Mode: "locked", Optimizer: "sgd"}
	m := newTestWeights(t, &c, 5000)
	a, b := newLocks(m, 0), newLocks(m, 1)
	a.mark(0, 1024)
	a.mark(4999, 5000)
	a.acquire()
	b.mark(1024, 3000)
	b.acquire()
	m.freeLocks(0)
	held := func() (by []uint32) {
		for at := 0; at < len(m.locks); at += lockLine {
			by = append(by, m.locks[at])
		}
		return by
	}
	if got := held(); !slices.Equal(got, []uint32{0, 2, 2, 0, 0}) {
		t.Errorf("locks %v", got)
	}
	b.release()
	if got := held(); slices.Max(got) > 0 {
		t.Errorf("locks %v", got)
	}
}
