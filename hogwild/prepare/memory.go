package prepare

import (
	"errors"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/machine"
)

// Memory makes the shared memory.
func Memory(r *core.Run) error {
	var err error
	if r.Task.Model, err = model.New(r.Job.TrainedOptions(r.Task.Train), r.Task.Train.Meta); err != nil {
		return config.Usage("%w", err)
	}
	r.Task.Trained = r.Task.Model.Params()
	if err := CheckMemory(r, model.Size(r.Task.Trained)); err != nil {
		return err
	}
	if r.Mem.Weights, err = control.CreateDual(&r.Job, model.Size(r.Task.Trained), r.Task.Train.Rows); err != nil {
		return config.Usage("%w", err) // as of the data that do not fit
	}
	if err := own(r); err != nil {
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
		r.Mem.Announced.Blocks = data.NewGrid(r.Task.Train, r.Task.Train.Grid).Starts(r.Task.Train)
	}
	r.Mem.Block, err = control.Create(r.Mem.Announced)
	return err
}

// own makes the memory where the weights are to be. If a GPU takes fewer steps at once than were expected, what depends
// on their number is decided anew, and the memory made for that.
func own(r *core.Run) error {
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
