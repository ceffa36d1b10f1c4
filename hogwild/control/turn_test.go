package control

import (
	"slices"
	"sync"
	"testing"

	"hogwild/hogwild/config"
)

// Turns come in the order of tickets, one at a time, whoever has them and however many
// wait; those of the dead are passed over.
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
