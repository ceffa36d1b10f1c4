package run

import (
	"fmt"
	"math"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// A run has diverged when a number is not finite, and also when its losses on training rows and
// on those that epochs are judged by are both more than ten times that of the constant predictor. Two runs have not, however
// large their losses: one that has not come far from its first weights, as when the targets are far
// from 0 and there is no bias, and a classifier whose outputs are large but mostly right.
const (
	farAbove = 10   // times the loss to beat
	mistakes = 0.75 // share of the constant predictor's mistakes that a useful classifier may make
)

// overflown is the error of an epoch whose losses are far above those of the constant predictor.
func (r *coordinator) overflown(e *rundir.EpochResult) error {
	y, on := &r.saver.yardsticks, e.Judged()
	if !y.known {
		y.known = true
		_, set := r.judges()
		if c := r.constant(set); c != nil {
			y.judged, y.accuracy = c.Loss, c.Accuracy
		}
	}
	if !(y.judged > 0 && on.Loss > farAbove*y.judged) || useful(on.Accuracy, y.accuracy) {
		return nil
	}
	if y.train == 0 {
		y.train = r.constant(r.train).Loss
	}
	if !(e.TrainLoss > farAbove*y.train) {
		return nil // those rows are of another kind
	}
	if begin, err := r.scoreFirst(); err != nil || on.Loss <= farAbove*begin {
		return err
	}
	return divergence{fmt.Errorf("%s loss %s after epoch %d, a constant prediction has %s; learning rate %g",
		on.Set, human.Loss(on.Loss), e.Epoch, human.Loss(y.judged), r.job.Tuning.LR), "try a lower --lr, or --scale standard (" + r.lastGood() + ")"}
}

// useful tells whether a classifier makes clearly fewer mistakes than the constant predictor.
func useful(accuracy, constant *float64) bool {
	return accuracy != nil && constant != nil && 1-*accuracy < mistakes*(1-*constant)
}

// scoreFirst is the loss, on the rows that epochs are judged by, of a new run's first weights.
func (r *coordinator) scoreFirst() (float64, error) {
	plain, err := model.New(r.job.ModelOptions(), r.train.Meta)
	if err != nil {
		return 0, err
	}
	w := make([]float32, model.Size(r.params))
	r.firstWeights(plain, w)
	_, set := r.judges()
	s, err := r.scoreOn(w, set)
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
