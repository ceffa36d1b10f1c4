// Package program trains a model that a program in another language computes. Each worker has such a
// process, and the coordinator has one to evaluate. They map the weights and the data of the run, and take
// one message a chunk over a socket: see docs/programs.md.
//
//	owner.go      the coordinator's memory, whose copies a program scores
//	evaluator.go  the coordinator's program
//	device.go     a worker's program
//	arrays.go     what a program is told of shared memory
//	process.go    a program that runs
//	layout.go     what it says of its model
//	command.go    how it is started
//	protocol.go   the messages
package program

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

// owner is the memory of a run whose program evaluates.
type owner struct {
	device.Owner
	evaluator *Evaluator
}

// Own is the memory of a run with a program. A rank that is gone has inner's device: it trains nothing.
func Own(inner device.Owner, e *Evaluator) device.Owner { return &owner{inner, e} }

// Score is device.Owner's.
func (o *owner) Score(w []float32, set *data.Set) (model.Score, error) {
	return o.evaluator.Score(w, set)
}
