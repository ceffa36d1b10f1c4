// Package device is what a worker needs from the place where the weights are: a Device to
// train chunks on, made by a Backend from a Setup. The one in host memory is package cpu, that
// on GPUs package cuda.
//
//	backend.go  Setup, Backend, Owner
//	survey.go   what there is to know of a copy of the weights
//	device.go   Device
package device

import (
	"errors"
	"fmt"
	"slices"

	"hogwild/hogwild/plan"
)

// Device is what a worker needs from the place where the weights are. Only the
// device touches them; a worker sees chunks and their results.
type Device interface {
	// Train takes the steps of the chunks, in order, and returns the result of each: in a slice that the next call
	// overwrites. A device that works on while its caller goes ahead returns chunks when they have ended, in order,
	// earlier calls' first; Train without chunks waits for all. ErrNotFinite ends it at once.
	Train(cs []plan.Chunk) ([]plan.ChunkResult, error)
	// PreferredChunks is how many chunks it would like at once, from 1.
	PreferredChunks() int
	// Pull starts a round in barrier mode: the replica becomes a copy of the weights.
	Pull() error
	// Average ends a round in barrier mode, once every replica (or gradient) is
	// complete: this rank's slice of the weights becomes the mean of the replicas,
	// weighted by the examples that each rank trained in the round.
	Average(r plan.Round) error
	// Close gives back what the device holds; the weights stay.
	Close() error
}

// Complete trains chunks on a device that has none to tell of, and waits for what they come to.
func Complete(d Device, cs []plan.Chunk) ([]plan.ChunkResult, error) {
	ys, err := d.Train(cs)
	if err != nil || len(ys) == len(cs) {
		return ys, err
	}
	first := slices.Clone(ys)
	ys, err = d.Train(nil)
	return append(first, ys...), err
}

// ErrNotFinite is matched by errors that report a loss of NaN or infinity.
var ErrNotFinite = errors.New("the loss is not finite")

// NotFiniteError says where the numbers diverged.
type NotFiniteError struct {
	Step int64 // of this worker, from 1
	Loss float64
	LR   float64
}

// NotFinite returns the error of a device whose loss in a step (its own, from 1) was NaN
// or infinite.
func NotFinite(step int64, loss, lr float64) error { return &NotFiniteError{step, loss, lr} }

// Error says where.
func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("the loss became %v at step %d with learning rate %.6g", e.Loss, e.Step, e.LR)
}

// Is matches ErrNotFinite.
func (e *NotFiniteError) Is(target error) bool { return target == ErrNotFinite }
