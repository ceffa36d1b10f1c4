//go:build cuda

package cuda

import (
	"gorgonia.org/cu"
)

// private is an optimizer's state of a worker that adds to weights on another GPU. Each of its steps reads and writes
// the state: so that is here while the worker trains, and the owner's copy is renewed when all launches have ended,
// which they have before a snapshot is taken and when another worker takes over the rank.
type private struct {
	state, steps cu.DevicePtr // here
	of, taken    cu.DevicePtr // at the owner's
	floats       int
	buffers      blocks
}

// newPrivate takes over a state, and how many steps were taken with it, from the owner.
func newPrivate(c *gpu, of, taken cu.DevicePtr, floats int) (*private, error) {
	p := &private{of: of, taken: taken, floats: floats}
	err := p.buffers.allocate(c, wanted{&p.state, 4 * int64(floats), "an optimizer's state"},
		wanted{&p.steps, 8, "the number of its steps"})
	if err != nil {
		return p, err
	}
	return p, keep(move(p.state, of, floats), move(p.steps, taken, 2),
		failed(cu.Synchronize(), "copying an optimizer's state"))
}

// renew copies the state to the owner's GPU, if it is here. No launch is queued.
func (p *private) renew() error {
	if p == nil {
		return nil
	}
	return keep(move(p.of, p.state, p.floats), move(p.taken, p.steps, 2),
		failed(cu.Synchronize(), "copying an optimizer's state back"))
}

// free gives the memory back.
func (p *private) free() error {
	if p == nil {
		return nil
	}
	return p.buffers.free()
}
