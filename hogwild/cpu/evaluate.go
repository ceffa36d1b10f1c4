package cpu

import (
	"math"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

const evalBatch = 256 // rows; the result does not depend on it

// Evaluate adds up loss and errors of weights w over a whole set, by as many goroutines as
// there are models. The sum does not depend on their number. It fails if a cache cannot be read.
func Evaluate(models []model.Model, w []float32, set *data.Set) (model.Score, error) {
	return evaluate(models, w, part{set: set, to: set.Rows})
}

// evaluate is Evaluate over a part of a set.
func evaluate(models []model.Model, w []float32, of part) (sum model.Score, err error) {
	scores := make([]model.Score, of.batches())
	err = of.eachBatch(models, func(m model.Model, i int, b *data.Batch) { scores[i] = m.Eval(w, b) })
	for _, s := range scores {
		sum.Add(s, 1)
	}
	return sum, err
}

// Predict is what weights w make of each row of a set; nil for a model that makes no predictions. Of two classes it is
// also the log odds of the second one; nil for a model that knows none.
func Predict(models []model.Model, w []float32, set *data.Set) (all []float32, odds []float64, err error) {
	if _, ok := models[0].(model.Predictor); !ok {
		return nil, nil, nil
	}
	all = make([]float32, set.Rows)
	if _, ok := models[0].(model.Prober); ok && len(set.Classes) == 2 {
		odds = make([]float64, set.Rows)
	}
	err = part{set: set, to: set.Rows}.eachBatch(models, func(m model.Model, i int, b *data.Batch) {
		from := i * evalBatch
		copy(all[from:], m.(model.Predictor).Predict(w, b, nil))
		if odds == nil {
			return
		}
		p := m.(model.Prober).Probabilities(w, b, nil)
		for j := range len(b.Y) {
			odds[from+j] = math.Log(float64(p[2*j+1])) - math.Log(float64(p[2*j]))
		}
	})
	return all, odds, err
}

// part is some rows of a set.
type part struct {
	set      *data.Set
	from, to int    // [from, to)
	spare    *spare // nil: all cores are free
}

func (p part) batches() int { return plan.CeilDiv(p.to-p.from, evalBatch) }

// eachBatch calls f with every batch of a part, in as many goroutines as there are models.
func (p part) eachBatch(models []model.Model, f func(m model.Model, i int, b *data.Batch)) error {
	type reader struct {
		*data.Reader
		list []int32
	}
	readers := make([]reader, len(models))
	for i := range readers {
		readers[i] = reader{p.set.NewReader(), make([]int32, 0, evalBatch)}
	}
	return p.spare.each(len(models), p.batches(), p.set.Guard, func(g, i int) {
		r := &readers[g]
		r.list = r.list[:0]
		for j := p.from + i*evalBatch; j < min(p.from+(i+1)*evalBatch, p.to); j++ {
			r.list = append(r.list, int32(j))
		}
		f(models[g], i, r.Batch(r.list))
	})
}
