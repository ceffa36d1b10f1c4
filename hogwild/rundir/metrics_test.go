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
	must(m.Second(Status{Epoch: 1, Epochs: 2, Examples: 100, Total: 200, Rate: 50, Workers: []WorkerStatus{{Rank: 1, PID: 7, State: "training", Rate: math.Inf(1)}}}))
	first := EpochResult{Epoch: 1, Seconds: 2, Examples: 100, LR: 0.1, TrainLoss: 0.25, TestLoss: 0.5, TestAccuracy: &accuracy}
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
	must(m.Epoch(EpochResult{Epoch: 2, TrainLoss: nan, TestLoss: math.Inf(1), TestRMSE: &nan}))
	must(m.Second(Status{Rate: nan}))
	must(m.Close())

	want := append(whole,
		map[string]any{"kind": "epoch", "epoch": 2., "seconds": 0., "examples": 0., "lr": 0., "train_loss": nil, "test_loss": nil, "test_rmse": nil},
		map[string]any{"kind": "second", "epoch": 0., "epochs": 0., "seconds": 0., "examples": 0., "examples_per_second": nil, "workers": nil})
	want[0] = map[string]any{"kind": "second", "epoch": 1., "epochs": 2., "seconds": 0., "examples": 100., "total_examples": 200., "examples_per_second": 50., "workers": []any{
		map[string]any{"rank": 1., "pid": 7., "state": "training", "examples": 0., "examples_per_second": nil, "restarts": 0.}}}
	want[1] = map[string]any{"kind": "epoch", "epoch": 1., "seconds": 2., "examples": 100., "lr": 0.1, "train_loss": 0.25, "test_loss": 0.5, "test_accuracy": 0.5}
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
