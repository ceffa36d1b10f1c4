package cpu

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// spare is work beside training. It begins in threads of the lowest priority, which have what the workers leave of
// the cores: no mode is slower for it, and least of all one whose workers wait for each other. What is left when
// somebody waits for it, or after promptly, is done with the priority of workers.
type spare struct {
	awaited atomic.Bool
}

const (
	lowest   = 19
	promptly = 2 * time.Second
)

// each calls do for all numbers from 0 to n, from so many goroutines, whose numbers do is given too. Each takes the next
// number that is left. A nil spare is awaited. It returns the first error of guard, in which each goroutine runs.
func (s *spare) each(goroutines, n int, guard func(func()) error, do func(goroutine, i int)) error {
	var taken atomic.Int64
	share := func(until func() bool, low bool) error {
		var busy sync.WaitGroup
		errs := make([]error, goroutines)
		for g := range goroutines {
			busy.Go(func() {
				if low {
					stepBack()
				}
				errs[g] = guard(func() {
					for !until() {
						i := int(taken.Add(1)) - 1
						if i >= n {
							return
						}
						do(g, i)
					}
				})
			})
		}
		busy.Wait()
		return cmp.Or(errs...)
	}
	if s != nil {
		late := time.AfterFunc(promptly, s.await)
		err := share(s.awaited.Load, true)
		late.Stop()
		if err != nil || int(taken.Load()) >= n {
			return err
		}
	}
	return share(func() bool { return false }, false)
}

// await tells that somebody waits for the work.
func (s *spare) await() { s.awaited.Store(true) }

// stepBack gives the goroutine a thread of its own, of the lowest priority, which ends with it.
func stepBack() {
	runtime.LockOSThread()                             // never unlocked: the priority cannot be raised again
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest) // of this thread alone; without it, it is only less fair
}
