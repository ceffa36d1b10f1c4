package run

import (
	"context"
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
	evaluations = 5 // as many times as for a copy of the weights it waits for an evaluation
	hurry       = 6 // after an interruption, and for workers to end, such a share of it

	slowestCopy = 500e6 // bytes/s: pageable memory, on a bus that others use too
)

// copyTime is how long a copy of so many bytes from the GPU may take: it is waited for so much
// longer, after an interruption too.
func copyTime(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / slowestCopy * float64(time.Second)).Round(100 * time.Millisecond)
}

// ask has a call made that waits for the device, and returns its error; or another one, if there
// is no answer in so long.
func (r *shared) ask(limit time.Duration, call func() error) error {
	_, err := askFor(r, limit, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// askFor is ask of a call with a result.
func askFor[T any](r *shared, limit time.Duration, call func() (T, error)) (none T, err error) {
	if r.job.Asked.GPU == "" { // host memory does not hang
		return call()
	}
	if err := context.Cause(r.silenced); err != nil {
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
	interrupted, late := r.interrupted, time.After(limit)
	for {
		select {
		case a := <-answer:
			return a.value, a.err
		case <-interrupted:
			interrupted, limit = nil, (limit-copying)/hurry+copying
			late = time.After(limit)
		case <-r.silenced.Done(): // another call waits in vain
			return none, context.Cause(r.silenced)
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
func (r *shared) copying() time.Duration {
	if r.mem == nil {
		return 0
	}
	values := len(r.mem.W) + len(r.mem.State)
	for _, slot := range r.mem.Slots {
		values += len(slot)
	}
	return copyTime(4 * int64(values))
}

// patient is how long it waits for a copy of the weights: an evaluation that runs comes first.
func (r *shared) patient() time.Duration {
	if r.busy {
		return (1 + evaluations) * r.patience
	}
	return r.patience
}

// silence is the error of a GPU that has not answered for so long.
type silence time.Duration

func (s silence) Error() string {
	return fmt.Sprintf("the GPU has not answered for %v: it hangs; see dmesg for NVRM or Xid lines", time.Duration(s))
}

// deviceError is an error of the place where the weights are. What was copied before it
// is good.
type deviceError struct{ error }

func (e deviceError) Unwrap() error { return e.error }

func onDevice(err error) error {
	if err == nil {
		return nil
	}
	return deviceError{err}
}
