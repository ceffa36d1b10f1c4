package cpu

import (
	"cmp"
	"sync"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

const evalBatch = 256 // rows; the result does not depend on it

// Evaluate adds up loss and errors of weights w over a whole set, by as many goroutines as
// there are models. The sum does not depend on their number. It fails if a cache cannot be read.
func Evaluate(models []model.Model, w []float32, set *data.Set) (sum model.Score, err error) {
	scores := make([]model.Score, batches(set))
	err = eachBatch(models, set, func(m model.Model, i int, b *data.Batch) { scores[i] = m.Eval(w, b) })
	for _, s := range scores {
		sum.Add(s, 1)
	}
	return sum, err
}

// Predict is what weights w make of each row of a set; nil for a model that makes no predictions.
func Predict(models []model.Model, w []float32, set *data.Set) ([]float32, error) {
	if _, ok := models[0].(model.Predictor); !ok {
		return nil, nil
	}
	all := make([]float32, set.Rows)
	err := eachBatch(models, set, func(m model.Model, i int, b *data.Batch) {
		copy(all[i*evalBatch:], m.(model.Predictor).Predict(w, b, nil))
	})
	return all, err
}

func batches(set *data.Set) int { return plan.CeilDiv(set.Rows, evalBatch) }

// eachBatch calls f with every batch of a set, in as many goroutines as there are models.
func eachBatch(models []model.Model, set *data.Set, f func(m model.Model, i int, b *data.Batch)) error {
	var busy sync.WaitGroup
	errs := make([]error, len(models))
	for first, m := range models {
		some := func() {
			reader := set.NewReader()
			rows := make([]int32, 0, evalBatch)
			for i := first; i < batches(set); i += len(models) {
				rows = rows[:0]
				for j := i * evalBatch; j < min((i+1)*evalBatch, set.Rows); j++ {
					rows = append(rows, int32(j))
				}
				f(m, i, reader.Batch(rows))
			}
		}
		busy.Go(func() { errs[first] = set.Guard(some) })
	}
	busy.Wait()
	return cmp.Or(errs...)
}
