package cpu

import (
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
)

// A dead worker's locks are free again, and no other's.
func TestLocksOfTheDead(t *testing.T) {
	c := config.Config{Workers: 2, Mode: config.MustMode("locked"), Optimizer: "sgd"}
	m := newTestWeights(t, &c, 5000)
	a, b := newLocks(m, 0), newLocks(m, 1)
	a.mark(0, 1024)
	a.mark(4999, 5000)
	a.acquire()
	b.mark(1024, 3000)
	b.acquire()
	m.FreeLocks(0)
	held := func() (by []uint32) {
		for at := 0; at < len(m.Locks); at += control.LockLine {
			by = append(by, m.Locks[at])
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
