package run

import (
	"io"

	"hogwild/hogwild/rundir"
)

// Options are what belongs to one call, and not to the run: nothing of it is saved.
type Options struct {
	OnEpoch func(rundir.EpochResult) // is called after each epoch, once it is evaluated, and the run waits for it; nil: nobody is
	Signals bool                     // Ctrl-C and SIGTERM stop the run and save it

	Progress  io.Writer // where progress goes; nil: nowhere
	Quiet     bool      // warnings only
	Dashboard string    // where the run can be watched, to be told before it starts

	Timing     bool   // the report says where the time went
	CPUProfile string // a pprof file of worker 0
	Trace      string // an execution trace of worker 0
}
