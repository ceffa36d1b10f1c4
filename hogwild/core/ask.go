package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hogwild/hogwild/device"
)

// A GPU that hangs does not fail: a call that waits for it never returns, and a signal does not
// end the wait. So the coordinator has such calls made by another goroutine, and waits for that
// one so long. If there is no answer, no more is asked: the run ends with the copy of the weights
// that host memory has.

// answerTime is how long a GPU may take for a copy of the weights.
const answerTime = time.Minute

const (
	Evaluations = 5 // as many times as for a copy of the weights it waits for an evaluation
	ShortenedBy = 6 // after an interruption, and for workers to end, such a share of it

	slowestCopy = 500e6 // bytes/s: pageable memory, on a bus that others use too
)

// copyTime returns how long a copy of this many bytes from the GPU may take: it is waited for that much longer, after
// an interruption too.
func copyTime(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / slowestCopy * float64(time.Second)).Round(100 * time.Millisecond)
}

// CallDevice has a call made that waits for the device, and returns its error as a DeviceError; or another one, if
// there is no answer within limit.
func (r *Memory) CallDevice(limit time.Duration, call func() error) error {
	_, err := CallDevice(r, limit, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// CallDevice does what the method of that name does, for a call with a result.
func CallDevice[T any](r *Memory, limit time.Duration, call func() (T, error)) (none T, err error) {
	if !r.Traits.Driver { // host memory does not hang
		value, err := call()
		return value, OnDevice(err)
	}
	if err := context.Cause(r.Hung); err != nil {
		return none, OnDevice(err)
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
			return a.value, OnDevice(a.err)
		case <-interrupted:
			interrupted, limit = nil, (limit-copying)/ShortenedBy+copying
			late = time.After(limit)
		case <-r.Hung.Done(): // another call waits in vain
			return none, OnDevice(context.Cause(r.Hung))
		case <-late:
			select {
			case a := <-answer: // this process may have been stopped meanwhile
				return a.value, OnDevice(a.err)
			case <-r.Hung.Done(): // so may another call's wait
			case <-time.After(limit / 60):
				r.markHung(deviceHung(limit))
			}
			return none, OnDevice(context.Cause(r.Hung))
		}
	}
}

// Device returns the device of a worker in this process.
func (r *Memory) Device(rank int) (device.Device, error) {
	return CallDevice(r, r.CopyTimeout(), func() (device.Device, error) { return r.Owner.Device(rank) })
}

// copying returns the copyTime of all that a run has in device memory.
func (r *Memory) copying() time.Duration {
	if r.Weights == nil {
		return 0
	}
	values := len(r.Weights.W) + len(r.Weights.State)
	for _, slot := range r.Weights.Slots {
		values += len(slot)
	}
	return copyTime(4 * int64(values))
}

// CopyTimeout returns how long the run waits for a copy of the weights: an evaluation that runs comes first.
func (r *Memory) CopyTimeout() time.Duration {
	if r.Busy {
		return (1 + Evaluations) * r.DeviceTimeout
	}
	return r.DeviceTimeout
}

// deviceHung is the error of a GPU that has not answered for so long.
type deviceHung time.Duration

func (s deviceHung) Error() string {
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
