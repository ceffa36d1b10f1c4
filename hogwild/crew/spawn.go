package crew

import (
	"fmt"
	"os"

	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/device"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
)

// Spawn starts the worker of a rank.
func (r *Crew) Spawn(rank int) error {
	r.Block.SetRank(rank, control.RankState, control.StateStarting)
	r.Block.SetRank(rank, control.RankThread, 0)
	r.Block.SetRank(rank, control.RankProgram, 0)
	if r.Traits.Inside {
		return r.spawnInside(rank)
	}
	var log *workers.Log
	if r.Logs != nil {
		log = r.Logs(rank)
	}
	p, err := r.Workers.Start(rank, []*os.File{r.Block.Seg.File(), r.Mem.Seg.File(), r.Train.File()}, log)
	if err == nil {
		r.Block.SetRank(rank, control.RankPID, uint64(p.PID()))
	}
	return err
}

// spawnInside starts a worker in this process. An error of its ends the run: a GPU that has
// failed is lost for the whole process, so that another worker here would fail too.
func (r *Crew) spawnInside(rank int) error {
	d, err := core.AskFor(r.Memory, r.Patient(), func() (device.Device, error) { return r.Owner.Device(rank) })
	if err != nil {
		return core.OnDevice(err)
	}
	w := worker.New(rank, r.Block, d)
	profiles := &control.Header{CPUProfile: r.Options.CPUProfile, Trace: r.Options.Trace}
	r.Background.Go(func() {
		if err := worker.Profile(profiles, w.Run); err != nil {
			r.Workers.Failed(rank, fmt.Errorf("worker %d: %w", rank, err))
		}
	})
	return nil
}

// startStates gives each new worker an optimizer's state. In sync mode, where all are at rest,
// it is worker 0's: it has seen as much as the weights have. In async it begins with none.
func (r *Crew) startStates(from int) {
	if !r.Job.Asked.PrivateState() {
		return
	}
	for rank := from; rank < r.Job.Asked.Workers; rank++ {
		o := r.Mem.Optimizers[rank]
		*o.Steps = 0
		if r.Block.Plan.Barrier {
			*o.Steps = *r.Mem.Optimizers[0].Steps
		}
		for i := range o.Slots {
			clear(o.Slots[i])
			if r.Block.Plan.Barrier {
				copy(o.Slots[i], r.Mem.Optimizers[0].Slots[i])
			}
		}
	}
}

// mayStartInside reports whether the rank of a worker that cannot start may be tried here. A program is another process
// in any case.
func (r *Crew) mayStartInside() bool {
	return r.Traits.Driver && r.Job.Asked.Workers == 1 && r.Job.Asked.Program == ""
}
