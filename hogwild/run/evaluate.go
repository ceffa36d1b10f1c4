package run

import (
	"fmt"
	"math"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/internal/human"
	"hogwild/internal/machine"
)

// overflown returns the error of an epoch whose losses are far above those of the constant predictor, and of the first weights.
func (r *coordinator) overflown(e *rundir.EpochResult) error {
	if !r.judge.TooLarge(e) {
		return nil
	}
	on := e.Judged()
	if begin, err := r.scoreFirst(); err != nil || on.Loss <= score.Far*begin {
		return err
	}
	return divergence{fmt.Errorf("%s loss %s after epoch %d, a constant prediction has %s; learning rate %g",
		on.Set, human.Loss(on.Loss), e.Epoch, human.Loss(r.judge.Constant().Loss), r.job.Tuning.LR), "try a lower --lr, or --scale standard (" + r.lastGood() + ")"}
}

// scoreFirst returns the loss, on the rows that epochs are judged by, of a new run's first weights.
func (r *coordinator) scoreFirst() (float64, error) {
	plain, err := model.New(r.job.ModelOptions(), r.train.Meta)
	if err != nil {
		return 0, err
	}
	w := make([]float32, model.Size(r.params))
	r.firstWeights(plain, w)
	s, err := r.scoreOn(w, r.judge.Set)
	if err != nil || s.N == 0 || math.IsNaN(s.Loss) {
		return 0, err
	}
	return s.Loss / float64(s.N), nil
}

// scoreOn has the device evaluate plain weights on a set. Of several nodes each evaluates its share of the rows.
func (r *coordinator) scoreOn(w []float32, set *data.Set) (model.Score, error) {
	if r.evaluator != nil {
		s, _, err := r.scoredByProgram(w, set, 0)
		return s, err
	}
	own := func() (model.Score, error) {
		s, err := askFor(r, evaluations*r.patience, func() (model.Score, error) { return r.owner.Score(w, set) })
		return s, onDevice(err)
	}
	return r.peers.Score(own)
}

// testEnd evaluates the weights of a run that has come to its end in detail: with a validation
// set those of the best epoch, for which test rows are used here and nowhere else. It computes
// on the host, wherever the weights were trained. An interrupted run is not kept waiting by it.
func (r *coordinator) testEnd(res *rundir.Result) error {
	if r.epochs.ended != nil || r.job.Sample > 0 {
		return nil
	}
	if r.evaluator != nil {
		return r.testBest(res)
	}
	models := make([]model.Model, machine.Cores())
	for i := range models {
		var err error
		if models[i], err = model.New(r.job.ModelOptions(), r.train.Meta); err != nil {
			return err
		}
	}
	w := r.saver.copy.Plain(r.trained)
	if r.saver.copy.Best != nil {
		w = r.saver.copy.Best
		s, err := score.Evaluate(models, w, r.test)
		if err != nil {
			return err
		}
		res.TestLoss, res.TestAccuracy, res.TestRMSE, res.TestR2 = s.Loss, s.Accuracy, s.RMSE, s.R2
	}
	var err error
	res.Detail, err = score.Detail(models, w, r.test, r.spec.Loss, res.TestLoss)
	return err
}
