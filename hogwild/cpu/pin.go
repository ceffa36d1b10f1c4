package cpu

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// cores are those that this process may use, once Pin has looked.
var cores unix.CPUSet

// Pin binds the calling goroutine to one of the cores that this process may use, a
// different one for each rank, when there are enough for all. A worker that is alone is
// left to the scheduler: several such runs on one machine would meet on a core. For
// the same reason ranks are counted from a core that depends on the coordinator. A
// system that does not let us costs a little speed and nothing else.
//
// A worker that finds itself among more or fewer others is bound anew.
func Pin(rank, workers int) {
	runtime.LockOSThread() // what waits must not go on elsewhere, where no cache knows it
	if cores.Count() > 0 {
		_ = unix.SchedSetaffinity(0, &cores)
	}
	may := &cores
	if workers < 2 || unix.SchedGetaffinity(0, may) != nil || may.Count() < workers {
		return
	}
	skip := (os.Getppid() + rank) % may.Count()
	for core := 0; ; core++ {
		if !may.IsSet(core) {
			continue
		}
		if skip == 0 {
			var one unix.CPUSet
			one.Set(core)
			_ = unix.SchedSetaffinity(0, &one)
			return
		}
		skip--
	}
}
