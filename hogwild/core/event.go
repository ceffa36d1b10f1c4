package core

import (
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
)

// Event is something that has happened to a run, or that is about to: one of the types below, by pointer where an
// ability can answer in its fields. They come in the order of this file.
type Event any

type (
	// Reading comes before the data are read.
	Reading struct{}
	// Read comes when the data are read, before the settings are settled.
	Read struct {
		HeldOut string // share of the training rows that were held out unasked, "": none
	}
	// Settled comes when the model is known. What follows, as the rate, may depend on Facts.
	Settled struct {
		Plain model.Model // as it is without centring
		Auto  []string    // what was chosen where the user left it to the program
	}
	// Begins comes when the memory is there, before it has weights: of a new run they may be written, in the plain
	// form.
	Begins struct{ New bool }
	// Weights comes when those of a new run are in memory, in the plain form.
	Weights struct{}
	// Resumes comes when it is known where the run resumes. With Reported it has to train further, since it has told of
	// its end. Else Over says why there is nothing left to train.
	Resumes struct {
		At       *rundir.Position
		Reported bool
		Over     string
	}
	// Folder comes when the run folder has been made, first or again, and the run is to be found there.
	Folder struct{}
	// Starts comes before the first worker starts.
	Starts struct{}

	// Tick comes every Run.Every: five times a second, or more often if an ability asks for that.
	Tick struct{}
	// Handled comes after each event that the coordinator has answered.
	Handled struct{}
	// Copied comes when the weights have been copied. Changed says which tensors have since the copy before, if
	// Run.Compare.
	Copied struct{ Changed []bool }
	// Completes comes when an epoch is complete, before its weights are copied.
	Completes struct{ Last bool }
	// Completed comes after that. With Await the next epoch opens when this one has been evaluated: whether the run
	// goes on depends on its scores, or a change waits for them.
	Completed struct {
		Examples int // that it has trained
		Await    bool
	}
	// Evaluates comes before an epoch is evaluated. Beside is called after that, while workers train.
	Evaluates struct {
		Epoch  *rundir.EpochResult
		Beside func()
	}
	// Evaluated comes when it has been.
	Evaluated struct {
		Epoch   *rundir.EpochResult
		Weights []rundir.Histogram // of each tensor, if they were counted
		Err     error
	}
	// Opens comes before the next epoch opens.
	Opens struct{}

	// Asked comes when an ability asks for the status: as it was shown last or, with Now, at this moment.
	Asked struct {
		Now    bool
		Status rundir.Status
	}
	// Died comes when a worker has ended.
	Died struct{ *workers.Exit }

	// Ends comes when the run ends, while its workers train.
	Ends struct{}
	// Stops comes when they have been told so: they have to end soon.
	Stops struct{}
	// Concludes comes when all is saved but the report. With Begin the run carries on so.
	Concludes struct {
		Trained int64 // examples, also of those that diverged
		Begin   *Begin
	}
	// Reports comes when the report is made: each ability adds what it knows.
	Reports struct{ Result *rundir.Result }
	// Reported comes after that, before the report is written: scores that take their time, on the first node.
	Reported struct{ Result *rundir.Result }
	// Closes comes before all is given back.
	Closes struct{}
	// Closed comes after that.
	Closed struct{}
)
