package run

import (
	"errors"
	"os"
	"sync/atomic"
)

// A worker is started with its rank in the environment and three descriptors: the
// control block, the weights and the training data.
const (
	rankVariable = "HOGWILD_RANK"
	controlFD    = 3
	weightsFD    = 4
	dataFD       = 5
)

// IsWorker tells whether this process was started by Run as a worker. A program
// that calls Run asks it first thing in main, after registering its models, and
// leaves the process to WorkerMain if so.
func IsWorker() bool {
	asked.Store(true)
	return isChild()
}

// asked tells whether this program has asked IsWorker, as its workers will.
var asked atomic.Bool

// isChild tells whether a run started this process.
func isChild() bool { return os.Getenv(rankVariable) != "" || os.Getenv(checkVariable) != "" }

// mayStart refuses a run whose workers would begin a run each, and so on without end.
func mayStart() error {
	if !asked.Load() || isChild() {
		return errors.New("workers are this program, started again: call hogwild.IsWorker first in main, and if it is true exit with hogwild.WorkerMain()")
	}
	return nil
}

// checkVariable tells a child process to check the loops from the one that it names on.
const checkVariable = "HOGWILD_CHECK_LOOPS"
