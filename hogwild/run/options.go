package run

import (
	"cmp"
	"io"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
)

// Options are what belongs to one call, and not to the run: nothing of it is saved.
type Options struct {
	TrainData, TestData *data.Memory // data in memory, instead of the files Config.Data and Config.Test; without TestData a sixth of TrainData is held out

	OnEpoch func(rundir.EpochResult) // is called after each epoch, once it is evaluated, and the run waits for it; nil: nobody is
	Signals bool                     // Ctrl-C and SIGTERM stop the run and save it

	Progress  io.Writer // where progress goes; nil: nowhere
	Quiet     bool      // warnings only
	Dashboard string    // where the run can be watched, to be told before it starts

	Timing     bool   // the report says where the time went
	CPUProfile string // a pprof file of worker 0
	Trace      string // an execution trace of worker 0
}

// settle is c, resolved, on the data in memory if there are any.
func (o *Options) settle(c config.Config) (config.Config, error) {
	if o.TestData != nil && o.TrainData == nil {
		return c, config.Usage("Options.TestData without Options.TrainData: give both, or name files")
	}
	if o.TrainData != nil {
		c.Data = cmp.Or(o.TrainData.Name, "memory")
	}
	if o.TestData != nil {
		c.Test = cmp.Or(o.TestData.Name, "memory")
	}
	return c.Resolve()
}
