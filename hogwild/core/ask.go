package core

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A GPU that hangs does not fail: a call that waits for it never returns, and a signal does not
// end the wait. So the coordinator has such calls made by another goroutine, and waits for that
// one so long. If there is no answer, no more is asked: the run ends with the copy of the weights
// that host memory has.

// answerTime is how long a GPU may take for a copy of the weights.
const answerTime = time.Minute

const (
	Evaluations = 5 // as many times as for a copy of the weights it waits for an evaluation
	Hurry       = 6 // after an interruption, and for workers to end, such a share of it

	slowestCopy = 500e6 // bytes/s: pageable memory, on a bus that others use too
)

// copyTime is how long a copy of so many bytes from the GPU may take: it is waited for so much
// longer, after an interruption too.
func copyTime(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / slowestCopy * float64(time.Second)).Round(100 * time.Millisecond)
}

// Ask has a call made that waits for the device, and returns its error; or another one, if there
// is no answer in so long.
func (r *Memory) Ask(limit time.Duration, call func() error) error {
	_, err := AskFor(r, limit, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// AskFor is Ask of a call with a result.
func AskFor[T any](r *Memory, limit time.Duration, call func() (T, error)) (none T, err error) {
	if !r.Traits.Driver { // host memory does not hang
		return call()
	}
	if err := context.Cause(r.Silenced); err != nil {
		return none, err
	}
	type result struct {
		value T
		err   error
	}
	answer := make(chan result, 1)
	go func() {
		value, err := call()
		answer <- result{value, err}
	}()
	copying := r.copying()
	limit += copying
	interrupted, late := r.Interrupted, time.After(limit)
	for {
		select {
		case a := <-answer:
			return a.value, a.err
		case <-interrupted:
			interrupted, limit = nil, (limit-copying)/Hurry+copying
			late = time.After(limit)
		case <-r.Silenced.Done(): // another call waits in vain
			return none, context.Cause(r.Silenced)
		case <-late:
			select {
			case a := <-answer: // this process may have been stopped meanwhile
				return a.value, a.err
			case <-time.After(limit / 60):
			}
			r.giveUp(silence(limit))
			return none, silence(limit)
		}
	}
}

// copying is the copyTime of all that a run has in device memory.
func (r *Memory) copying() time.Duration {
	if r.Mem == nil {
		return 0
	}
	values := len(r.Mem.W) + len(r.Mem.State)
	for _, slot := range r.Mem.Slots {
		values += len(slot)
	}
	return copyTime(4 * int64(values))
}

// Patient is how long it waits for a copy of the weights: an evaluation that runs comes first.
func (r *Memory) Patient() time.Duration {
	if r.Busy {
		return (1 + Evaluations) * r.Patience
	}
	return r.Patience
}

// silence is the error of a GPU that has not answered for so long.
type silence time.Duration

func (s silence) Error() string {
	return fmt.Sprintf("the GPU has not answered for %v: it hangs; see dmesg for NVRM or Xid lines", time.Duration(s))
}

// DeviceError is an error of the place where the weights are. What was copied before it
// is good.
type DeviceError struct{ error }

// Unwrap returns the error.
func (e DeviceError) Unwrap() error { return e.error }

// OnDevice returns an error as one of the device; nil as nil.
func OnDevice(err error) error {
	if err == nil || errors.As(err, new(DeviceError)) {
		return err
	}
	return DeviceError{err}
}
