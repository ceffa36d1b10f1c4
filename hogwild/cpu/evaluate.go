package cpu

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

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

// Predict is what weights w make of each row of a set; nil for a model that makes no predictions.
func Predict(models []model.Model, w []float32, set *data.Set) ([]float32, error) {
	if _, ok := models[0].(model.Predictor); !ok {
		return nil, nil
	}
	all := make([]float32, set.Rows)
	err := part{set: set, to: set.Rows}.eachBatch(models, func(m model.Model, i int, b *data.Batch) {
		copy(all[i*evalBatch:], m.(model.Predictor).Predict(w, b, nil))
	})
	return all, err
}

// part is some rows of a set.
type part struct {
	set      *data.Set
	from, to int // [from, to)
	yields   bool
}

func (p part) batches() int { return plan.CeilDiv(p.to-p.from, evalBatch) }

// eachBatch calls f with every batch of a part, in as many goroutines as there are models. Each takes the next
// batch that is left: one may have a core for itself, and another little of one.
func (p part) eachBatch(models []model.Model, f func(m model.Model, i int, b *data.Batch)) error {
	var busy sync.WaitGroup
	var taken atomic.Int64
	errs := make([]error, len(models))
	for number, m := range models {
		some := func() {
			reader := p.set.NewReader()
			list := make([]int32, 0, evalBatch)
			for i := int(taken.Add(1)) - 1; i < p.batches(); i = int(taken.Add(1)) - 1 {
				list = list[:0]
				for j := p.from + i*evalBatch; j < min(p.from+(i+1)*evalBatch, p.to); j++ {
					list = append(list, int32(j))
				}
				f(m, i, reader.Batch(list))
			}
		}
		busy.Go(func() {
			if p.yields {
				stepBack()
			}
			errs[number] = p.set.Guard(some)
		})
	}
	busy.Wait()
	return cmp.Or(errs...)
}

// niceness of an evaluation beside training: where workers have all cores it takes a tenth of them, and has more once they wait at
// the end of the epoch. As much again would slow the workers of an averaging run by what they wait for each other.
const niceness = 10

// stepBack gives the goroutine a thread of its own, of low priority, which ends with it.
func stepBack() {
	runtime.LockOSThread()                               // never unlocked: the priority cannot be raised again
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) // of this thread alone; without it, it is only less fair
}
