package rundir

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"hogwild/internal/human"
)

// NoPairs is said in the place of a loss of words that does not exist.
const NoPairs = "no pairs: no two words of a line are left after subsampling; name a larger set"

// Tested is how well a run's test set is predicted: Scores by the names that files have for them.
type Tested struct {
	TestLoss     float64  `json:"test_loss"`
	TestAccuracy *float64 `json:"test_accuracy,omitempty"`
	TestRMSE     *float64 `json:"test_rmse,omitempty"`
	TestR2       *float64 `json:"test_r2,omitempty"`
}

// Validation is how well a run's validation set is predicted: nil without one.
type Validation struct {
	ValidationLoss     *float64 `json:"validation_loss,omitempty"`
	ValidationAccuracy *float64 `json:"validation_accuracy,omitempty"`
	ValidationRMSE     *float64 `json:"validation_rmse,omitempty"`
	ValidationR2       *float64 `json:"validation_r2,omitempty"`
}

// Scores are how well a set is predicted: accuracy for classes, RMSE and R2 for values,
// nothing but the loss where nothing is predicted, as by a graph cut.
type Scores struct {
	Set      string             `json:"-"` // validation, test
	Loss     float64            `json:"loss"`
	Accuracy *float64           `json:"accuracy,omitempty"`
	RMSE     *float64           `json:"rmse,omitempty"`
	R2       *float64           `json:"r2,omitempty"`
	Metrics  map[string]float64 `json:"metrics,omitempty"` // others that a program measures, means per example
}

// Judged returns the scores by which the epoch is judged: of the validation set, or in a run without one of the test
// set.
func (e *EpochResult) Judged() Scores {
	if v := e.Validation; v.ValidationLoss != nil {
		s := v.scores()
		s.Metrics = e.Metrics
		return s
	}
	return Scores{"test", e.TestLoss, e.TestAccuracy, e.TestRMSE, e.TestR2, e.Metrics}
}

func (v Validation) scores() Scores {
	return Scores{"validation", *v.ValidationLoss, v.ValidationAccuracy, v.ValidationRMSE, v.ValidationR2, nil}
}

// Judge sets what Judged returns.
func (e *EpochResult) Judge(s Scores) {
	e.Metrics = s.Metrics
	if s.Set == "validation" {
		e.TestLoss = math.NaN()
		e.Validation = Validation{&s.Loss, s.Accuracy, s.RMSE, s.R2}
		return
	}
	e.Tested = Tested{s.Loss, s.Accuracy, s.RMSE, s.R2}
}

// Text returns the scores in a line: "test loss 0.31 accuracy 90.12%"; of a set without a name " loss 0.31 accuracy
// 90.12%".
func (s Scores) Text(between string) string {
	words := []string{s.Set + " loss " + human.Loss(s.Loss)}
	if math.IsNaN(s.Loss) && s.Set != "" {
		words[0] = s.Set + " set: not evaluated"
	}
	if s.Accuracy != nil {
		words = append(words, "accuracy "+human.Accuracy(*s.Accuracy))
	}
	if s.RMSE != nil {
		words = append(words, "RMSE "+human.Loss(*s.RMSE))
	}
	if s.R2 != nil {
		words = append(words, fmt.Sprintf("R2 %.4f", *s.R2))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Metrics)) {
		words = append(words, fmt.Sprintf("%s %s", name, human.Loss(s.Metrics[name])))
	}
	return strings.Join(words, between)
}
