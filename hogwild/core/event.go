package core

import (
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// Event is something that has happened to a run, or that is about to, and that several abilities hear of: a pointer to
// one of the types below, in whose fields they may answer. They come in the order of this file.
type Event interface{ isEvent() }

// event makes the pointer to a struct that embeds it an Event. The struct itself is none, so that a case of a switch
// that would never be true does not compile.
type event struct{}

func (*event) isEvent() {}

type (
	// Reading comes before the data are read.
	Reading struct{ event }
	// Read comes when the data are read, before the settings are settled.
	Read struct {
		event
		HeldOut string // share of the training rows that were held out unasked, "": none
	}
	// Settled comes when the model is known. What follows, as the rate, may depend on Facts.
	Settled struct {
		event
		Plain model.Model // as it is without centring
		Auto  []string    // what was chosen where the user left it to the program
	}
	// Begins comes when the memory is there, before it has weights: of a new run they may be written, in the plain
	// form.
	Begins struct {
		event
		New bool
	}
	// Resumes comes when it is known where the run resumes. With Reported it has to train further, since it has told of
	// its end. Else Over says why there is nothing left to train.
	Resumes struct {
		event
		At       *rundir.Position
		Reported bool
		Over     string
	}
	// Folder comes when the run folder has been made, first or again, and the run is to be found there.
	Folder struct{ event }
	// Starts comes before the first worker starts.
	Starts struct{ event }

	// Tick comes every Run.Every: five times a second, or more often if an ability asks for that.
	Tick struct{ event }
	// Completes comes when an epoch is complete, before its weights are copied.
	Completes struct {
		event
		Last bool
	}
	// Completed comes after that. With Await the next epoch opens when this one has been evaluated: whether the run
	// goes on depends on its scores.
	Completed struct {
		event
		Examples int // that it has trained
		Await    bool
	}
	// Evaluates comes before an epoch is evaluated. Beside, if set, is called after that, while workers train.
	Evaluates struct {
		event
		Epoch  *rundir.EpochResult
		Beside func()
	}
	// Evaluated comes when it has been.
	Evaluated struct {
		event
		Epoch   *rundir.EpochResult
		Weights []rundir.Histogram // of each tensor, if they were counted
		Err     error
	}

	// Reports comes when the report is made: each ability adds what it knows.
	Reports struct {
		event
		Result *rundir.Result
	}
	// Reported comes after that, before the report is written: scores that take their time, on the first node.
	Reported struct {
		event
		Result *rundir.Result
	}
	// Closing comes before all is given back.
	Closing struct{ event }
)
