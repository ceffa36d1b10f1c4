package saved

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// EvalResult is what `hogwild eval` prints.
type EvalResult struct {
	Weights  string `json:"weights"`
	Model    string `json:"model"`
	Data     string `json:"data"`
	Examples int    `json:"examples"`
	rundir.Scores
	*rundir.Detail
	Top   *Top     `json:"top,omitempty"`   // where it was asked for
	Notes []string `json:"notes,omitempty"` // what was done to the data

	own bool // on the run's test rows
}

// MarshalJSON writes null for numbers that are not finite.
func (r EvalResult) MarshalJSON() ([]byte, error) {
	type plain EvalResult
	return json.Marshal(struct {
		plain
		Loss     human.Number     `json:"loss"`
		Accuracy human.OptionalAt `json:"accuracy,omitzero"`
		RMSE     human.OptionalAt `json:"rmse,omitzero"`
		R2       human.OptionalAt `json:"r2,omitzero"`
	}{plain(r), human.Number(r.Loss), human.OptionalAt{P: &r.Accuracy}, human.OptionalAt{P: &r.RMSE},
		human.OptionalAt{P: &r.R2}})
}

// WriteJSON writes the result as one JSON object.
func (r EvalResult) WriteJSON(w io.Writer) error { return human.WriteJSON(w, r) }

// evalClasses is the most classes for which eval prints a table.
const evalClasses = 20

// WriteText writes the result for people.
func (r EvalResult) WriteText(w io.Writer) error {
	rows := r.Data
	if r.own {
		rows = "the test rows of " + r.Data
	}
	r.Set = "" // rows says it
	text := fmt.Sprintf("%s on %s: %d examples,%s", r.Model, rows, r.Examples, r.Scores.Text(", "))
	if math.IsNaN(r.Loss) && model.FamilyOf(r.Model).OfWords() {
		text = fmt.Sprintf("%s on %s: %d examples, %s", r.Model, rows, r.Examples, rundir.NoPairs)
	}
	for _, note := range r.Notes {
		text += "\nnote: " + note
	}
	_, err := fmt.Fprint(w, text, "\n", r.Top.text(), r.Detail.ScoreLines(), r.Detail.Text(evalClasses))
	return err
}
