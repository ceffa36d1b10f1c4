package rundir

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMetricsLines(t *testing.T) {
	run := t.TempDir()
	accuracy, nan := 0.5, math.NaN()
	m, _, err := OpenMetrics(run, nil)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(m.Second(Status{Epoch: 1, Epochs: 2, Examples: 100, Total: 200, Rate: 50,
		Workers: []WorkerStatus{{Rank: 1, PID: 7, State: "training", Rate: math.Inf(1)}}}))
	first := EpochResult{Epoch: 1, Seconds: 2, Examples: 100, LR: 0.1, TrainLoss: 0.25,
		Tested: Tested{TestLoss: 0.5, TestAccuracy: &accuracy}}
	must(m.Epoch(first))
	must(m.Close())
	whole := readLines(t, run)

	// The process ends in the middle of a line; the run is resumed and diverges.
	path := filepath.Join(run, "metrics.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(err)
	f.WriteString(`{"kind":"second","epo`)
	f.Close()
	m, _, err = OpenMetrics(run, &Past{History: []EpochResult{first}, Examples: 100})
	must(err)
	must(m.Epoch(EpochResult{Epoch: 2, TrainLoss: nan, Tested: Tested{TestLoss: math.Inf(1), TestRMSE: &nan}}))
	must(m.Second(Status{Rate: nan}))
	must(m.Close())

	want := append(whole,
		map[string]any{"kind": "epoch", "epoch": 2., "seconds": 0., "examples": 0., "lr": 0., "train_loss": nil,
			"test_loss": nil, "test_rmse": nil},
		map[string]any{"kind": "second", "epoch": 0., "epochs": 0., "seconds": 0., "examples": 0.,
			"examples_per_second": nil, "workers": nil})
	want[0] = map[string]any{"kind": "second", "epoch": 1., "epochs": 2., "seconds": 0., "examples": 100.,
		"total_examples": 200., "examples_per_second": 50., "workers": []any{
			map[string]any{"rank": 1., "pid": 7., "state": "training", "examples": 0., "examples_per_second": nil,
				"restarts": 0.}}}
	want[1] = map[string]any{"kind": "epoch", "epoch": 1., "seconds": 2., "examples": 100., "lr": 0.1,
		"train_loss": 0.25, "test_loss": 0.5, "test_accuracy": 0.5}
	if d := cmp.Diff(want, readLines(t, run)); d != "" {
		t.Error(d)
	}

	// A new run in the same folder begins anew.
	m, _, err = OpenMetrics(run, nil)
	must(err)
	must(m.Close())
	if lines := readLines(t, run); len(lines) > 0 {
		t.Errorf("%v", lines)
	}
}

// readLines parses metrics.jsonl as a stranger would: line by line.
func readLines(t *testing.T, run string) (lines []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(run, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, v)
	}
	return lines
}

func TestMetricsErrors(t *testing.T) {
	run := t.TempDir()
	if _, _, err := OpenMetrics(filepath.Join(run, "missing"), &Past{}); err == nil {
		t.Error("a folder that is missing was opened")
	}
	m, _, err := OpenMetrics(run, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if err := m.Epoch(EpochResult{}); err == nil {
		t.Error("a closed file was written")
	}
}

// The lines of a run that is resumed: each epoch of its history has one, in order; nothing is left of what was
// trained after the snapshot; lines of later versions stay.
func TestMetricsOfAPast(t *testing.T) {
	past := &Past{Examples: 350}
	for i := 1; i <= 3; i++ {
		past.History = append(past.History, EpochResult{Kind: "epoch", Epoch: i, Examples: int64(100 * i),
			TrainLoss: float64(i)})
	}
	epoch := func(n int, loss float64) string {
		line, err := epochLine(EpochResult{Epoch: n, Examples: int64(100 * n), TrainLoss: loss})
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	second := func(examples int) string {
		line, err := json.Marshal(Status{Kind: "second", Examples: int64(examples)})
		if err != nil {
			t.Fatal(err)
		}
		return string(line) + "\n"
	}
	const other = `{"kind":"scale","workers":8}` + "\n"
	all := epoch(1, 1) + epoch(2, 2) + epoch(3, 3)
	for _, c := range []struct {
		name, old, want string
		missing         int
	}{
		{"none", "", all, 3},
		{"whole", all, all, 0},
		{"killed before the last line", epoch(1, 1) + second(150) + epoch(2, 2),
			epoch(1, 1) + second(150) + epoch(2, 2) + epoch(3, 3), 1},
		{"killed within it", epoch(1, 1) + epoch(2, 2) + epoch(3, 3)[:20], all, 1},
		{"one within", second(50) + epoch(1, 1) + second(210) + second(220) + epoch(3, 3) + second(340),
			second(50) + epoch(1, 1) + epoch(2, 2) + second(210) + second(220) + epoch(3, 3) + second(340), 1},
		{"the first", epoch(2, 2) + epoch(3, 3), all, 1},
		{"after the snapshot", all + second(350) + second(351) + epoch(4, 4) + second(420), all + second(350), 0},
		{"torn within", epoch(1, 1) + `{"kind":"epo` + epoch(2, 2) + epoch(3, 3),
			epoch(1, 1) + epoch(2, 2) + epoch(3, 3), 1},
		{"another kind", epoch(1, 1) + other + epoch(2, 2) + epoch(3, 3),
			epoch(1, 1) + other + epoch(2, 2) + epoch(3, 3), 0},
	} {
		got, missing, err := past.mend(c.old)
		if err != nil || got != c.want || len(missing) != c.missing {
			t.Errorf("%s: %d missing, %v\n%swant %d\n%s", c.name, len(missing), err, got, c.missing, c.want)
		}
		if again, missing, err := past.mend(got); err != nil || again != got || len(missing) > 0 {
			t.Errorf("%s: a second time: %d missing, %v\n%s", c.name, len(missing), err, again)
		}
	}
}
