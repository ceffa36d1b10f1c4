package cpu

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
)

// cores are those that this process may use, once Pin has looked.
var cores unix.CPUSet

// Pin binds the calling goroutine to one of the cores that this process may use, a
// different one for each rank, when there are enough for all. A worker that is alone is
// left to the scheduler: several such runs on one machine would meet on a core. A
// system that does not let us costs a little speed and nothing else.
//
// A worker that finds itself among more or fewer others is bound anew.
func Pin(c *config.Config, rank int) {
	runtime.LockOSThread() // what waits must not go on elsewhere, where no cache knows it
	if cores.Count() > 0 {
		_ = unix.SchedSetaffinity(0, &cores)
	}
	may := &cores
	if c.Workers < 2 || unix.SchedGetaffinity(0, may) != nil {
		return
	}
	skip := place(c, rank, may.Count(), os.Getppid())
	if skip < 0 && c.Apart > 0 {
		stay(longTurn)
	}
	for core := 0; skip >= 0; core++ {
		if !may.IsSet(core) {
			continue
		}
		if skip == 0 {
			var one unix.CPUSet
			one.Set(core)
			_ = unix.SchedSetaffinity(0, &one)
		}
		skip--
	}
}

// stay asks Linux (6.12 and later) that a worker keep a core for as long as a turn. A worker of a grid that loses its
// core has a block in hand, so that others find none that has no row or column in common with it
// (docs/results/solvers.md). Threads of the runtime wake up now and then, and with shorter turns would take the core.
func stay(turn time.Duration) {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		id, _ := strconv.Atoi(t.Name())
		if a, err := unix.SchedGetAttr(id, 0); err == nil {
			a.Runtime = uint64(turn)
			_ = unix.SchedSetAttr(id, a, 0)
		}
	}
}

const longTurn = 100 * time.Millisecond // as long as Linux allows

// place says which of n cores a rank has; -1: none, as there are too few. Ranks are counted from a core that depends
// on the coordinator, since several runs on one machine would meet there. The nodes of a job that share a
// machine know of each other, and each has a part of the cores.
func place(c *config.Config, rank, n, coordinator int) int {
	nodes := max(1, c.HostNodes)
	each := n / nodes
	switch {
	case each < c.Workers:
		return -1
	case nodes > 1:
		return c.HostNode*each + rank
	}
	return (coordinator + rank) % n
}
