package prepare

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/worker"
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
	b, err := worker.Backend(&r.Job.Asked)
	if err != nil {
		return err
	}
	if err := r.Own(b); err != nil {
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
