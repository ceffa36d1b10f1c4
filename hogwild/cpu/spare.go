package cpu

import (
	"cmp"
	"sync"
	"sync/atomic"
)

// spare is work during training: on the cores that workers leave free, and on all once somebody waits for it, as
// workers then wait too. (Threads of the lowest priority on all cores were tried. On a machine with other work each
// held what it had begun for so long that the time between epochs grew sixfold.)
type spare struct {
	free    int           // cores, one at least
	awaited chan struct{} // closed when somebody waits
	await   func()
}

func newSpare(free int) *spare {
	s := &spare{free: max(1, free), awaited: make(chan struct{})}
	s.await = sync.OnceFunc(func() { close(s.awaited) })
	return s
}

// each calls do for all numbers from 0 to n, from this many goroutines, whose numbers do is given too. Each takes the
// next number that is left. A nil spare's goroutines have all cores. It returns the first error of guard, in which each
// goroutine runs.
func (s *spare) each(goroutines, n int, guard func(func()) error, do func(goroutine, i int)) error {
	var taken atomic.Int64
	var busy, first sync.WaitGroup
	over := make(chan struct{})
	errs := make([]error, goroutines)
	for g := range goroutines {
		begins := s == nil || g < s.free
		if begins {
			first.Add(1)
		}
		busy.Go(func() {
			if begins {
				defer first.Done()
			} else {
				select {
				case <-s.awaited:
				case <-over:
					return
				}
			}
			errs[g] = guard(func() {
				for i := int(taken.Add(1)) - 1; i < n; i = int(taken.Add(1)) - 1 {
					do(g, i)
				}
			})
		})
	}
	first.Wait() // then nothing is left to begin
	close(over)
	busy.Wait()
	return cmp.Or(errs...)
}
