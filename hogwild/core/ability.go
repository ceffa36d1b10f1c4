// Package core is what a run is while it is carried out: what is trained on what, the memory that its processes share,
// and how far it is. The coordinator (package run) decides what happens next; abilities, each a package of its own,
// hear of it and answer.
//
//	ability.go    Ability; and Hooks, which a single ability answers
//	run.go        Run: how far it is, why its workers wait, and why it ends; and what abilities may ask for
//	event.go      the events that they hear
//	options.go    Options: of one call
//	peers.go      Peers: the other nodes of a job
//	diverged.go   the error of numbers that diverged
//	ask.go        calls of a device that may fail, or not answer
//	memory.go     Memory: what the processes share
//	task.go       Task: what is trained on what
package core

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
)

// Ability is what a run can do beside training: early stopping, another number of workers, rollback and so on. It keeps
// its own state, and returns why the run ends, nil if it does not. The coordinator calls all abilities one after the
// other, in one goroutine; what goes on in others comes to it by Run.Inbox.
type Ability interface {
	Handle(*Run, Event) error
}

// Hooks are what one ability does for the coordinator, which calls it there. The ability sets its own; nil: no ability
// does it in this run.
type Hooks struct {
	Program  Program                      // computes the model where the device cannot
	Init     func() error                 // writes given weights over the first ones of a new run, in the plain form
	Compared func(changed []bool)         // takes which tensors differ between a copy of the weights and the one before it
	Status   func(now bool) rundir.Status // returns the run as it was shown last or, with now, at this moment
	Change   Change                       // of the job, still to come
	// Rollback returns how a run that has ended carries on, nil if it does not. It has trained so many examples, those
	// that diverged included.
	Rollback func(trained int64) *Begin
}

// Program is a model that processes of their own compute, one beside each worker and one that scores weights.
type Program interface {
	// Score returns the score of plain weights on a set, of no examples if there is none. With an epoch, the one that
	// it is of, it may return metrics of the whole set.
	Score(w []float32, set *data.Set, epoch int) (model.Score, map[string]float64, error)
	// Scores reports whether there are any.
	Scores() bool
	// Log returns where that prints to which computes beside a worker.
	Log(rank int) *workers.Log
	// Died takes note that a worker has ended.
	Died(*workers.Exit)
	// Stop comes when the workers have been told to end, and waits for what programs do after their loops.
	Stop()
}

// Change is a change of the job that is still to come.
type Change interface {
	// Apply makes it if it may be made now: within an epoch, or between two. It returns why the run ends.
	Apply(*Run) error
}
