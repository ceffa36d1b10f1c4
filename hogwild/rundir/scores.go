package rundir

import (
	"fmt"
	"math"
	"strings"

	"hogwild/internal/human"
)

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
	Set                string // validation, test
	Loss               float64
	Accuracy, RMSE, R2 *float64
}

// Judged are the scores by which the epoch is judged: of the validation set, or in a run
// without one of the test set.
func (e *EpochResult) Judged() Scores {
	if v := e.Validation; v.ValidationLoss != nil {
		return v.scores()
	}
	return Scores{"test", e.TestLoss, e.TestAccuracy, e.TestRMSE, e.TestR2}
}

func (v Validation) scores() Scores {
	return Scores{"validation", *v.ValidationLoss, v.ValidationAccuracy, v.ValidationRMSE, v.ValidationR2}
}

// Judge sets what Judged returns.
func (e *EpochResult) Judge(s Scores) {
	if s.Set == "validation" {
		e.TestLoss = math.NaN()
		e.Validation = Validation{&s.Loss, s.Accuracy, s.RMSE, s.R2}
		return
	}
	e.TestLoss, e.TestAccuracy, e.TestRMSE, e.TestR2 = s.Loss, s.Accuracy, s.RMSE, s.R2
}

// Text is the scores in a line: "test loss 0.31  accuracy 90.12%".
func (s Scores) Text(between string) string {
	words := []string{s.Set + " loss " + human.Loss(s.Loss)}
	if s.Accuracy != nil {
		words = append(words, "accuracy "+human.Accuracy(*s.Accuracy))
	}
	if s.RMSE != nil {
		words = append(words, "RMSE "+human.Loss(*s.RMSE))
	}
	if s.R2 != nil {
		words = append(words, fmt.Sprintf("R2 %.4f", *s.R2))
	}
	return strings.Join(words, between)
}
