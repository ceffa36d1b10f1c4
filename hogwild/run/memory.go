package run

import (
	"errors"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/internal/human"
	"hogwild/internal/machine"
)

// makeMemory makes the shared memory.
func makeMemory(r *core.Run) error {
	var err error
	if r.Task.Model, err = model.New(r.Job.TrainedOptions(r.Task.Train), r.Task.Train.Meta); err != nil {
		return config.Usage("%w", err)
	}
	r.Task.Trained = r.Task.Model.Params()
	if err := checkMemory(r, model.Size(r.Task.Trained)); err != nil {
		return err
	}
	common := model.Common(r.Task.Trained)
	if r.Mem.Weights, err = control.CreateFor(&r.Job, model.Size(r.Task.Trained), common.To-common.From,
		r.Task.Train.Rows); err != nil {
		return config.Usage("%w", err) // as of the data that do not fit
	}
	if err := ownMemory(r); err != nil {
		return err
	}
	sum, err := r.Mem.Weights.Seg.Checksum()
	if err != nil {
		return err
	}
	r.Mem.Announced = control.Header{Version: config.Version, Job: r.Job, Rows: r.Task.Train.Rows,
		Weights: sum, Data: r.Task.Train.Checksum, Device: r.Mem.Owner.Handle(), Start: control.Start{Epoch: 1},
		CPUProfile: r.Options.CPUProfile, Trace: r.Options.Trace}
	if r.Task.Train.Grid > 0 {
		r.Mem.Announced.Blocks = data.NewGrid(r.Task.Train, r.Task.Train.Grid).Blocks(r.Task.Train)
	}
	r.Mem.Block, err = control.Create(r.Mem.Announced)
	return err
}

// checkMemory refuses a number of weights that memory has no room for: with the optimizers' state, shared and in
// the copy that is saved, and what each worker has of its own or between two merges.
func checkMemory(r *core.Run, p int) error {
	c := &r.Job
	copies := 2 * (1 + c.Asked.Optimizers()*c.Asked.Optimizer.Slots())
	if c.Asked.Mode.Traits().Barrier {
		copies += c.Asked.Workers
	} else if c.Used.MergeEvery > 1 {
		copies += 2 * c.Asked.Workers
	}
	if c.Asked.Mode.Grid > 0 { // each worker's of two ranges
		copies += plan.CeilDiv(2*c.Asked.Workers, c.Asked.Mode.Grid)
	}
	if c.Asked.Program != "" {
		copies++ // it maps one
	}
	need := min(4*float64(p)*float64(copies), math.MaxInt64/2) // some are more than an int64 counts
	if err := r.Task.Sets.MayTake(c.Asked.MemoryLimit(), int64(need), "model "+c.Asked.Model,
		human.Count(int64(p))+" weights"); err != nil {
		return config.Usage("%w", err)
	}
	return nil
}

// ownMemory makes the memory where the weights are to be. If a GPU takes fewer steps at once than were expected, what
// depends on their number is decided anew, and the memory made for that.
func ownMemory(r *core.Run) error {
	err := r.Own()
	fit, o := r.Mem.Traits.InFlight, r.Mem.Owner
	if err != nil || fit == 0 || fit >= r.Job.Used.InFlight {
		return err
	}
	r.Task.Machine.GPUs.Fit, r.Mem.Owner = fit, nil
	t, err := r.Choose(&r.Job.Asked, machine.Cores())
	if err = errors.Join(err, o.Close()); err != nil {
		return err
	}
	if r.Job.Used.InFlight = t.InFlight; !r.Several() { // nodes have agreed on all else
		r.Job.Used = t
	}
	return r.Own()
}
