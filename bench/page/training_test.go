package page

import (
	"encoding/json"
	"strings"
	"testing"

	"hogwild/hogwild/rundir"
)

// validated is a run with a validation set: its epochs have no test loss, its result has.
func validated(t *testing.T, name string, d *rundir.Detail) *rundir.Recorded {
	t.Helper()
	detail, err := json.Marshal(rundir.Result{Epochs: 2, Tested: rundir.Tested{TestLoss: .9}, BestEpoch: 1, Detail: d})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.NewReplacer(`"test_loss":0.7,`, `"test_loss":null,"validation_loss":0.6,`, `"test_loss":0.35,`,
		`"test_loss":null,"validation_loss":0.8,`,
		`"test_accuracy"`, `"validation_accuracy"`).Replace(metrics())
	return folder(t, name, map[string]string{"config.yaml": runConfig + "validation: \"0.1\"\n", "metrics.jsonl": lines,
		"result.json": strings.Replace(string(detail), "{", `{"test_accuracy":0.8,`, 1)})
}

// TestValidatedRun: the series have the names of their sets, and the scores of the best epoch are told.
func TestValidatedRun(t *testing.T) {
	p := OfRuns(
		[]*rundir.Recorded{validated(t, "held", rundir.DetailOf([]string{"cat", "dog"}, []float32{0, 0, 0, 0, 1},
			[]float32{0, 0, 0, 1, 1}))})
	for row, want := range map[string]string{"best epoch": "1", "validation loss": "0.6000",
		"validation accuracy": "90.00%", "test loss": "0.9000", "accuracy": "80.00%"} {
		if got := cell(t, p, "Results", row, ""); got != want {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
	loss := drawing(t, p, "loss-against-time")
	if points := series(t, loss, "validation").Points; len(loss.Series) != 2 || points[0].Y != .6 || points[1].Y != .8 {
		t.Errorf("losses: %+v", loss.Series)
	}
	if f := drawing(t, p, "accuracy-against-time"); f.Title != "Validation accuracy over time" {
		t.Errorf("the accuracy's title is %q", f.Title)
	}
	for _, f := range p.Figures() {
		if strings.Contains(f.Title, "Test") {
			t.Errorf("figure %q of a run that was tested at its end", f.Title)
		}
	}
	if got := cell(t, p, "Classes", "cat", "recall"); got != "75.00%" {
		t.Errorf("recall %q, want 75%%", got)
	}
	if got := cell(t, p, "Confusion matrix", "cat", "dog"); got != "1" {
		t.Errorf("cats taken for dogs: %q, want 1", got)
	}
	text := whole(t, p)
	if strings.Contains(text, "diverged") {
		t.Error("the run is said to have diverged")
	}
}

// TestResiduals: a run on values has its figures, and a band of residuals.
func TestResiduals(t *testing.T) {
	var y, predicted []float32
	for i := range 40 {
		y, predicted = append(y, float32(i)), append(predicted, float32(i-i%2))
	}
	p := OfRuns([]*rundir.Recorded{validated(t, "a", rundir.DetailOf(nil, y, predicted)), validated(t, "b", nil)})
	if got := cell(t, p, "Residuals, a", "MAE", ""); got != "0.5" {
		t.Errorf("MAE %q, want 0.5", got)
	}
	if got := cell(t, p, "Residuals by prediction, a", "4", "median"); got != "0.5" {
		t.Errorf("median residual of the least predictions %q, want 0.5", got)
	}
	whole(t, p)
}
