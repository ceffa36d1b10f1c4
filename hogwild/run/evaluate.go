package run

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// score is what is told of an evaluation: accuracy for classes, RMSE and R2 for values,
// nothing but the loss where nothing is predicted, as by a graph cut.
type score struct {
	loss               float64
	accuracy, rmse, r2 *float64
}

func scoreOf(s model.Score, classes bool) score {
	n := float64(s.N)
	r := score{loss: s.Loss / n}
	if classes {
		a := float64(s.Correct) / n
		r.accuracy = &a
		return r
	}
	if s.SqErr == 0 && s.Y2 == 0 {
		return r
	}
	rmse := math.Sqrt(s.SqErr / n)
	r.rmse = &rmse
	if variance := s.Y2 - s.Y*s.Y/n; variance > 1e-12*s.Y2 { // of targets that are all the same there is no R2
		r2 := 1 - s.SqErr/variance
		r.r2 = &r2
	}
	return r
}

// constant is the score on set of the constant predictor: the best outputs for the training
// labels that ignore the inputs. Nil for a model that predicts nothing. Its loss is 0 when all
// values are the same.
func (r *task) constant(set *data.Set) *score {
	z := r.spec.Constant(r.train.Y)
	if z == nil {
		return nil
	}
	s := scoreOf(r.spec.ScoreConstant(z, set.Y), len(set.Classes) > 0)
	return &s
}

// EvalResult is what `hogwild eval` prints.
type EvalResult struct {
	Weights  string   `json:"weights"`
	Model    string   `json:"model"`
	Data     string   `json:"data"`
	Examples int      `json:"examples"`
	Loss     float64  `json:"loss"`
	Accuracy *float64 `json:"accuracy,omitempty"`
	RMSE     *float64 `json:"rmse,omitempty"`
	R2       *float64 `json:"r2,omitempty"`
	Notes    []string `json:"notes,omitempty"` // what was done to the data

	own bool // on the run's test rows
}

// MarshalJSON writes null for numbers that are not finite.
func (r EvalResult) MarshalJSON() ([]byte, error) {
	type plain EvalResult
	return json.Marshal(struct {
		plain
		Loss     any `json:"loss"`
		Accuracy any `json:"accuracy,omitempty"`
		RMSE     any `json:"rmse,omitempty"`
		R2       any `json:"r2,omitempty"`
	}{plain(r), orNull(&r.Loss), orNull(r.Accuracy), orNull(r.RMSE), orNull(r.R2)})
}

// orNull is the number for JSON, nil if there is none.
func orNull(x *float64) any {
	switch {
	case x == nil:
		return nil
	case math.IsNaN(*x) || math.IsInf(*x, 0):
		return json.RawMessage("null")
	}
	return *x
}

// WriteJSON writes the result as one JSON object.
func (r EvalResult) WriteJSON(w io.Writer) error { return human.WriteJSON(w, r) }

// WriteText writes the result for people.
func (r EvalResult) WriteText(w io.Writer) error {
	rows := r.Data
	if r.own {
		rows = "the test rows of " + r.Data
	}
	text := fmt.Sprintf("%s on %s: %d examples, loss %s", r.Model, rows, r.Examples, human.Loss(r.Loss))
	if r.Accuracy != nil {
		text += ", accuracy " + human.Accuracy(*r.Accuracy)
	}
	if r.RMSE != nil {
		text += fmt.Sprintf(", RMSE %s", human.Loss(*r.RMSE))
	}
	if r.R2 != nil {
		text += fmt.Sprintf(", R2 %.4f", *r.R2)
	}
	for _, note := range r.Notes {
		text += "\nnote: " + note
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
