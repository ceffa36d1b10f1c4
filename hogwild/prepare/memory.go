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
	if r.Model, err = model.New(r.Job.TrainedOptions(r.Train), r.Train.Meta); err != nil {
		return config.Usage("%w", err)
	}
	r.Trained = r.Model.Params()
	if err := CheckMemory(r, model.Size(r.Trained)); err != nil {
		return err
	}
	if r.Mem, err = control.CreateDual(&r.Job, model.Size(r.Trained), r.Train.Rows); err != nil {
		return config.Usage("%w", err) // as of the data that do not fit
	}
	if err := own(r); err != nil {
		return err
	}
	sum, err := r.Mem.Seg.Checksum()
	if err != nil {
		return err
	}
	r.Announced = control.Header{Version: config.Version, Job: r.Job, Rows: r.Train.Rows,
		Weights: sum, Data: r.Train.Checksum, Device: r.Owner.Handle(), Start: control.Start{Epoch: 1},
		CPUProfile: r.Options.CPUProfile, Trace: r.Options.Trace}
	if r.Train.Grid > 0 {
		r.Announced.Blocks = data.NewGrid(r.Train, r.Train.Grid).Starts(r.Train)
	}
	r.Block, err = control.Create(r.Announced)
	return err
}

// own makes the memory where the weights are to be. If a GPU takes fewer steps at once than were expected, what depends
// on their number is decided anew, and the memory made for that.
func own(r *core.Run) error {
	err := r.Own()
	fit, o := r.Traits.InFlight, r.Owner
	if err != nil || fit == 0 || fit >= r.Job.Used.InFlight {
		return err
	}
	r.Machine.GPUs.Fit, r.Owner = fit, nil
	t, err := r.Choose(&r.Job.Asked, machine.Cores())
	if err = errors.Join(err, o.Close()); err != nil {
		return err
	}
	if r.Job.Used.InFlight = t.InFlight; !r.Several() { // nodes have agreed on all else
		r.Job.Used = t
	}
	return r.Own()
}
