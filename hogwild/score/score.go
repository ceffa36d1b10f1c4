// Package score turns the sums of an evaluation into scores, and judges them: divergence, and warnings for the user. It
// sees histories, scores and settings, and no run.
//
//	warning.go  results that look like success and are none
//	judge.go    epochs beside the constant predictor
//	score.go    sums of an evaluation
//	ranking.go  what the places of right candidates come to
package score

import (
	"math"

	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// Of returns what the sums of an evaluation on the set of a name come to.
func Of(name string, s model.Score, classes bool) rundir.Scores {
	n := float64(s.N)
	r := rundir.Scores{Set: name, Loss: s.Loss / n}
	if s.Metrics != nil { // of a program, which says itself what it measures
		if a, ok := (*s.Metrics)["accuracy"]; ok {
			a /= n
			r.Accuracy = &a
		}
		for name, sum := range *s.Metrics {
			if name == "accuracy" || math.IsNaN(sum) || math.IsInf(sum, 0) { // JSON has no such numbers
				continue
			}
			if r.Metrics == nil {
				r.Metrics = map[string]float64{}
			}
			r.Metrics[name] = sum / n
		}
		return r
	}
	if classes {
		a := float64(s.Correct) / n
		r.Accuracy = &a
		return r
	}
	if s.SqErr == 0 && s.Y2 == 0 {
		return r
	}
	rmse := math.Sqrt(s.SqErr / n)
	r.RMSE = &rmse
	if variance := s.Y2 - s.Y*s.Y/n; variance > 1e-12*s.Y2 { // of targets that are all the same there is no R2
		r2 := 1 - s.SqErr/variance
		r.R2 = &r2
	}
	return r
}

// NoPairs reports whether s is the score of words after subsampling has left no two that stand together, so that
// nothing was predicted: every pair has a loss.
func NoPairs(s model.Score, set *data.Set) bool { return set.Words() && s.Loss == 0 }

// Evaluate returns how well weights predict a set, on as many cores as there are models. The loss is NaN if there are
// no pairs of words.
func Evaluate(models []model.Model, w []float32, set *data.Set) (rundir.Scores, error) {
	sum, err := cpu.Evaluate(models, w, set)
	s := Of("test", sum, len(set.Classes) > 0)
	if NoPairs(sum, set) {
		s.Loss = math.NaN()
	}
	return s, err
}

// Detail returns what is known of the predictions for a set besides loss and accuracy; nil for a model that makes none.
// Of what users liked there is no value to be predicted.
func Detail(models []model.Model, w []float32, set *data.Set, of model.Loss, loss float64) (*rundir.Detail, error) {
	if set.Implicit {
		return nil, nil
	}
	predicted, odds, err := cpu.Predict(models, w, set)
	if predicted == nil || err != nil {
		return nil, err
	}
	d := rundir.DetailOf(set.Classes, set.Y, predicted)
	if d != nil && odds != nil {
		d.Ranking = rundir.RankingOf(set.Y, odds)
	}
	if d != nil && of.LogLoss(len(set.Classes)) {
		d.LogLoss = &loss
	}
	return d, nil
}
