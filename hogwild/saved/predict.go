package saved

import (
	"cmp"
	"math"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// Saved are the weights of a run, read back with their model. It serves one goroutine.
type Saved struct {
	path   string
	name   string
	loss   model.Loss // "" of a program's own model
	model  model.Model
	w      []float32
	meta   data.Meta
	config config.Config // of the run
	places data.Places   // of ids, for a model of pairs
}

// Tensor is one array of the weights, as weights.safetensors and PyTorch have it.
type Tensor struct {
	Name   string
	Shape  []int
	Values []float32 // the last dimension fastest
}

// Predictions are the predictions for some rows, in their order.
type Predictions struct {
	Values        []float32   // the number of its class, or a value; NaN where the row misses an input
	Probabilities []float32   // of each class, row after row; nil unless asked for
	IDs           [][2]uint32 // pairs: the row and the column of each value; 0 for texts
	Names         [][2]string // the same as the file spells them
	Heads         [2]string   // pairs: the names of the columns of ids
}

// Model returns the name of the model.
func (s *Saved) Model() string { return s.name }

// Classes returns the labels of the classes, as the training data had them; nil for values.
func (s *Saved) Classes() []string { return s.meta.Classes }

// Spec returns the model with nothing left open. Of a custom model and of a program's it has the name alone.
func (s *Saved) Spec() model.Spec {
	spec, _ := model.Resolve(s.config.ModelOptions(), s.meta) // worked when the weights were opened
	return spec
}

// Meta returns what is known of the training data: classes, columns and the scaling of the inputs.
func (s *Saved) Meta() data.Meta { return s.meta }

// Pairs reports whether the model predicts the values of pairs, of a row and a column.
func (s *Saved) Pairs() bool { return s.meta.Entries() }

// Tensors returns copies of the weights.
func (s *Saved) Tensors() []Tensor {
	var ts []Tensor
	ps := s.model.Params()
	for i, v := range model.Export(ps, s.w) {
		ts = append(ts, Tensor{Name: ps[i].Name, Shape: ps[i].Shape, Values: v})
	}
	return ts
}

// Predict predicts each row of inputs, which has one number per feature, as in the training data before
// scaling: the number of its class, or a value.
func (s *Saved) Predict(rows ...[]float32) ([]float32, error) {
	d := &data.Memory{Rows: make([]data.Row, len(rows))}
	for i, x := range rows {
		if len(x) != s.meta.Features {
			return nil, config.Usage("row %d has %d inputs, the model needs %d", i, len(x), s.meta.Features)
		}
		d.Rows[i].Val = x
	}
	return s.PredictData(d)
}

// PredictData predicts rows, dense or sparse, or pairs. Labels are ignored. Of a pair with an id that the training data
// lacks the value is NaN.
func (s *Saved) PredictData(d *data.Memory) ([]float32, error) {
	var all []float32
	err := s.predictMemory(d, false, func(p *Predictions) error {
		all = append(all, p.Values...)
		return nil
	})
	return all, err
}

// Probabilities returns the probability of each class for each row. It is an error for models that predict
// values, and for the hinge loss.
func (s *Saved) Probabilities(d *data.Memory) ([][]float32, error) {
	var all [][]float32
	k := len(s.meta.Classes)
	err := s.predictMemory(d, true, func(p *Predictions) error {
		for i := range p.Values {
			all = append(all, p.Probabilities[i*k:(i+1)*k:(i+1)*k])
		}
		return nil
	})
	return all, err
}

func (s *Saved) predictMemory(d *data.Memory, probabilities bool, do func(*Predictions) error) error {
	if len(d.Rows)+len(d.Pairs) == 0 {
		return s.CheckPredict(probabilities)
	}
	_, err := s.PredictFile(data.Inputs{Memory: d}, probabilities, do)
	return err
}

// PredictFile predicts the rows of a file in order and calls do with some of them at a time; do may keep them. Text is
// predicted as it arrives. Labels are ignored and may be missing. The notes say which rows have no prediction, and why.
// Errors match ErrUsage, except do's.
func (s *Saved) PredictFile(in data.Inputs, probabilities bool,
	do func(*Predictions) error) (notes []string, err error) {
	if err := s.CheckPredict(probabilities); err != nil {
		return nil, err
	}
	if err := config.CheckData(data.Options{Path: in.Path, Columns: in.Columns}, &s.meta); err != nil {
		return nil, err
	}
	var failed error
	in.Like, in.Was = s.meta, cmp.Or(s.config.Target, s.meta.Target)
	in.Places = s.places
	notes, err = data.Stream(in, func(p *data.Piece) error {
		failed = do(s.predict(p, probabilities))
		return failed
	})
	if err != nil && failed == nil {
		err = config.Usage("%w", err)
	}
	return notes, err
}

// CheckPredict returns an error if the model has no predictions, or no probabilities.
func (s *Saved) CheckPredict(probabilities bool) error {
	if s.config.Program != "" {
		return config.Usage("the model is a program, %s: load %s there to predict; docs/programs.md has the lines",
			s.config.Program, rundir.WeightsFile)
	}
	_, predicts := s.model.(model.Predictor)
	if !predicts && s.ranks() {
		return config.Usage("the model %s ranks candidates: --top 10 writes the ten best for each line of the data",
			s.name)
	}
	if !predicts {
		return config.Usage("the model %s cannot predict: linear models, perceptrons, convolutional networks and "+
			"factor models can, and custom models with a Predict method", s.name)
	}
	_, ok := s.model.(model.Prober)
	switch {
	case !probabilities || ok && (s.loss.Probable() || s.loss == ""):
		return nil
	case len(s.meta.Classes) == 0:
		return config.Usage("the model %s predicts values: there are no probabilities of classes", s.name)
	case s.loss == "":
		return config.Usage("the model %s has no probabilities: add a Probabilities method to it", s.name)
	}
	return config.Usage("the outputs of the model %s with the %s loss are not probabilities: train with the loss "+
		"logistic or cross-entropy", s.name, s.loss)
}

// ranks reports whether the model does.
func (s *Saved) ranks() bool {
	_, ranks := s.model.(model.Ranker)
	return ranks
}

// predict returns the predictions of a piece; NaN fills its gaps.
func (s *Saved) predict(p *data.Piece, probabilities bool) *Predictions {
	out := &Predictions{Values: make([]float32, 0, len(p.Gaps)), IDs: slices.Clone(p.IDs),
		Names: slices.Clone(p.Names), Heads: p.Heads}
	var got, probable []float32
	if len(p.Batch.Rows) > 0 {
		got = s.model.(model.Predictor).Predict(s.w, &p.Batch, nil)
		if probabilities {
			probable = s.model.(model.Prober).Probabilities(s.w, &p.Batch, nil)
		}
	}
	nan, k := float32(math.NaN()), len(s.meta.Classes)
	for _, gap := range p.Gaps {
		if !gap {
			out.Values, got = append(out.Values, got[0]), got[1:]
		} else {
			out.Values = append(out.Values, nan)
		}
		for c := 0; probabilities && c < k; c++ {
			if !gap {
				out.Probabilities, probable = append(out.Probabilities, probable[0]), probable[1:]
			} else {
				out.Probabilities = append(out.Probabilities, nan)
			}
		}
	}
	return out
}
