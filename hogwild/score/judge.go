package score

import (
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// A run has diverged when a number is not finite, and also when its losses on training rows and on the rows that epochs
// are judged by are both more than ten times the constant predictor's. Two runs have not, however large their losses:
// one that has not come far from its first weights, as when the targets are far from 0 and there is no bias, and a
// classifier whose outputs are large but mostly right.
const (
	Far      = 10   // times the loss to beat
	mistakes = 0.75 // share of the constant predictor's mistakes that a useful classifier may make
)

// Judge compares epochs with the constant predictor: the best outputs for the training labels that ignore the inputs.
type Judge struct {
	Name string    // of Set: validation, or without such a set test
	Set  *data.Set // by which epochs are judged

	spec     model.Spec
	train    *data.Set
	known    bool
	constant *rundir.Scores
}

// NewJudge returns the judge of a model that is trained on these sets.
func NewJudge(spec model.Spec, s data.Sets) *Judge {
	j := &Judge{Name: "test", Set: s.Test, spec: spec, train: s.Train}
	if s.Validation != nil {
		j.Name, j.Set = "validation", s.Validation
	}
	return j
}

// Constant returns the scores of the constant predictor on Set; nil for a model that predicts nothing. Its loss is 0
// when all values are the same.
func (j *Judge) Constant() *rundir.Scores {
	if !j.known {
		j.known, j.constant = true, j.on(j.Set)
	}
	return j.constant
}

// on returns the scores of the constant predictor on a set.
func (j *Judge) on(set *data.Set) *rundir.Scores {
	z := j.spec.Constant(j.train.Y)
	if z == nil {
		return nil
	}
	s := Of("", j.spec.ScoreConstant(z, set.Y), len(set.Classes) > 0)
	return &s
}

// TooLarge reports whether the losses of an epoch are far above the constant predictor's, and the model is of no use.
// Whether the run has diverged depends on the loss with which it began, too.
func (j *Judge) TooLarge(e *rundir.EpochResult) bool {
	constant, on := j.Constant(), e.Judged()
	if constant == nil || !(constant.Loss > 0 && on.Loss > Far*constant.Loss) ||
		useful(on.Accuracy, constant.Accuracy) {
		return false
	}
	return e.TrainLoss > Far*j.on(j.train).Loss // else the rows of Set are of another kind
}

// useful reports whether a classifier makes clearly fewer mistakes than the constant predictor.
func useful(accuracy, constant *float64) bool {
	return accuracy != nil && constant != nil && 1-*accuracy < mistakes*(1-*constant)
}
