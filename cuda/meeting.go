//go:build cuda

package cuda

import (
	"errors"

	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
)

// meeting is the Device of a rank whose steps a program takes. The program opens the weights by itself:
// here is what it has to be told for that, and in barrier mode the rounds. In async mode
// this process does nothing on the GPU, so it has no context there, which would take
// hundreds of MiB.
type meeting struct {
	*gpu     // nil: async mode
	handle   *runHandle
	memory   *memory
	rounds   averager
	buffers  blocks
	isOpened bool // the memory is the coordinator's
}

// joinMeeting is Join, for a rank with a program.
func joinMeeting(s *device.Setup, rank int, m *memory, h *runHandle) (*meeting, error) {
	if !s.Job.Asked.Mode.Traits().Barrier {
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
	return d, err
}

func newMeeting(s *device.Setup, c *gpu, m *memory, rank int) (*meeting, error) {
	d := &meeting{gpu: c, memory: m, rounds: averager{gpu: c, setup: s, memory: m, rank: rank}}
	return d, d.rounds.open(&d.buffers)
}

// GPUMemory returns what this rank's program is told of the memory.
func (d *meeting) GPUMemory() device.GPUMemory {
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

// PreferredChunks is 1.
func (d *meeting) PreferredChunks() int { return 1 }

// Pull starts a round. The copy is complete when it returns, so that the program may begin.
func (d *meeting) Pull() error { return d.within(d.rounds.pull) }

// Average ends a round on this rank's slice of the weights. The programs have synchronized.
func (d *meeting) Average(r plan.Round) error { return d.rounds.Average(r) }

// Close gives back this process's part; the coordinator's memory stays.
func (d *meeting) Close() error {
	if d.gpu == nil {
		return nil
	}
	return d.within(func() error {
		err := d.free()
		if d.isOpened {
			err = keep(err, closeMemory(d.memory.weights), d.close())
		}
		return err
	})
}

func (d *meeting) free() error { return d.buffers.free() }
