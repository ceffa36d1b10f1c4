package workers

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Variables of the environment of processes that a run has started.
const (
	RankVariable  = "HOGWILD_RANK"        // the rank of a worker
	CheckVariable = "HOGWILD_CHECK_LOOPS" // checks the loops in assembly from the one that it names on
)

// IsWorker reports whether this process was started by a run as a worker. A program that starts runs asks it
// first thing in main, after registering its models, and leaves the process to worker.Main if so.
func IsWorker() bool {
	asked.Store(true)
	return isChild()
}

// asked reports whether this program has asked IsWorker, as its workers will.
var asked atomic.Bool

// isChild reports whether a run started this process.
func isChild() bool { return os.Getenv(RankVariable) != "" || Check() != "" }

// Check is the loop from which this process is to check them, "" if it is for anything else: the variable may be left
// over where nobody has started a child.
func Check() string {
	if !slices.Equal(os.Args[1:], []string{"worker"}) || os.Getenv(RankVariable) != "" {
		return ""
	}
	return os.Getenv(CheckVariable)
}

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

// Rank is that of this worker.
func Rank() (int, error) {
	rank, err := strconv.Atoi(os.Getenv(RankVariable))
	if err != nil {
		return 0, fmt.Errorf("%s=%q: workers are started by hogwild train", RankVariable, os.Getenv(RankVariable))
	}
	return rank, nil
}

// Inherited is the i-th of the files that Start was given.
func Inherited(i int, name string) *os.File { return os.NewFile(uintptr(3+i), name) }
