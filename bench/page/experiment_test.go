package page

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"hogwild/bench"
	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// handmade is an experiment of two modes with 1, 2 and 4 workers on two cores, three
// repeats. Rates are 100, 110 and 120 thousand with one worker of async, twice as much
// with two and three times with four; sync has half of that.
func handmade() *bench.Experiment {
	e := &bench.Experiment{
		Kind: "bench", Name: "modes", Command: "hogwild bench --modes async,sync", Version: "0.1.0",
		Commit: "0123456789ab",
		Time:   time.Date(2026, 11, 22, 10, 30, 0, 0, time.UTC), Seeds: []uint64{1, 2, 3},
		Machine: rundir.Machine{CPU: "A Processor", Cores: 2, Memory: 8 << 30, Kernel: "Linux 6.1", Go: "go1.26"},
	}
	for i, mode := range []string{"async", "sync"} {
		for j, workers := range []int{1, 2, 4} {
			e.Cases = append(e.Cases, measured(mode, workers, float64(j+1)/float64(i+1)))
		}
	}
	return e
}

// measured returns a case that is times as fast as one worker of async.
func measured(mode string, workers int, times float64) bench.Measured {
	cfg := config.Default()
	cfg.Mode, cfg.Workers, cfg.Model = config.MustMode(mode), workers, "softmax"
	c := bench.Measured{
		Case: bench.Case{Name: fmt.Sprintf("%s-%d", mode, workers), Settings: []bench.Setting{
			{Flag: "data", Value: "digits"}, {Flag: "mode", Value: mode}, {Flag: "workers", Value: fmt.Sprint(workers)},
		}},
		Mode: mode, Workers: workers, Config: cfg, Targets: []human.Number{0.5},
	}
	stale := [][2]uint64{{0, 50}, {1, 25}, {2, 10}, {3, 10}, {300, 5}}
	for i, rate := range []float64{100e3, 110e3, 120e3} {
		rate *= times
		accuracy := 0.8825
		c.Runs = append(c.Runs, bench.Run{Seed: uint64(i) + 1, History: history(rate), Result: &rundir.Result{
			Device: "cpu", ExamplesPerSecond: rate, Seconds: 120e3 / rate, TrainLoss: nan,
			Tested:      rundir.Tested{TestLoss: 0.4, TestAccuracy: &accuracy},
			Instruments: &control.Instruments{LostUpdates: 0.0012, StalenessSamples: 100, StalenessHistogram: stale}},
			SecondsToTarget: []human.Number{human.Number(90e3 / rate)}, EpochsToTarget: []human.Number{1.5}})
		stale = nil
	}
	return c
}

// put sets a figure of a case's runs, and adds those that are not there.
func put(f *bench.Figure, c *bench.Measured, list ...float64) {
	for i, x := range list {
		if i == len(c.Runs) {
			c.Runs = append(c.Runs, bench.Run{Seed: uint64(i) + 1, Result: &rundir.Result{ExamplesPerSecond: nan,
				TrainLoss: nan, Tested: rundir.Tested{TestLoss: nan}}})
		}
		if f == bench.SecondsToTarget {
			c.Runs[i].SecondsToTarget = []human.Number{human.Number(x)}
			continue
		}
		text, _ := json.Marshal(map[string]human.Number{f.Name: human.Number(x)})
		if err := json.Unmarshal(text, c.Runs[i].Result); err != nil {
			panic(err)
		}
	}
}

// history is two epochs of 60,000 examples at a rate.
func history(rate float64) (epochs []rundir.EpochResult) {
	for i, loss := range []float64{0.6, 0.4} {
		accuracy := 0.8 + float64(i)/10
		n := int64(i+1) * 60000
		epochs = append(epochs, rundir.EpochResult{
			Epoch: i + 1, Seconds: float64(n) / rate, Examples: n, LR: 0.1, TrainLoss: loss,
			Tested: rundir.Tested{TestLoss: loss, TestAccuracy: &accuracy},
		})
	}
	return epochs
}

// cell is a cell of a section's table.
func cell(t *testing.T, p *Page, section, row, head string) string {
	t.Helper()
	for _, s := range p.Sections {
		if s.Title != section || s.Table == nil {
			continue
		}
		at := slices.Index(s.Table.Heads, head)
		if s.Table.Heads == nil {
			at = 1 // names and values
		}
		for _, r := range s.Table.Rows {
			if r[0] == row && at >= 0 {
				return r[at]
			}
		}
		t.Fatalf("%s: no cell %s of %s; the heads are %q", section, head, row, s.Table.Heads)
	}
	t.Fatalf("no table in a section %s", section)
	return ""
}

// drawing is a figure of a page.
func drawing(t *testing.T, p *Page, name string) figure.Figure {
	t.Helper()
	var names []string
	for _, f := range p.Figures() {
		if f.Name == name {
			return f
		}
		names = append(names, f.Name)
	}
	t.Fatalf("no figure %s; there are %q", name, names)
	return figure.Figure{}
}

func series(t *testing.T, f figure.Figure, name string) figure.Series {
	t.Helper()
	for _, s := range f.Series {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("%s: no series %s", f.Name, name)
	return figure.Series{}
}

func TestTableOfCases(t *testing.T) {
	p := OfExperiment(sixfold(handmade()))
	for _, c := range []struct{ row, head, want string }{
		{"async-1", "examples/s", "110 k (100 to 120)"},
		{"async-2", "speed-up", "2.00"},
		{"sync-4", "speed-up", "3.00"}, // over one worker of sync
		{"sync-2", "vs async", "0.50"},
		{"async-2", "vs async", ""},
		{"async-2", "time to 0.5", "0.409 s (0.375 to 0.450)"},
		{"async-2", "test loss", "0.4000"},
		{"async-2", "accuracy", "88.25%"},
		{"async-2", "lost updates", "0.12%"},
		{"sync-4", "workers", "4"},
	} {
		table := "Results"
		if slices.Contains([]string{"workers", "examples/s", "speed-up", "vs async", "lost updates"}, c.head) {
			table = "Speed"
		}
		if got := cell(t, p, table, c.row, c.head); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.head, c.row, got, c.want)
		}
	}
	for _, head := range []string{"RMSE", "R²", "taken"} { // none was measured
		for _, s := range p.Sections {
			if s.Table != nil && slices.Contains(s.Table.Heads, head) {
				t.Errorf("%s has a column %s", s.Title, head)
			}
		}
	}
}

func TestTargetNotReached(t *testing.T) {
	e := handmade()
	put(bench.SecondsToTarget, &e.Cases[3], nan, nan, nan)
	p := OfExperiment(e)
	if got := cell(t, p, "Results", "sync-1", "time to 0.5"); got != "not reached" {
		t.Errorf("%q, want not reached", got)
	}
	e.Cases[0].Runs[1].SecondsToTarget[0] = human.NumberOf(nil)
	if got := cell(t, OfExperiment(e), "Results", "async-1", "time to 0.5"); got != "0.900 s, 2 of 3" {
		t.Errorf("%q, want how many got there", got)
	}
	if got := len(drawing(t, p, "time-to-target").Series); got != 2 {
		t.Errorf("%d modes have a line, want both: sync got there with more workers", got)
	}
}

func TestSpeedUpFigure(t *testing.T) {
	f := drawing(t, OfExperiment(handmade()), "speed-up")
	ideal := series(t, f, "ideal")
	if want := []figure.Point{{X: 1, Y: 1}, {X: 2, Y: 2}, {X: 4, Y: 2}}; !slices.Equal(ideal.Points, want) {
		t.Errorf("the ideal on two cores is %v, want %v", ideal.Points, want)
	}
	for _, mode := range []string{"async", "sync"} {
		for i, p := range series(t, f, mode).Points {
			if p.X != []float64{1, 2, 4}[i] || math.Abs(p.Y-float64(i+1)) > 1e-9 {
				t.Errorf("%s: %v, want a speed-up of %d", mode, p, i+1)
			}
		}
	}
	e := handmade()
	e.Machine.Cores = 64
	ideal = series(t, drawing(t, OfExperiment(e), "speed-up"), "ideal")
	if want := []figure.Point{{X: 1, Y: 1}, {X: 4, Y: 4}}; !slices.Equal(ideal.Points, want) {
		t.Errorf("the ideal on many cores is %v, want %v", ideal.Points, want)
	}
}

// TestCurvesAreMedians has three repeats: one ended after an epoch, and one went on for three: of
// the third epoch there is no median.
func TestCurvesAreMedians(t *testing.T) {
	e := handmade()
	for i, repeat := range [][]figure.Point{{{X: 1, Y: 0.9}, {X: 2, Y: 0.3}, {X: 3, Y: 0.2}},
		{{X: 1.2, Y: 0.6}, {X: 2.5, Y: 0.5}}, {{X: 3, Y: 0.1}}} {
		var h []rundir.EpochResult
		for _, p := range repeat {
			h = append(h, rundir.EpochResult{Seconds: p.X, Tested: rundir.Tested{TestLoss: p.Y}})
		}
		e.Cases[1].Runs[i].History = h
	}
	want := []figure.Point{{X: 1.2, Y: 0.6}, {X: 2.25, Y: 0.4}}
	if got := series(t, drawing(t, OfExperiment(e), "2-workers-loss-against-time"),
		"async").Points; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAccuracyIsInPercent(t *testing.T) {
	got := series(t, drawing(t, OfExperiment(handmade()), "2-workers-accuracy-against-time"), "sync").Points
	if len(got) != 2 || math.Abs(got[1].Y-90) > 1e-9 {
		t.Errorf("%v, want 80%% and 90%%", got)
	}
}

func TestModeHasOneColour(t *testing.T) {
	e := handmade()
	for i := range e.Cases {
		e.Cases[i].Group = "digits"
	}
	for _, c := range handmade().Cases[3:] { // only sync, and it comes first
		c.Group = "rcv1"
		e.Cases = slices.Insert(e.Cases, 0, c)
	}
	colors := map[string]int{}
	for _, f := range OfExperiment(e).Figures() {
		for _, s := range f.Series {
			if !slices.Contains(modes, s.Name) {
				continue
			}
			if c, ok := colors[s.Name]; ok && c != s.Color {
				t.Errorf("%s: %s has the colour %d, and %d elsewhere", f.Name, s.Name, s.Color, c)
			}
			colors[s.Name] = s.Color
		}
	}
	if len(colors) != 2 || colors["async"] == colors["sync"] {
		t.Errorf("colours of modes: %v", colors)
	}
}

// TestGroupsAreToldApart has groups whose names are the same to a file's name.
func TestGroupsAreToldApart(t *testing.T) {
	e := handmade()
	for _, group := range []string{"a b", "a-b", "数", ""} {
		for _, c := range handmade().Cases {
			c.Group = group
			e.Cases = append(e.Cases, c)
		}
	}
	p := OfExperiment(e)
	whole(t, p)
	names := map[string]bool{}
	for _, f := range p.Figures() {
		if names[f.Name] {
			t.Errorf("two figures are called %s", f.Name)
		}
		names[f.Name] = true
	}
}

// TestStaleness adds up 50, 25, 20 and 5 of 100 samples; 300 lies between 256 and 512.
func TestStaleness(t *testing.T) {
	got := series(t, drawing(t, OfExperiment(handmade()), "2-workers-staleness"), "async").Points
	want := map[float64]float64{0.5: 50, 1: 25, 2: 20, 256: 5}
	for _, p := range got {
		if p.Y != want[p.X] {
			t.Errorf("%g%% from %g on, want %g%%", p.Y, p.X, want[p.X])
		}
	}
	if last := got[len(got)-1]; last.X != 256 {
		t.Errorf("the last mark is at %v, want 256", last)
	}
}

func TestSweepOverFields(t *testing.T) {
	e := &bench.Experiment{Kind: "sweep", Name: "lr", Seeds: []uint64{1}}
	for _, lr := range []string{"0.01", "0.1", "1"} {
		for _, batch := range []string{"1", "64"} {
			loss := float64(len(lr)) // 0.01: 4, 0.1: 3, 1: 1
			if batch == "64" {
				loss += 0.5
			}
			e.Cases = append(e.Cases, bench.Measured{
				Case: bench.Case{Name: "lr=" + lr + ",batch=" + batch, Settings: []bench.Setting{
					{Flag: "lr", Value: lr}, {Flag: "batch", Value: batch}, {Flag: "model", Value: "softmax"},
				}},
				Mode: "async", Workers: 1,
			})
			put(bench.TestLoss, &e.Cases[len(e.Cases)-1], loss)
		}
	}
	p := OfExperiment(e)
	f := drawing(t, p, "loss-by-lr")
	if !f.X.Log || f.X.Label != "learning rate, --lr" {
		t.Errorf("the axis is %+v, want a logarithmic one of the learning rate", f.X)
	}
	want := []figure.Point{{X: 0.01, Y: 4.5, Low: 4.5, High: 4.5}, {X: 0.1, Y: 3.5, Low: 3.5, High: 3.5},
		{X: 1, Y: 1.5, Low: 1.5, High: 1.5}}
	if got := series(t, f, "batch 64").Points; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := len(series(t, drawing(t, p, "loss-by-batch"), "lr 0.1").Points); got != 2 {
		t.Errorf("%d points by batch, want 2", got)
	}
	put(bench.TestLoss, &e.Cases[5], 1e28)          // lr 1, batch 64
	put(bench.TestLoss, &e.Cases[1], 4.5, 4.5, 1e9) // one repeat of lr 0.01, batch 64
	f = drawing(t, OfExperiment(e), "loss-by-lr")
	points := series(t, f, "batch 64").Points
	if len(points) != 1 || points[0].X != 0.1 || !strings.Contains(f.Caption, "Not shown: 2 cases with a loss beyond "+
		"100 times") {
		t.Errorf("with cases that diverged: %v, %q", points, f.Caption)
	}
}

// TestSweepOfDependentFields: only sync has an average-every, and it has a line in the
// figures over lr and workers all the same; over average-every there is nothing to see.
func TestSweepOfDependentFields(t *testing.T) {
	e := &bench.Experiment{Kind: "sweep", Name: "lr", Seeds: []uint64{1}}
	for _, mode := range []string{"async", "sync"} {
		for _, lr := range []string{"0.01", "0.1"} {
			for _, workers := range []int{1, 2} {
				c := measured(mode, workers, 1)
				c.Name, c.Settings = "", append(c.Settings, bench.Setting{Flag: "lr", Value: lr})
				if mode == "sync" {
					c.Settings = append(c.Settings, bench.Setting{Flag: "average-every", Value: "1"})
					c.Config.AverageEvery = 1
				}
				e.Cases = append(e.Cases, c)
			}
		}
	}
	p := OfExperiment(e)
	for _, name := range []string{"loss-by-lr", "loss-by-workers"} {
		f := drawing(t, p, name)
		for _, s := range f.Series {
			if len(s.Points) != 2 {
				t.Errorf("%s: %s has %d points, want 2", name, s.Name, len(s.Points))
			}
		}
		if len(f.Series) != 4 {
			t.Errorf("%s: %d lines, want 4", name, len(f.Series))
		}
	}
	series(t, drawing(t, p, "loss-by-lr"), "sync, workers 2, average-every 1")
	series(t, drawing(t, p, "loss-by-workers"), "async, lr 0.1")
	for _, f := range p.Figures() {
		if strings.HasSuffix(f.Name, "by-average-every") {
			t.Errorf("a figure %s", f.Name)
		}
	}
}

// TestWhatIsMissing has a case with a failed run, one whose runs have no losses, and one that has
// nothing but its name.
func TestWhatIsMissing(t *testing.T) {
	e := handmade()
	e.Cases[1].Runs[2] = bench.Run{Failed: "the numbers diverged in epoch 2"}
	put(bench.TestLoss, &e.Cases[2], nan, nan, nan)
	for i := range e.Cases[2].Runs {
		e.Cases[2].Runs[i].History = nil
	}
	e.Cases = append(e.Cases, bench.Measured{Case: bench.Case{Name: "nothing"}, Mode: "atomic", Workers: 8})
	p := OfExperiment(e)
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, "async-2: 1 of 3 runs failed") {
		t.Errorf("no note that runs failed: %q", notes)
	}
	if got := cell(t, p, "Results", "async-4", "test loss"); got != "" {
		t.Errorf("a loss that is not finite: %q", got)
	}
	if got := cell(t, p, "Failed runs", "async-2", "why"); !strings.Contains(got, "diverged") {
		t.Errorf("why a run failed: %q", got)
	}
	whole(t, p)
	whole(t, OfExperiment(&bench.Experiment{}))
}
