package hogwild

import (
	"errors"
	"fmt"
)

// Device is what a worker needs from the place where the weights are. Only the
// device touches them; a worker sees chunks and tallies.
type Device interface {
	// Train takes the steps of the chunks, in order, and tells what each came to: in
	// a slice that the next call overwrites. ErrNotFinite ends it at once.
	Train(cs []Chunk) ([]Tally, error)
	// Appetite is how many chunks it would like at once, from 1.
	Appetite() int
	// Pull starts a round in barrier mode: the replica becomes a copy of the weights.
	Pull() error
	// Average ends a round in barrier mode, once every replica (or gradient) is
	// complete: this rank's slice of the weights becomes the mean of the replicas,
	// weighted by the examples that each rank trained in the round.
	Average(r Round) error
	// Close gives back what the device holds; the weights stay.
	Close() error
}

// ErrNotFinite is matched by errors that report a loss of NaN or infinity.
var ErrNotFinite = errors.New("the loss is not finite")

// notFinite says where the numbers diverged.
type notFinite struct {
	step int64 // of this worker, from 1
	loss float64
	lr   float64
}

// NotFinite is the error of a device whose loss in a step (its own, from 1) was NaN
// or infinite.
func NotFinite(step int64, loss, lr float64) error { return &notFinite{step, loss, lr} }

func (e *notFinite) Error() string {
	return fmt.Sprintf("the loss became %v at step %d with learning rate %g", e.loss, e.step, e.lr)
}

func (e *notFinite) Is(target error) bool { return target == ErrNotFinite }
