package programs

import (
	"errors"
	"time"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// LastScore is how long an interrupted run waits for its program's score.
var LastScore = 10 * time.Second

// errLate is the error of a score that an interrupted run no longer waits for.
var errLate = errors.New("the run was interrupted")

// killLate kills the evaluator's program if it takes too long after an interruption. What it returns ends that.
func (a *ability) killLate() (done func()) {
	over, interrupted, evaluator, limit := make(chan struct{}), a.run.Mem.Interrupted, a.evaluator, LastScore
	go func() {
		select {
		case <-over:
			return
		case <-interrupted:
		}
		select {
		case <-over:
		case <-time.After(limit):
			evaluator.Kill(errLate)
		}
	}()
	return func() { close(over) }
}

// Score returns a program's score of weights on a set; of no examples, where it has no function that evaluates, or
// no test data, could not answer before, or takes too long after an interruption. With an epoch the program hears of
// its end, and may have metrics of the whole set.
func (a *ability) Score(w []float32, set *data.Set, epoch int) (s model.Score, metrics map[string]float64, err error) {
	if a.failed {
		return s, nil, nil
	}
	defer a.killLate()()
	if epoch > 0 {
		s, metrics, err = a.evaluator.Judge(w, set, epoch)
	} else if a.evaluator.Evaluates() {
		s, err = a.evaluator.Score(w, set)
	}
	a.failed = err != nil // the run ends, and its last weights are saved without a score
	if errors.Is(err, errLate) {
		a.run.End.ScoreSkipped = true
		return model.Score{}, nil, nil
	}
	return s, metrics, err
}

// Scores reports whether the program has a function that evaluates.
func (a *ability) Scores() bool { return a.evaluator.Evaluates() }
