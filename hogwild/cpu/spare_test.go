package cpu

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSpare: each number is done once, whenever somebody waits for the rest: before by the goroutines that have free
// cores alone, then by all.
func TestSpare(t *testing.T) {
	const n, all = 400, 4
	for _, free := range []int{-3, 1, 2, all, 9} {
		for _, awaitedAt := range []int{0, 200, n} {
			s := newSpare(free)
			var mu sync.Mutex
			var late sync.WaitGroup // all goroutines, after that
			late.Add(all)
			done, calls, by, awaited := make([]int, n), 0, map[int]bool{}, false
			err := s.each(all, n, func(f func()) error { f(); return nil }, func(g, i int) {
				mu.Lock()
				if calls == awaitedAt { // counted: number 200 may be the last that is done
					awaited = true
					s.await()
				}
				calls++
				if done[i]++; !awaited && g >= max(1, free) {
					t.Errorf("free %d: goroutine %d works before somebody waits", free, g)
				}
				first := awaited && !by[g]
				by[g] = by[g] || awaited
				mu.Unlock()
				if first {
					late.Done()
					late.Wait() // all of them come
				}
			})
			for i, times := range done {
				if times != 1 {
					t.Fatalf("free %d, awaited at %d: number %d done %d times, %v", free, awaitedAt, i, times, err)
				}
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSpareFails: an error is returned.
func TestSpareFails(t *testing.T) {
	for _, s := range []*spare{nil, newSpare(2)} {
		var calls atomic.Int64
		bad := errors.New("bad")
		err := s.each(2, 10, func(f func()) error { calls.Add(1); return bad }, func(int, int) { t.Error("done") })
		if !errors.Is(err, bad) || calls.Load() != 2 {
			t.Errorf("%v after %d", err, calls.Load())
		}
	}
}
