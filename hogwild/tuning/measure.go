package tuning

import (
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// Measure is the only one that looks at the data. What only some settings need is measured for
// those alone; the model is the plain one.
func Measure(c *config.Config, spec model.Spec, m model.Model, set *data.Set) Facts {
	f := FactsOf(m, set)
	if !spec.Family().Layered() || set.Kind == data.Pairs {
		return f
	}
	sample := sampleRows(set)
	lambda := func(mu []float32, ones float64) float64 {
		return eigenvalue(sample.Rows, set.Features, mu, ones, c.Seed)
	}
	if set.Kind == data.Sparse && scalesBias(c, spec) {
		f.FeaturesLambda = lambda(nil, 0)
	}
	ones := 0.0
	if c.Bias {
		ones = math.Sqrt(biasStep(c, f))
	}
	f.RawLambda = lambda(nil, ones)
	if triesCentring(c, spec, set.Kind) {
		f.CenteredLambda = lambda(set.Mean, ones)
	}
	mu, used := []float32(nil), f.RawLambda
	if centers(c, f) {
		mu, used = set.Mean, f.CenteredLambda
	}
	f.RowNorm = rowNorm(manyRows(set).Rows, set.Features, mu, ones, used, c.Seed)
	f.Trace = trace(sample.Rows, mu, ones)
	f.Squares = squaredNorm(sample.Rows, set.Features, mu, ones, used)
	f.Curvature = lossCurvature(spec.Loss, model.ClassShares(sample.Y, len(set.Classes)))
	return f
}

// deviation is the standard deviation of y.
func deviation(y []float32) float64 {
	var mean, square float64
	for i, v := range y {
		d := float64(v) - mean
		mean += d / float64(i+1)
		square += d * (float64(v) - mean)
	}
	return math.Sqrt(square / float64(max(len(y), 1)))
}

// FactsOf are the facts that need no measuring.
func FactsOf(m model.Model, set *data.Set) Facts {
	f := Facts{Kind: set.Kind, Rows: set.Rows, Features: set.Features, Shape: set.Shape,
		Weights: model.Size(m.Params())}
	if set.Classes == nil {
		f.Deviation = deviation(set.Y)
	}
	if s, ok := m.(model.HalfStepper); ok {
		f.Steps, f.Copied = s.Suits(set)
	}
	return f
}
