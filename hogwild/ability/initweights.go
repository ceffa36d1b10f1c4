package ability

import (
	"encoding/json"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
)

// InitWeights begins a run with the weights of a file or of another run.
func InitWeights() core.Ability { return &initWeights{} }

type initWeights struct {
	given *rundir.Weights // until they are the first ones
}

// Handle reads the file before the data, which may take minutes, and writes its weights over the first ones.
func (a *initWeights) Handle(r *core.Run, e core.Event) (err error) {
	if r.Job.Asked.Init == "" {
		return nil
	}
	switch e.(type) {
	case *core.Reading:
		r.Hooks.Init = func() error { return a.share(r) }
		if !r.Peers.First() {
			return nil
		}
		if a.given, err = rundir.ReadWeights(r.Job.Asked.Init, r.Job.Asked.MemoryLimit()); err != nil {
			return config.Usage("init: %w", err)
		}
	}
	return nil
}

// share writes the given weights over the first ones of a new run. They are plain ones: in the local form
// of a model that centres these are V and k, while s is zero. Of several nodes the first reads the file.
func (a *initWeights) share(r *core.Run) error {
	started, err := r.Peers.Share(func() ([]byte, error) {
		if err := a.write(r); err != nil {
			return nil, err
		}
		return json.Marshal(r.Position.Init)
	})
	if err == nil {
		err = json.Unmarshal(started, &r.Position.Init)
	}
	if err == nil {
		err = r.Peers.ShareNumbers(r.Mem.Weights.W)
	}
	return err
}

// write writes what fits of the file over the weights.
func (a *initWeights) write(r *core.Run) error {
	f := a.given
	a.given = nil
	named, by, err := takeByName(r, f)
	if err != nil {
		return err
	}
	scaled := f.Saved == nil || f.Saved.Job.Asked.Layout != nil || r.Job.Asked.Layout != nil ||
		data.ScaledLike(&r.Task.Train.Meta, &f.Saved.Meta, by.columns.places())
	rescaled := false
	if !scaled {
		if rescaled, err = rescale(r, f, &by); err != nil {
			return err
		}
	}
	fit, err := f.Fit(r.Job.Asked.Model, r.Task.Params, r.Job.Asked.Layout, r.Job.Asked.InitPartial,
		"train the model that the file is of, or add --init-partial, which takes what fits")
	if err != nil {
		return err
	}
	if err := fit.Into(r.Task.Trained, r.Mem.Weights.W); err != nil {
		return err
	}
	r.Position.Init = &fit.InitFrom
	for _, line := range append([]string{"init: " + fit.Text()}, fit.Lines...) {
		r.Report.Say(line)
	}
	if named != "" {
		r.Report.Say(named)
	}
	switch {
	case rescaled:
		r.Report.Say("init: the first layer is converted to this run's scaling of inputs")
	case !scaled:
		r.Report.Event("init: those weights were trained on inputs with another scaling than this run's")
	}
	return nil
}
