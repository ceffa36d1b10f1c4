//go:build cuda

package cuda

import (
	"errors"

	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
)

// meeting is the Device of a rank whose steps a program takes. The program opens the weights by itself:
// here is what it has to be told for that, in barrier mode the rounds, and on several GPUs what brings the replica
// of one to the weights. In async mode on one GPU this process does nothing there, so it has no context, which would
// take hundreds of MiB.
type meeting struct {
	*gpu     // the owner's; nil: async mode on one GPU
	handle   *runHandle
	replica  *separate // nil: the program trains in the coordinator's memory
	memory   *memory
	rounds   averager
	buffers  blocks
	isOpened bool // the memory is the coordinator's
}

// joinMeeting is Join, for a rank with a program on the GPU of this number in the list.
func joinMeeting(s *device.Setup, rank int, m *memory, h *runHandle, number int) (*meeting, error) {
	apart := trainsApart(&s.Job.Asked, len(h.GPUs), number)
	if !apart && !s.Job.Asked.Mode.Traits().Barrier {
		return &meeting{handle: h, memory: m, rounds: averager{setup: s, memory: m, rank: rank}}, nil
	}
	c, err := openContext(0, h.GPUs[0].UUID)
	if err != nil {
		return nil, err
	}
	var d *meeting
	err = c.within(func() error {
		if m.weights, err = openMemory(h.Weights); err != nil {
			return err
		}
		if d, err = newMeeting(s, c, m, rank); err == nil {
			d.isOpened, d.handle = true, h
		}
		return err
	})
	if err == nil && apart {
		d.replica, err = newSeparate(s, rank, c, m, &h.GPUs[number])
	}
	return d, err
}

func newMeeting(s *device.Setup, c *gpu, m *memory, rank int) (*meeting, error) {
	d := &meeting{gpu: c, memory: m, rounds: averager{gpu: c, setup: s, memory: m, rank: rank}}
	if !s.Job.Asked.Mode.Traits().Barrier {
		return d, nil
	}
	return d, d.rounds.open(&d.buffers)
}

// GPUMemory returns what this rank's program is told of the memory.
func (d *meeting) GPUMemory() device.GPUMemory {
	if d.replica != nil {
		return d.replica.told()
	}
	g := device.GPUMemory{UUID: d.handle.GPUs[0].UUID, Handle: d.handle.Weights[:], Size: d.handle.Size}
	switch c := d.rounds.setup.Job; {
	case c.Asked.AveragesGradients():
		g.Gradients = d.memory.layout.Slots[d.rounds.rank]
	case c.Asked.Mode.Traits().Barrier:
		g.Weights = d.memory.layout.Slots[d.rounds.rank]
	}
	return g
}

// errProgram is a mistake of the caller.
var errProgram = errors.New("cuda: the program takes the steps")

// Train fails: the program takes the steps.
func (d *meeting) Train([]plan.Chunk) ([]plan.ChunkResult, error) { return nil, errProgram }

// Steps has the program take the steps of a chunk.
func (d *meeting) Steps(c plan.Chunk, take device.Take) (plan.ChunkResult, error) {
	if d.replica != nil {
		return d.replica.steps(c, take)
	}
	return take(c)
}

// PreferredChunks is 1.
func (d *meeting) PreferredChunks() int { return 1 }

// Pull starts a round. The copy is complete when it returns, so that the program may begin.
func (d *meeting) Pull() error {
	if d.replica != nil {
		return d.replica.pull()
	}
	return d.within(d.rounds.pull)
}

// Average ends a round on this rank's slice of the weights. The programs have synchronized.
func (d *meeting) Average(r plan.Round) error { return d.rounds.Average(r) }

// Close gives back this process's part; the coordinator's memory stays.
func (d *meeting) Close() error {
	if d.gpu == nil {
		return nil
	}
	var err error
	if d.replica != nil {
		err = d.replica.close()
	}
	return keep(err, d.within(func() error {
		err := d.free()
		if d.isOpened {
			err = keep(err, closeMemory(d.memory.weights), d.close())
		}
		return err
	}))
}

func (d *meeting) free() error { return d.buffers.free() }
