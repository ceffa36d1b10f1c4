package run

import (
	"errors"
	"os"
	"path/filepath"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// Saved are the weights of a run, read back with their model. It serves one goroutine.
type Saved struct {
	name   string
	model  model.Model
	w      []float32
	meta   data.Meta
	config config.Config // of the run
}

// Open reads saved weights: a weights.safetensors or a run folder. Errors match ErrUsage when
// it is not what it should be.
func Open(path string) (*Saved, error) {
	if err := ready(); err != nil {
		return nil, err
	}
	s, err := open(weightsFile(path))
	if err != nil {
		return nil, err
	}
	if _, ok := s.model.(model.Predictor); !ok {
		return nil, config.Usage("%s: the model %s has no predictions: linear models, perceptrons and convolutional networks have, and a program's own with a method Predict", path, s.name)
	}
	return s, nil
}

// Classes are the labels of the classes, as the training data had them; nil for values.
func (s *Saved) Classes() []string { return s.meta.Classes }

// Predict is what each row of inputs, one number a feature as in the training data before they were
// scaled, is taken for: the index of its class, or a value.
func (s *Saved) Predict(rows ...[]float32) ([]float32, error) {
	b := &data.Batch{Features: s.meta.Features, Y: make([]float32, len(rows))}
	for i, x := range rows {
		if len(x) != s.meta.Features {
			return nil, config.Usage("row %d has %d inputs, the model %d", i, len(x), s.meta.Features)
		}
		b.Rows = append(b.Rows, data.Row{Val: s.meta.Scaled(x)})
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return s.model.(model.Predictor).Predict(s.w, b, nil), nil
}

// weightsFile is the file of weights of a run folder; another path is one.
func weightsFile(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, rundir.WeightsFile)
	}
	return path
}

func open(path string) (*Saved, error) {
	f, err := rundir.ReadSaved(path)
	if err != nil {
		return nil, config.Usage("%w", err)
	}
	s := &Saved{name: f.Config.Model, meta: f.Meta, config: f.Config.Config}
	var errs [2]error
	if s.model, errs[0] = model.New(f.Config.ModelOptions(), f.Meta); errs[0] == nil {
		s.w, errs[1] = f.Weights(s.model.Params())
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, config.Usage("%s: %w", path, err)
	}
	return s, nil
}
