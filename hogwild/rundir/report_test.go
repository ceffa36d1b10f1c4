package rundir

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hogwild/hogwild/control"
	"hogwild/internal/check"
)

func results() map[string]Result {
	accuracy, rmse, r2, nan := 0.91234, 4.48123, 0.71299, math.NaN()
	classes := Result{
		Mode: "async", Device: "cpu", CPU: "avx2", Workers: 8, Model: "softmax", Data: "digits", Batch: 64, Epochs: 10,
		Examples: 600000,
		Seconds:  4.2134, ExamplesPerSecond: 142402.8, StartupSeconds: 0.0341, TrainLoss: 0.41234,
		Tested: Tested{TestLoss: 0.39871, TestAccuracy: &accuracy}, Seed: 1, Version: "0.1.0",
		Run: "runs/2025-01-02T03-04-05-digits",
	}
	values := classes
	values.Mode, values.Workers, values.Model, values.Data = "sync", 1, "linear", "my data/housing_scale"
	values.TestAccuracy, values.TestRMSE, values.TestR2 = nil, &rmse, &r2
	values.Epochs, values.Examples, values.Stopped = 3, 1266, "interrupted"
	hurt := classes
	hurt.Restarts, hurt.LostExamples = 2, 1024
	hurt.Events = []string{"worker 3 (pid 123) was killed by SIGKILL: restarted, 1 of 3",
		"worker 0 (pid 120) was killed by SIGKILL: restarted, 1 of 3"}
	hurt.Stopped = "target accuracy"
	hurt.Instruments = &control.Instruments{StalenessSamples: 4000, StalenessMean: 6.8123, StalenessP50: 7,
		StalenessP99: 13, StalenessMax: 41,
		StalenessHistogram: [][2]uint64{{6, 1500}, {7, 2000}, {13, 499}, {41, 1}}, LostUpdates: 0.00123,
		LostSamples: 4000, LostBelow: 0.0026,
		Conflicts: 0.25, BarrierWait: 0.5, Tables: []control.TableSamples{
			{Table: "in.weight, first 64 rows", Samples: 12345, Conflicts: .031, LostUpdates: .0021},
			{Table: "in.weight, other rows", Samples: 234567, Conflicts: .0004}}}
	hurt.PerWorker = []WorkerStatus{{Rank: 0, PID: 120, State: "training", Examples: 300000, Rate: 5e4,
		Instruments: &control.Instruments{StalenessSamples: 4000, StalenessMean: 6.8123}}}
	validated := classes
	loss, best := 0.38771, 0.91511
	validated.BestEpoch, validated.Validation = 7, Validation{ValidationLoss: &loss, ValidationAccuracy: &best}
	validated.Stopped = "patience 3: no better validation loss since epoch 7"
	validated.Detail = DetailOf([]string{"left", "right"}, []float32{0, 0, 0, 1, 1, 1, 1},
		[]float32{0, 0, 1, 1, 1, 1, 0})
	untested := validated
	untested.TestLoss, untested.TestAccuracy, untested.Detail, untested.Stopped = nan, nil, nil, "interrupted"
	lost := classes
	lost.TrainLoss, lost.TestLoss, lost.TestAccuracy, lost.ExamplesPerSecond, lost.Run = nan, math.Inf(1), &nan, nan, ""
	return map[string]Result{"classes": classes, "values": values, "hurt": hurt, "validated": validated,
		"untested": untested, "lost": lost}
}

func TestReportText(t *testing.T) {
	for name, r := range results() {
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		check.Golden(t, "report-"+name+".golden", b.String())
	}
}

// TestReportOfNothing: a run that was stopped before its first step has no training loss.
func TestReportOfNothing(t *testing.T) {
	r := results()["values"]
	r.Examples, r.Epochs, r.TrainLoss = 0, 0, math.NaN()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil || strings.Contains(b.String(), "train loss") ||
		strings.Contains(b.String(), "NaN") {
		t.Errorf("%v: %s", err, &b)
	}
}

func TestReportJSON(t *testing.T) {
	for name, r := range results() {
		var b bytes.Buffer
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		if name == "lost" { // null would come back as 0
			check.Golden(t, "report-lost.json.golden", b.String())
			continue
		}
		var back Result
		if err := json.Unmarshal(b.Bytes(), &back); err != nil {
			t.Fatalf("%s: %v", b.Bytes(), err)
		}
		r.Events = nil
		if d := cmp.Diff(r, back, cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
