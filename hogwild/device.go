package hogwild

import (
	"errors"
	"fmt"
)

// Chunk is the work that a worker takes at once: steps of Batch examples each, at
// positions First, First+Stride, ... of the epoch's order, Count examples in all.
// The last step has what is left over.
type Chunk struct {
	Index  int // into the epoch's table of chunks
	Epoch  int // from 0
	Rank   int // whose share of the data this is; -1 when all share one order
	First  int
	Count  int
	Batch  int
	Stride int
	Seen   int64 // examples of the whole run before this chunk, trained by all workers
	Weight int   // examples of all workers that go by while this chunk trains one
}

// Split cuts off the first steps: so many, or all that there are.
func (c Chunk) Split(steps int) (first, rest Chunk) {
	first, rest = c, c
	first.Count = min(steps*c.Batch, c.Count)
	rest.Count -= first.Count
	rest.First += steps * c.Stride
	rest.Seen += int64(first.Count * c.Weight)
	return first, rest
}

// Tally is what training a chunk came to.
type Tally struct {
	Examples int
	Steps    int
	Loss     float64 // summed over the examples, each at the weights it was trained on
}

// Plus is both together.
func (t Tally) Plus(o Tally) Tally {
	return Tally{t.Examples + o.Examples, t.Steps + o.Steps, t.Loss + o.Loss}
}

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

// Round is what a rank must know to average.
type Round struct {
	Number   int   // of the run, from 1
	Seen     int64 // examples of the run before this round
	Examples []int // trained by each rank in this round
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
