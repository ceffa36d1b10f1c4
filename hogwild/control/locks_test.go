package control

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hogwild/hogwild/config"
)

// A lock has one owner at a time, however many wait for it and sleep meanwhile.
func TestLockHasOneOwner(t *testing.T) {
	const workers, times = 8, 50
	c := config.Config{Workers: workers, Mode: config.MustMode("locked"), Optimizer: "sgd"}
	m := newTestWeights(t, &c, 10)
	l := m.Lock(0)
	var n, slept atomic.Int64 // atomic for the race detector, which does not see locks in mapped memory
	var all sync.WaitGroup
	for rank := range workers {
		all.Go(func() {
			for range times {
				l.Acquire(rank)
				was := n.Load()
				time.Sleep(50 * time.Microsecond)
				if atomic.LoadUint32(&l[1]) == asleep {
					slept.Add(1)
				}
				n.Store(was + 1)
				l.Release()
			}
		})
	}
	all.Wait()
	if n.Load() != workers*times || l[0] != 0 || slept.Load() == 0 {
		t.Errorf("%d of %d turns, lock %d, others slept in %d", n.Load(), workers*times, l[0], slept.Load())
	}
}

// Freeing a dead worker's lock wakes the one that sleeps until it is free.
func TestFreedLockWakes(t *testing.T) {
	c := config.Config{Workers: 2, Mode: config.MustMode("locked"), Optimizer: "sgd"}
	m := newTestWeights(t, &c, 5000)
	l := m.Lock(3)
	l.Acquire(0)
	done := make(chan struct{})
	go func() {
		l.Acquire(1)
		close(done)
	}()
	for atomic.LoadUint32(&l[1]) != asleep {
		time.Sleep(time.Millisecond)
	}
	m.FreeLocks(0)
	<-done
	if l[0] != 2 || l[1] == asleep {
		t.Errorf("lock %d, sleeper's word %d", l[0], l[1])
	}
}
