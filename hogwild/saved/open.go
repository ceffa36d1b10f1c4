package saved

import (
	"cmp"
	"errors"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/format"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
)

// Description says of weights that another program has saved what a file of hogwild says itself: their model, and the
// data that they were trained on. Only the classes, columns and scaling of those data count, not the rows.
type Description struct {
	Model  string
	Loss   string // "" = as the model and the labels have it
	NoBias bool
	Train  string // the training data, or others that are alike
	Format string // of these; "" = auto
	Target string // of these, the column that is predicted
	Ignore string // the columns that are left out
	Scale  string // of the inputs; "" = auto
}

// Open reads saved weights: a weights.safetensors or a run folder. Errors match ErrUsage when
// it is not what it should be.
func Open(path string) (*Saved, error) { return OpenAs(path, Description{}) }

// OpenAs opens weights that another program has saved, as safetensors or by torch.save. For a run's weights the
// description is empty.
func OpenAs(path string, d Description) (*Saved, error) {
	if err := workers.Ready(); err != nil {
		return nil, err
	}
	f, err := rundir.ReadWeights(path, 0)
	switch {
	case err != nil:
		return nil, err
	case f.Saved == nil:
		return described(f, d)
	case d.Model != "" || d.Loss != "" || d.NoBias || d.Train != "" || d.Ignore != "" || d.Scale != "":
		return nil, config.Usage("%s records its own model and data: leave model, loss, no-bias, train, ignore and "+
			"scale out", f.Path)
	}
	return opened(f.Saved, f.Path)
}

// opened returns the model of a file of this program.
func opened(f *rundir.Saved, path string) (*Saved, error) {
	s := &Saved{path: path, name: f.Job.Asked.Model, meta: f.Meta, config: f.Job.Asked}
	options := f.Job.Asked.ModelOptions()
	spec, err1 := model.Resolve(options, f.Meta)
	s.loss = spec.Loss
	var err2, err3, err4 error
	if s.model, err2 = model.New(options, f.Meta); err2 == nil {
		s.w, err3 = f.Weights(s.model.Params())
	}
	s.places, err4 = s.meta.Places(format.NewBudget(0))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, config.Usage("%s: %w", path, err)
	}
	return s, nil
}

// described returns the model of weights that others have saved.
func described(f *rundir.Weights, d Description) (*Saved, error) {
	if d.Model == "" || d.Train == "" {
		return nil, config.Usage("%s: hogwild did not write it, and it does not say which model and data it is of: "+
			"add --model (such as mlp:128) and --train, the training data, which tell classes and scaling (eval "+
			"takes them from --data if --train is missing)", f.Path)
	}
	c := config.Default()
	c.Model, c.Loss, c.Bias = d.Model, d.Loss, !d.NoBias
	// all rows count: none are held out
	c.Data, c.Test, c.Target, c.Ignore, c.Validation = d.Train, d.Train, d.Target, d.Ignore, config.NoValidation
	c.Format, c.Scale = cmp.Or(d.Format, c.Format), cmp.Or(d.Scale, c.Scale)
	sets, err := c.ReadSets(data.Options{Unjudged: true})
	if err != nil {
		return nil, err
	}
	defer sets.Close()
	if err := c.CheckIdle(&sets.Train.Meta); err != nil {
		return nil, err
	}
	meta := sets.Train.Meta
	spec, err := model.Resolve(c.ModelOptions(), meta)
	if err != nil {
		return nil, config.Usage("%w", err)
	}
	c.Model, c.Loss = spec.Name, string(spec.Loss)
	m := spec.New()
	fit, err := f.Fit(spec.Name, m.Params(), nil, false, "give the --model that they were trained with")
	if err != nil {
		return nil, err
	}
	s := &Saved{path: f.Path, name: spec.Name, loss: spec.Loss, model: m, w: make([]float32, model.Size(m.Params())),
		meta: meta, config: c}
	if s.places, err = meta.Places(format.NewBudget(0)); err != nil {
		return nil, err
	}
	return s, fit.Into(m.Params(), s.w)
}
