package run

import (
	"encoding/json"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
)

// givenWeights writes the weights of --init over the first weights of a new run. They are plain ones: in the local form
// of a model that centres these are V and k, while s is zero. Of several nodes the first reads the file.
func (r *epochs) givenWeights() error {
	if r.job.Asked.Init == "" {
		return nil
	}
	started, err := r.peers.Share(func() ([]byte, error) {
		if err := r.readGiven(); err != nil {
			return nil, err
		}
		return json.Marshal(r.position.Init)
	})
	if err == nil {
		err = json.Unmarshal(started, &r.position.Init)
	}
	if err == nil {
		err = r.peers.ShareNumbers(r.mem.W)
	}
	return err
}

// lookAtGiven reads the file of --init before the data, which may take minutes.
func (r *task) lookAtGiven() (err error) {
	if r.job.Asked.Init != "" && r.peers.First() {
		if r.given, err = rundir.ReadWeights(r.job.Asked.Init, r.job.Asked.MemoryLimit()); err != nil {
			return config.Usage("init: %w", err)
		}
	}
	return nil
}

// readGiven writes what fits of the file of --init over the weights.
func (r *epochs) readGiven() error {
	f := r.given
	r.given = nil
	fit, err := f.Fit(r.job.Asked.Model, r.params, r.job.Asked.Layout, r.job.Asked.InitPartial, "train the model that the file is of, or add --init-partial, which takes what fits")
	if err != nil {
		return err
	}
	if err := fit.Into(r.trained, r.mem.W); err != nil {
		return err
	}
	r.position.Init = &fit.Started
	for _, line := range append([]string{"init: " + fit.Text()}, fit.Lines...) {
		r.report.Say(line)
	}
	r.noteOtherInputs(f.Saved, &r.train.Meta)
	return nil
}

// noteOtherInputs says that weights of another run have learned from inputs or classes that are not those of this one.
func (r *epochs) noteOtherInputs(from *rundir.Saved, now *data.Meta) {
	switch {
	case from == nil || from.Job.Asked.Layout != nil:
	case !from.Meta.ScaledAlike(now):
		r.report.Event("init: those weights were trained on inputs with another scaling than this run's")
	case len(from.Meta.Classes) == len(now.Classes) && !slices.Equal(from.Meta.Classes, now.Classes):
		r.report.Event("init: the outputs of those weights are other classes than this run's")
	}
}
