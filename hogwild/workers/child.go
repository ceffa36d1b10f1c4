package workers

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/internal/self"
	"hogwild/internal/vec"
	"hogwild/shm"
)

// RankVariable is the variable of the environment that has the rank of a worker.
const RankVariable = "HOGWILD_RANK"

// IsWorker reports whether this process was started by a run as a worker. A program that starts runs asks it
// first thing in main, after registering its models, and leaves the process to worker.Main if so.
func IsWorker() bool {
	asked.Store(true)
	return isChild()
}

// asked reports whether this program has asked IsWorker, as its workers will.
var asked atomic.Bool

// isChild reports whether a run started this process.
func isChild() bool { return os.Getenv(RankVariable) != "" }

// CheckStart refuses a run of n workers that would begin a run each, and so on without end; and one for which the user
// may have too few threads: Go ends a process that gets no more with a traceback of pages.
func CheckStart(n int) error {
	if !asked.Load() || isChild() {
		return errors.New("workers are this program, started again: call hogwild.IsWorker first in main, and if it " +
			"is true exit with hogwild.WorkerMain()")
	}
	var most unix.Rlimit
	need := 12 + 4*uint64(n)
	if unix.Getrlimit(unix.RLIMIT_NPROC, &most) == nil && most.Cur < need && os.Geteuid() != 0 {
		return fmt.Errorf("%d workers need about %d threads, and this user may have %d: raise ulimit -u", n, need,
			most.Cur)
	}
	return nil
}

// Ready comes before anything that computes. It returns what would keep every run on this machine from starting.
func Ready() error {
	_, noPath := self.Path()
	err := cmp.Or(errors.Join(model.RegisterError(), vec.EnvironmentError()), shm.Check(), noPath)
	if err != nil {
		return config.Usage("%w", err)
	}
	return nil
}

// Rank returns the rank of this worker.
func Rank() (int, error) {
	rank, err := strconv.Atoi(os.Getenv(RankVariable))
	if err != nil {
		return 0, fmt.Errorf("%s=%q: workers are started by hogwild train", RankVariable, os.Getenv(RankVariable))
	}
	return rank, nil
}

// Inherited returns the i-th of the files that Start was given.
func Inherited(i int, name string) *os.File { return os.NewFile(uintptr(3+i), name) }
