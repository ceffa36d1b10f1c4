package run

import (
	"fmt"
	"io"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/cpu"
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
	r2 := 1 - s.SqErr/(s.Y2-s.Y*s.Y/n)
	r.rmse, r.r2 = &rmse, &r2
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
}

// Eval computes loss and accuracy of saved weights (a weights.safetensors, or a run
// folder) on data, read and scaled as the training data were. Errors match ErrUsage
// when one of the files is not what it should be.
func Eval(path, dataPath, format, target string) (EvalResult, error) {
	path = weightsFile(path)
	r := EvalResult{Weights: path, Data: dataPath}
	if err := ready(); err != nil {
		return r, err
	}
	s, err := open(path)
	if err != nil {
		return r, err
	}
	set, err := data.LoadLike(dataPath, format, target, s.meta)
	if err != nil {
		return r, config.Usage("%w", err)
	}
	defer set.Close()
	score := scoreOf(cpu.Evaluate([]model.Model{s.model}, s.w, set), len(set.Classes) > 0)
	r.Model, r.Examples = s.name, set.Rows
	r.Loss, r.Accuracy, r.RMSE, r.R2 = score.loss, score.accuracy, score.rmse, score.r2
	return r, nil
}

// WriteJSON writes the result as one JSON object.
func (r EvalResult) WriteJSON(w io.Writer) error { return human.WriteJSON(w, r) }

// WriteText writes the result for people.
func (r EvalResult) WriteText(w io.Writer) error {
	text := fmt.Sprintf("%s on %s: %d examples, loss %.4f", r.Model, r.Data, r.Examples, r.Loss)
	if r.Accuracy != nil {
		text += fmt.Sprintf(", accuracy %.2f%%", 100**r.Accuracy)
	}
	if r.RMSE != nil {
		text += fmt.Sprintf(", RMSE %.4g, R2 %.4f", *r.RMSE, *r.R2)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
