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

// evaluate does Evaluate over a part of a set.
func evaluate(models []model.Model, w []float32, of part) (sum model.Score, err error) {
	scores := make([]model.Score, of.batches())
	err = of.eachBatch(models, func(m model.Model, i int, batch func() *data.Batch) {
		if m, ok := m.(model.RowEvaluator); ok {
			from, to := of.batch(i)
			if scores[i], ok = m.EvalRows(w, of.set, from, to); ok {
				return
			}
		}
		scores[i] = m.Eval(w, batch())
	})
	for _, s := range scores {
		sum.Add(s, 1)
	}
	return sum, err
}

// Predict returns the predictions of weights w for the rows of a set; nil for a model that makes none. Of two classes
// it also returns the log odds of the second one; nil for a model that knows none.
func Predict(models []model.Model, w []float32, set *data.Set) (all []float32, odds []float64, err error) {
	if _, ok := models[0].(model.Predictor); !ok {
		return nil, nil, nil
	}
	all = make([]float32, set.Rows)
	if _, ok := models[0].(model.Prober); ok && len(set.Classes) == 2 {
		odds = make([]float64, set.Rows)
	}
	err = part{set: set, to: set.Rows}.eachBatch(models, func(m model.Model, i int, batch func() *data.Batch) {
		from, b := i*evalBatch, batch()
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

// Within reports for each row of a set whether its class is among the k that weights w find most probable.
func Within(models []model.Model, w []float32, set *data.Set, k int) ([]bool, error) {
	all, classes := make([]bool, set.Rows), len(set.Classes)
	err := part{set: set, to: set.Rows}.eachBatch(models, func(m model.Model, i int, batch func() *data.Batch) {
		b := batch()
		p := m.(model.Prober).Probabilities(w, b, nil)
		for j, y := range b.Y {
			row, above := p[j*classes:(j+1)*classes], 0
			for c, v := range row {
				if own := row[int(y)]; v > own || v == own && c < int(y) {
					above++
				}
			}
			all[i*evalBatch+j] = above < k
		}
	})
	return all, err
}

// part is some rows of a set.
type part struct {
	set      *data.Set
	from, to int    // [from, to)
	spare    *spare // nil: all cores are free
}

func (p part) batches() int { return plan.CeilDiv(p.to-p.from, evalBatch) }

// batch returns where its i-th batch begins and ends.
func (p part) batch(i int) (from, to int) {
	from = p.from + i*evalBatch
	return from, min(from+evalBatch, p.to)
}

// eachBatch calls f for every batch of a part, which it may form, in as many goroutines as there are models.
func (p part) eachBatch(models []model.Model, f func(m model.Model, i int, batch func() *data.Batch)) error {
	type reader struct {
		*data.Reader
		list []int32
	}
	readers := make([]reader, len(models))
	for i := range readers {
		readers[i] = reader{p.set.NewReader(), make([]int32, 0, evalBatch)}
	}
	return p.spare.each(len(models), p.batches(), p.set.Guard, func(g, i int) {
		f(models[g], i, func() *data.Batch {
			r := &readers[g]
			r.list = r.list[:0]
			from, to := p.batch(i)
			for j := from; j < to; j++ {
				r.list = append(r.list, int32(j))
			}
			return r.Batch(r.list)
		})
	})
}
