package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// handmade is an experiment of three turns on two cores whose figures are round, so
// that all that is said of it can be worked out by hand.
func handmade() *Experiment {
	e := &Experiment{
		Kind: "bench", Name: "handmade", Command: "hogwild bench", Version: "0.1.0", Commit: "0123456789ab",
		Time: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), Seeds: []uint64{1, 2, 3},
		Machine: rundir.Machine{CPU: "Some CPU", Cores: 2, Kernel: "Linux 6.18", Go: "go1.26"},
	}
	for _, c := range []struct {
		mode    string
		workers int
		rate    [3]float64 // thousands of examples/s
		target  []float64
		loss    [3]float64
	}{
		{"async", 1, [3]float64{1000, 1100, 1200}, []float64{0.5, 0.4, 0.6}, [3]float64{0.31, 0.32, 0.30}},
		{"async", 2, [3]float64{2000, 1980, 1800}, []float64{0.3, 0.25, 0.2}, [3]float64{0.31, 0.30, 0.33}},
		{"sync", 1, [3]float64{1050, 1100, 1150}, []float64{0.5, 0.4, 0.6}, [3]float64{0.31, 0.32, 0.30}},
		{"sync", 2, [3]float64{1000, 990, 1080}, []float64{0.9, missing, 0.8}, [3]float64{0.41, 0.45, 0.40}},
	} {
		m := Measured{
			Case: Case{Name: fmt.Sprintf("%s-%d", c.mode, c.workers), Group: "digits", Settings: []Setting{
				{"data", "digits"}, {"model", "softmax"}, {"mode", c.mode}, {"workers", fmt.Sprint(c.workers)}}},
			Mode: c.mode, Workers: c.workers, Config: config.Default(), Targets: []human.Number{0.42},
		}
		m.Config.Model, m.Config.Mode, m.Config.Workers, m.Config.LR, m.Config.Epochs = "softmax",
			config.MustMode(c.mode), c.workers, 0.1, 10
		for i := range 3 {
			accuracy := 0.9
			m.Runs = append(m.Runs, Run{Seed: uint64(i) + 1, Result: &rundir.Result{Device: "cpu", Parameters: 7850,
				ValuesPerExample: 100, FlopsPerExample: 2e6, Batch: 64, ExamplesPerSecond: 1000 * c.rate[i],
				Seconds: 600 / c.rate[i], Examples: 600000, LRUsed: 0.1, TrainLoss: missing,
				Tested: rundir.Tested{TestLoss: c.loss[i], TestAccuracy: &accuracy}}})
			SecondsToTarget.put(&m.Runs[i], c.target[i])
			EpochsToTarget.put(&m.Runs[i], 4)
		}
		e.Cases = append(e.Cases, m)
	}
	return e
}

func text(t *testing.T, write func(w *bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func summary(t *testing.T, e *Experiment) string {
	return text(t, func(b *bytes.Buffer) error { return e.WriteText(b) })
}

// TestSummary holds each line of the table to figures that were worked out by hand.
func TestSummary(t *testing.T) {
	got := summary(t, handmade())
	var lines []string
	for line := range strings.Lines(got) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	if n := human.Widest(got); n > 110 {
		t.Errorf("%d columns:\n%s", n, got)
	}
	for _, want := range []string{
		"4 cases, 3 runs each, interleaved; medians (range)",
		"softmax on digits, cpu, batch 64, 10 epochs",
		"CASE WORKERS EXAMPLES/S VS ASYNC SPEED-UP",
		"async-1 1 1.10 M (1.00 to 1.20) 1.00",
		"async-2 2 1.98 M (1.80 to 2.00) 1.80 (1.50 to 2.00)",
		"sync-1 1 1.10 M (1.05 to 1.15) undecided 1.00",
		"sync-2 2 1.00 M (0.990 to 1.08) undecided 0.94 (0.90 to 0.95)", // three repeats
		"CASE LR TIME TO 0.42 VS ASYNC EPOCHS TEST LOSS LOSS VS ASYNC ACCURACY",
		"async-2 0.1 0.250 s (0.200 to 0.300) 4.00 0.3100 (0.3000 to 0.3300) 90.00%",
		"sync-1 0.1 0.500 s (0.400 to 0.600) undecided 4.00 0.3100 (0.3000 to 0.3200) undecided 90.00%",
		"sync-2 0.1 0.900 s, 2 of 3 undecided 4.00 0.4100 (0.4000 to 0.4500) undecided 90.00%",
	} {
		if !contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
}

func contains(lines []string, want string) bool {
	for _, line := range lines {
		if line == want {
			return true
		}
	}
	return false
}

// TestSummaryOfLongNames: names and ranges are kept whole; columns that have no room stand in a table of their own.
func TestSummaryOfLongNames(t *testing.T) {
	e := handmade()
	long := "average-every=1,global-batch=128,lr=0.05"
	e.Cases = append(e.Cases, e.Cases[1])
	e.Cases[4].Name = long
	got := summary(t, e)
	if n := human.Widest(got); n > tableWidth {
		t.Errorf("%d columns:\n%s", n, got)
	}
	for _, row := range []string{` +2 +1\.98 M \(1\.80 to 2\.00\) +1\.80 \(1\.50 to 2\.00\)`,
		` +0\.3100 \(0\.3000 to 0\.3300\) +90\.00%`} {
		if !regexp.MustCompile(long + row).MatchString(got) {
			t.Errorf("no row %v in\n%s", row, got)
		}
	}
}

// TestSummaryOfDevices: a case on a GPU and one on as many cores are told apart by their names.
func TestSummaryOfDevices(t *testing.T) {
	e := handmade()
	e.Cases[0].Name, e.Cases[1].Name, e.Cases[1].Config.GPU = "cores", "board", "0"
	if got := summary(t, e); !regexp.MustCompile(`(?m)^board +2 `).MatchString(got) {
		t.Errorf("no row of the case board in\n%s", got)
	}
}

// TestSummaryOfFailures: what has no figures is said, and leaves no NaN.
func TestSummaryOfFailures(t *testing.T) {
	e := handmade()
	c := &e.Cases[3]
	for i := range c.Runs {
		c.Runs[i] = Run{Failed: "the numbers diverged"}
	}
	got := summary(t, e)
	for _, want := range []string{"sync-2: 3 of 3 runs failed and are left out: the numbers diverged", "failed"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "NaN") {
		t.Errorf("NaN in\n%s", got)
	}
}

// TestSummaryOfPart: of an experiment that was stopped, what was not run is left out, and said.
func TestSummaryOfPart(t *testing.T) {
	e := handmade()
	for i := range 3 {
		e.Cases[2].Runs[i].Failed = notRun
	}
	e.Cases[3].Runs[0] = Run{Failed: notRun}
	got := summary(t, e)
	for want, there := range map[string]bool{
		"4 of 12 runs not run yet": true, "\nsync-1 ": false, "not reached (1 of 2 did)": true, "failed": false,
	} {
		if strings.Contains(got, want) != there {
			t.Errorf("%q is there: %v, in\n%s", want, !there, got)
		}
	}
}

func TestBaseline(t *testing.T) {
	e := handmade()
	name := func(m *Measured) string {
		if m == nil {
			return ""
		}
		return m.Name
	}
	if got := name(e.baseline(&e.Cases[3])); got != "sync-1" {
		t.Errorf("sync-2 is measured against %q", got)
	}
	e.Cases[2].Group = "another"
	if got := name(e.baseline(&e.Cases[3])); got != "async-1" {
		t.Errorf("without sync-1, sync-2 is measured against %q", got)
	}
	e.Cases[3].Settings = append(e.Cases[3].Settings, Setting{"average-every", "1"})
	if got := name(e.baseline(&e.Cases[3])); got != "async-1" {
		t.Errorf("with a flag of sync, sync-2 is measured against %q", got)
	}
	e.Cases[3].Settings = append(e.Cases[3].Settings, Setting{"lr", "1"})
	if got := name(e.baseline(&e.Cases[3])); got != "" || e.SpeedUp(&e.Cases[3]) != nil {
		t.Errorf("with another learning rate, sync-2 is measured against %q", got)
	}
	if got := name(e.Rival(&e.Cases[1])); got != "" {
		t.Errorf("the first mode is compared with %q", got)
	}
}

// TestExperimentJSON: what is written reads back, with what does not exist as NaN.
func TestExperimentJSON(t *testing.T) {
	e, back := handmade(), &Experiment{}
	raw := text(t, func(b *bytes.Buffer) error { return e.WriteJSON(b) })
	if err := json.Unmarshal([]byte(raw), back); err != nil {
		t.Fatal(err)
	}
	same := cmp.Comparer(func(a, b human.Number) bool { return a == b || a != a && b != b })
	if diff := cmp.Diff(e, back, same, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("written and read back (-want +got):\n%s", diff)
	}
}
