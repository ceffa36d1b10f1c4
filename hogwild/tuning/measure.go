package tuning

import (
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// Measure returns the Facts of the data and of the model on them. What only some settings need is measured for
// those alone; the model is the plain one.
func Measure(c *config.Config, spec model.Spec, m model.Model, set *data.Set) Facts {
	f := FactsOf(m, set)
	if !spec.Family().Layered || set.Entries() {
		return f
	}
	sample, centres := sampleRows(set), triesCentring(c, spec, set.Kind)
	few, many := inputs{rows: sample.Rows, d: set.Features}, inputs{rows: manyRows(set).Rows, d: set.Features}
	if !centres { // else every column has a mean
		many.rows, many.d = occurring(many.rows, many.d)
		few.rows, few.d = many.rows[:len(few.rows)], many.d
	}
	v := few.direction(c.Seed)
	if set.Sparse() && scalesBias(c, spec) {
		f.FeaturesLambda = few.eigenvalue(v)
	}
	if c.Bias {
		few.ones = math.Sqrt(biasStep(c, f))
	}
	f.RawLambda = few.eigenvalue(v)
	used := f.RawLambda
	if centres {
		centred, u := few, few.direction(c.Seed)
		centred.mu = set.Mean
		f.CenteredLambda = centred.eigenvalue(u)
		if centers(c, f) {
			few, used, v = centred, f.CenteredLambda, u
		}
	}
	many.mu, many.ones = few.mu, few.ones
	f.Trace = few.trace()
	f.Squares = few.squaredNorm(used)
	f.RowNorm = many.rowNorm(used, v)
	if f.SupportsCopy && f.Weights >= leastRare && f.Weights <= MaxCopied && c.AsyncOnCores() {
		_, f.Rare = Frequent(set, used)
	}
	f.Curvature = lossCurvature(spec.Loss, model.ClassShares(sample.Y, len(set.Classes)))
	return f
}

// FactsOf returns the facts that need no measuring.
func FactsOf(m model.Model, set *data.Set) Facts {
	f := Facts{Kind: set.Kind, Rows: set.Rows, Features: set.Features, Shape: set.Shape, Heavy: set.Heavy(),
		Weights: model.Size(m.Params())}
	if rare := 0; set.Sparse() && set.Columns != nil {
		for _, share := range set.Freq {
			if share < .01 {
				rare++
				f.Often += float64(share)
			}
		}
		f.Often *= float64(set.Rows) / float64(max(rare, 1))
	}
	_, f.HotRowsFirst = m.(model.Ranked)
	if s, ok := m.(model.Stepper); ok {
		f.HasStepper, f.SupportsCopy = s.Suits(set)
	}
	f.SupportsCopy = f.SupportsCopy || model.SuitsDual(m, set)
	return f
}
