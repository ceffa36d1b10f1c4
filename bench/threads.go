package bench

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// pinnedThreads is one thread for each core that the program may use, pinned to it.
type pinnedThreads struct {
	cores []int // numbers of the cores, as the system counts them
	jobs  []chan func()
}

// newPinnedThreads starts the threads. There are no more than GOMAXPROCS: they all run at
// the same time, waiting for each other in loops.
func newPinnedThreads() (*pinnedThreads, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("bench: reading the CPU affinity: %w", err)
	}
	c := &pinnedThreads{}
	for core := 0; len(c.cores) < min(allowed.Count(), runtime.GOMAXPROCS(0)); core++ {
		if allowed.IsSet(core) {
			c.cores = append(c.cores, core)
		}
	}
	pinned := make(chan error)
	for _, core := range c.cores {
		jobs := make(chan func())
		c.jobs = append(c.jobs, jobs)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
			var set unix.CPUSet
			set.Set(core)
			pinned <- unix.SchedSetaffinity(0, &set)
			for job := range jobs {
				job()
			}
		}()
	}
	var failed error
	for _, core := range c.cores {
		if err := <-pinned; err != nil {
			failed = fmt.Errorf("bench: pinning a thread to one of the cores up to %d: %w", core, err)
		}
	}
	if failed != nil {
		c.close()
	}
	return c, failed
}

// close ends the threads.
func (c *pinnedThreads) close() {
	for _, jobs := range c.jobs {
		close(jobs)
	}
}

// run calls f(0), f(1) ... on the members that are named, which start together, and
// returns the time from the first start to the last end.
func (c *pinnedThreads) run(members []int, f func(i int)) time.Duration {
	var absent atomic.Int32
	var running sync.WaitGroup
	absent.Store(int32(len(members)))
	starts, ends := make([]time.Time, len(members)), make([]time.Time, len(members))
	for i, member := range members {
		running.Add(1)
		c.jobs[member] <- func() {
			defer running.Done()
			absent.Add(-1)
			for absent.Load() > 0 {
			}
			starts[i] = time.Now()
			f(i)
			ends[i] = time.Now()
		}
	}
	running.Wait()
	return slices.MaxFunc(ends, time.Time.Compare).Sub(slices.MinFunc(starts, time.Time.Compare))
}
