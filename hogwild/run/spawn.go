package run

import (
	"fmt"
	"os"

	"hogwild/hogwild/control"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
)

// spawn starts the worker of a rank.
func (r *crew) spawn(rank int) error {
	r.Mem.Block.SetRank(rank, control.RankState, control.StateStarting)
	r.Mem.Block.SetRank(rank, control.RankThread, 0)
	r.Mem.Block.SetRank(rank, control.RankProgram, 0)
	if r.Mem.Traits.Inside {
		return r.spawnInside(rank)
	}
	var log *workers.Log
	if p := r.Hooks.Program; p != nil {
		log = p.Log(rank)
	}
	files := []*os.File{r.Mem.Block.Seg.File(), r.Mem.Weights.Seg.File(), r.Task.Train.File()}
	p, err := r.Mem.Workers.Start(rank, files, log)
	if err == nil {
		r.Mem.Block.SetRank(rank, control.RankPID, uint64(p.PID()))
	}
	return err
}

// spawnInside starts a worker in this process. An error of its ends the run: a GPU that has
// failed is lost for the whole process, so that another worker here would fail too.
func (r *crew) spawnInside(rank int) error {
	d, err := r.Mem.Device(rank)
	if err != nil {
		return err
	}
	w := worker.New(rank, r.Mem.Block, d)
	profiles := &control.Header{CPUProfile: r.Options.CPUProfile, Trace: r.Options.Trace}
	r.Mem.Background.Go(func() {
		if err := worker.Profile(profiles, w.Run); err != nil {
			r.Mem.Workers.Failed(rank, fmt.Errorf("worker %d: %w", rank, err))
		}
	})
	return nil
}

// startStates gives each new worker an optimizer's state. In sync mode, where all are at rest,
// it is worker 0's: it has seen as much as the weights have. In async it begins with none.
func (r *crew) startStates(from int) {
	if !r.Job.Asked.PrivateState() {
		return
	}
	for rank := from; rank < r.Job.Asked.Workers; rank++ {
		o := r.Mem.Weights.Optimizers[rank]
		*o.Steps = 0
		if r.Mem.Block.Plan.Barrier {
			*o.Steps = *r.Mem.Weights.Optimizers[0].Steps
		}
		for i := range o.Slots {
			clear(o.Slots[i])
			if r.Mem.Block.Plan.Barrier {
				copy(o.Slots[i], r.Mem.Weights.Optimizers[0].Slots[i])
			}
		}
	}
}

// mayStartInside reports whether the rank of a worker that cannot start may be tried here. A program is another process
// in any case.
func (r *crew) mayStartInside() bool {
	return r.Mem.Traits.Driver && r.Job.Asked.Workers == 1 && r.Job.Asked.Program == ""
}
