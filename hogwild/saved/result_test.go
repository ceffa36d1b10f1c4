package saved

import (
	"encoding/json"
	"math"
	"testing"

	"hogwild/hogwild/rundir"
)

// TestResultJSON: null stands for scores that are not finite, and nothing for those that do not exist.
func TestResultJSON(t *testing.T) {
	nan, half := math.NaN(), 0.5
	for want, s := range map[string]rundir.Scores{
		`"loss":null,"accuracy":0.5`:       {Loss: nan, Accuracy: &half},
		`"loss":0.25,"rmse":null,"r2":0.5`: {Loss: 0.25, RMSE: &nan, R2: &half},
	} {
		text, err := json.Marshal(EvalResult{Weights: "w", Examples: 3, Scores: s})
		want = `{"weights":"w","model":"","data":"","examples":3,` + want + `}`
		if err != nil || string(text) != want {
			t.Errorf("%s (%v), want %s", text, err, want)
		}
	}
}
