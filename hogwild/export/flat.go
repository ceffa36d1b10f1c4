package export

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
)

// flat is a linear model on inputs as they are: z = W x + bias, with the scaling of the inputs in W and bias.
type flat struct {
	model.Spec
	weight  [][]float64 // of each output, one for each feature
	bias    []float64   // of each output
	biased  bool        // false: each bias is zero
	classes []string
	source  string // the training data
	first   int    // the number of the first feature: 0 or 1
}

// flatten refuses models that are not linear; format and program are for the error.
func flatten(s *run.Saved, format, program string) (*flat, error) {
	spec, meta := s.Spec(), s.Meta()
	switch spec.Family() {
	case model.Linear:
	case model.Perceptron, model.Convolutional:
		return nil, config.Usage("%s: %s loads linear models only, and the model is %s: use --to onnx", format, program, s.Model())
	case model.Factor, model.Cut:
		return nil, config.Usage("%s: %s loads linear models only, and the model is %s: use --to npy, one array per tensor", format, program, s.Model())
	default:
		return nil, foreign(s, format, "export it there")
	}
	f := &flat{Spec: spec, biased: spec.Bias || len(meta.Add) > 0, bias: make([]float64, spec.Outputs), classes: meta.Classes, source: meta.Name, first: 1}
	if meta.ZeroBased() {
		f.first = 0
	}
	tensors := s.Tensors()
	if spec.Bias {
		for k, b := range tensors[1].Values {
			f.bias[k] = float64(b)
		}
	}
	for k := range spec.Outputs {
		row := make([]float64, spec.Features)
		for j, w := range tensors[0].Values[k*spec.Features : (k+1)*spec.Features] {
			f.bias[k] += float64(w) * float64(of(meta.Add, j, 0))
			row[j] = float64(w) * float64(of(meta.Mul, j, 1))
		}
		f.weight = append(f.weight, row)
	}
	return f, nil
}

// foreign refuses a model that only a program of the user's computes.
func foreign(s *run.Saved, format, cure string) error {
	if s.Model() == model.ProgramName {
		return config.Usage("%s: the module is in a program, and only that can compute it: %s, or --to npy here", format, cure)
	}
	return config.Usage("%s: the model %s is custom code, which is not saved with the weights: use --to npy, one array per tensor", format, s.Model())
}

// of is the scaling of feature j: values has one for each, one for all, or none.
func of(values []float32, j int, none float32) float32 {
	switch len(values) {
	case 0:
		return none
	case 1:
		return values[0]
	}
	return values[j]
}
