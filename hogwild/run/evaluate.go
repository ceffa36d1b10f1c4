package run

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
	"hogwild/internal/machine"
)

// scoresOf is what the sums of an evaluation on the set of a name come to.
func scoresOf(name string, s model.Score, classes bool) rundir.Scores {
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

// constant is the score on set of the constant predictor: the best outputs for the training
// labels that ignore the inputs. Nil for a model that predicts nothing. Its loss is 0 when all
// values are the same.
func (r *task) constant(set *data.Set) *rundir.Scores {
	z := r.spec.Constant(r.train.Y)
	if z == nil {
		return nil
	}
	s := scoresOf("", r.spec.ScoreConstant(z, set.Y), len(set.Classes) > 0)
	return &s
}

// impatient says, once patience is over, since when the validation loss has not improved, and
// how many epochs that are. All that it needs is the history, which a snapshot has.
func impatient(history []rundir.EpochResult, patience int) (why string, epochs int) {
	if patience == 0 || len(history) == 0 {
		return "", 0
	}
	since := 0
	if best := rundir.Best(history); best != nil {
		since = best.Epoch
	}
	if epochs = history[len(history)-1].Epoch - since; epochs < patience {
		return "", epochs
	}
	return fmt.Sprintf("patience %d: no better validation loss since epoch %d", patience, since), epochs
}

// EvalResult is what `hogwild eval` prints.
type EvalResult struct {
	Weights  string             `json:"weights"`
	Model    string             `json:"model"`
	Data     string             `json:"data"`
	Examples int                `json:"examples"`
	Loss     float64            `json:"loss"`
	Accuracy *float64           `json:"accuracy,omitempty"`
	RMSE     *float64           `json:"rmse,omitempty"`
	R2       *float64           `json:"r2,omitempty"`
	Metrics  map[string]float64 `json:"metrics,omitempty"` // others that a program measures
	*rundir.Detail
	Notes []string `json:"notes,omitempty"` // what was done to the data

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

// evaluated is how well saved weights predict a set.
func evaluated(s *Saved, set *data.Set) (rundir.Scores, error) {
	sum, err := cpu.Evaluate([]model.Model{s.model}, s.w, set)
	return scoresOf("test", sum, len(set.Classes) > 0), err
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
		sum, err := cpu.Evaluate(models, w, r.test)
		if err != nil {
			return err
		}
		s := scoresOf("test", sum, len(r.test.Classes) > 0)
		res.TestLoss, res.TestAccuracy, res.TestRMSE, res.TestR2 = s.Loss, s.Accuracy, s.RMSE, s.R2
	}
	var err error
	res.Detail, err = detail(models, w, r.test, r.spec.Loss, res.TestLoss)
	return err
}

// detail is what is known of the predictions for a set beside loss and accuracy; nil for a model
// that makes none.
func detail(models []model.Model, w []float32, set *data.Set, of model.Loss, loss float64) (*rundir.Detail, error) {
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

// WriteJSON writes the result as one JSON object.
func (r EvalResult) WriteJSON(w io.Writer) error { return human.WriteJSON(w, r) }

// evalClasses is the most classes of which eval prints a table.
const evalClasses = 20

// WriteText writes the result for people.
func (r EvalResult) WriteText(w io.Writer) error {
	rows := r.Data
	if r.own {
		rows = "the test rows of " + r.Data
	}
	scores := rundir.Scores{Loss: r.Loss, Accuracy: r.Accuracy, RMSE: r.RMSE, R2: r.R2, Metrics: r.Metrics}
	text := fmt.Sprintf("%s on %s: %d examples,%s", r.Model, rows, r.Examples, scores.Text(", "))
	for _, note := range r.Notes {
		text += "\nnote: " + note
	}
	_, err := fmt.Fprint(w, text, "\n", r.Detail.ScoreLines(), r.Detail.Text(evalClasses))
	return err
}
