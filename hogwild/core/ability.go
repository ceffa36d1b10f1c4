// Package core is what a run is while it is carried out: what is trained on what, the memory that its processes share,
// and how far it is. The coordinator (package run) decides what happens next; abilities, each a package of its own,
// hear of it and answer.
//
//	ability.go    Ability
//	run.go        Run: how far it is, why its workers wait, and why it ends; and what abilities may ask for
//	event.go      the events that they hear
//	options.go    Options: of one call
//	peers.go      Peers: the other nodes of a job
//	diverged.go   the error of numbers that diverged
//	ask.go        calls of a device that may fail, or not answer
//	memory.go     Memory: what the processes share
//	task.go       Task: what is trained on what
package core

// Ability is what a run can do beside training: early stopping, another number of workers, rollback and so on. It hears
// what happens, keeps its own state, and returns why the run ends, nil if it does not. The coordinator calls all
// abilities one after the other, in one goroutine; what goes on in others comes to it by Run.Inbox.
type Ability interface {
	On(*Run, Event) error
}
