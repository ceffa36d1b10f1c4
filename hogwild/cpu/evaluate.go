package cpu

import (
	"sync"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

const evalBatch = 256 // rows; the result does not depend on it

// Evaluate adds up loss and errors of weights w over a whole set, by as many goroutines as
// there are models. The sum does not depend on their number.
func Evaluate(models []model.Model, w []float32, set *data.Set) (sum model.Score) {
	scores := make([]model.Score, plan.CeilDiv(set.Rows, evalBatch))
	var busy sync.WaitGroup
	for first, m := range models {
		busy.Go(func() {
			reader := set.NewReader()
			rows := make([]int32, 0, evalBatch)
			for i := first; i < len(scores); i += len(models) {
				rows = rows[:0]
				for j := i * evalBatch; j < min((i+1)*evalBatch, set.Rows); j++ {
					rows = append(rows, int32(j))
				}
				scores[i] = m.Eval(w, reader.Batch(rows))
			}
		})
	}
	busy.Wait()
	for _, s := range scores {
		sum.Add(s, 1)
	}
	return sum
}
