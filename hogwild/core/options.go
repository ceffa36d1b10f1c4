package core

import (
	"cmp"
	"io"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
)

// Options are the settings of one call. They are not saved with the run.
type Options struct {
	// TrainData and TestData are data in memory; they replace the files Config.Data and Config.Test.
	// Without TestData a sixth of TrainData is held out.
	TrainData, TestData *data.Memory

	// Sets are all data of the run, in the memory that its processes share: nothing is read, and they stay the
	// caller's.
	Sets *data.Sets

	OnPlan  func(epochs int)         // called before the first epoch with how many there will be at most
	OnEpoch func(rundir.EpochResult) // called after each epoch is evaluated; the run waits until it returns
	// Ctrl-C, SIGTERM and SIGHUP stop and save the run; a closed pipe as stdout or stderr does not end the program
	Signals bool

	Exits bool // the program ends when Run has returned: until then a first signal does not end it

	Progress  io.Writer // destination of progress output; nil: none
	Quiet     bool      // only warnings go to Progress
	Dashboard string    // address of the dashboard, printed before the run starts

	// Peers make this run one node of a job: see package peers. On all but node 0 the settings but Workers and the ones
	// for GPUs, memory and folders are ignored: they are node 0's. Nil: the run is alone.
	Peers Peers
	Given map[string]string // settings that this node was given, by name; all nodes of a job must have the same

	// Snapshot is Config.Resume's, for a caller that has read it: it is not read again unless the folder has
	// another one by then.
	Snapshot *rundir.Saved

	Timing     bool   // report where the time went
	CPUProfile string // file for a CPU profile (pprof) of worker 0
	Trace      string // file for an execution trace of worker 0

	Unjudged bool // see data.Options
	Unscored bool // the weights are evaluated on no rows: epochs have their training losses only
}

// peers returns the other nodes of the job.
func (o *Options) peers() Peers {
	if o.Peers == nil {
		return alone{}
	}
	return o.Peers
}

// Settle returns c with nothing left open, on the data in memory if there are any.
func (o *Options) Settle(c config.Config) (config.Config, error) {
	if o.TestData != nil && o.TrainData == nil {
		return c, config.Usage("Options.TestData without Options.TrainData: give both, or name files")
	}
	if o.Sets != nil {
		c.Data, c.Test, c.Validation = o.Sets.Train.Name, data.None, config.NoValidation
		if o.Sets.Validation != nil {
			c.Validation = o.Sets.Validation.Name
		}
	}
	if o.TrainData != nil {
		c.Data = cmp.Or(o.TrainData.Name, "memory")
	}
	if o.TestData != nil {
		c.Test = cmp.Or(o.TestData.Name, "memory")
	}
	return c.Resolve()
}
