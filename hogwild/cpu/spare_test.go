package cpu

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSpare: each number is done once, whenever somebody waits for the rest; before that with the lowest priority,
// then with the one that the process has.
func TestSpare(t *testing.T) {
	const n = 1000
	usual := priority()
	for _, awaitedAt := range []int{0, 1, 500, n - 1} {
		var s spare
		var mu sync.Mutex
		done, low, high, begun := make([]int, n), 0, 0, 0
		err := s.each(3, n, func(f func()) error { f(); return nil }, func(_, i int) {
			mu.Lock()
			defer mu.Unlock()
			if begun++; begun == awaitedAt+1 {
				s.await()
			}
			if done[i]++; priority() == usual {
				high++
			} else {
				low++
			}
		})
		for i, times := range done {
			if times != 1 {
				t.Fatalf("awaited at %d: number %d done %d times, %v", awaitedAt, i, times, err)
			}
		}
		if err != nil || low <= awaitedAt || low > awaitedAt+3 { // those in hand are finished
			t.Errorf("awaited at %d: %d with low priority, %d with the usual one, %v", awaitedAt, low, high, err)
		}
	}
	if priority() != usual {
		t.Error("the caller's priority is lower than before")
	}
}

// priority is that of the calling thread: 20 less its niceness.
func priority() int {
	p, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		panic(err)
	}
	return p
}

// TestSpareFails: an error ends the work, and is returned.
func TestSpareFails(t *testing.T) {
	for _, s := range []*spare{nil, {}} {
		var calls atomic.Int64
		bad := errors.New("bad")
		err := s.each(2, 10, func(f func()) error { calls.Add(1); return bad }, func(int, int) { t.Error("done") })
		if !errors.Is(err, bad) || calls.Load() != 2 {
			t.Errorf("%v after %d", err, calls.Load())
		}
	}
}
