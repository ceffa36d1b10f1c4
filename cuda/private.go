//go:build cuda

package cuda

import (
	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
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

// keepPrivate takes over a rank's state from the owner, if it is the rank's alone. The context is current.
func (m *memory) keepPrivate(s *device.Setup, c *gpu, rank int) error {
	if s.Job.Asked.Optimizer == config.SGD || s.Job.Asked.OptimizerState == "shared" {
		return nil
	}
	i := rank % len(s.States)
	p := &private{of: m.state(i), taken: m.steps(i), floats: len(s.States[i])}
	err := p.buffers.allocate(c, wanted{&p.state, 4 * int64(p.floats), "an optimizer's state"},
		wanted{&p.steps, 8, "the number of its steps"})
	if err != nil {
		return err
	}
	m.private = p
	return keep(move(p.state, p.of, p.floats), move(p.steps, p.taken, 2),
		failed(cu.Synchronize(), "copying an optimizer's state"))
}

// renew copies the state to the owner's GPU. No launch is queued.
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
