package bench

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// TestReach compares with answers by hand.
func TestReach(t *testing.T) {
	run := func(losses ...float64) (h []rundir.EpochResult) { // an epoch takes two seconds
		for i, l := range losses {
			h = append(h,
				rundir.EpochResult{Epoch: i + 1, Seconds: 2 * float64(i+1), Tested: rundir.Tested{TestLoss: l}})
		}
		return h
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name            string
		history         []rundir.EpochResult
		goal            float64
		seconds, epochs float64
	}{
		{"half-way between the first two ends", run(1, 0.5, 0.25), 0.75, 3, 1.5},
		{"at an end", run(1, 0.5, 0.25), 0.5, 4, 2},
		{"a quarter after the second", run(1, 0.8, 0.4), 0.7, 4.5, 2.25},
		{"in the first epoch: its end", run(1, 0.5), 2, 2, 1},
		{"never", run(1, 0.5), 0.4, nan, nan},
		{"only the first time counts", run(1, 0.5, 0.9, 0.1), 0.5, 4, 2},
		{"after one without a finite loss", run(nan, 0.5), 0.7, 4, 2},
		{"after infinity", run(inf, 0.5), 0.7, 4, 2},
		{"it diverged", run(nan, nan), 0.7, nan, nan},
		{"nothing", nil, 0.7, nan, nan},
		{"no goal", run(1, 0.5), nan, nan, nan},
	} {
		s, n := Reach(c.history, c.goal)
		same := func(a, b float64) bool { return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-12 }
		if !same(s, c.seconds) || !same(n, c.epochs) {
			t.Errorf("%s: %v s, %v epochs, want %v and %v", c.name, s, n, c.seconds, c.epochs)
		}
	}
}

// TestGoals: 1.05, 1.1 and 1.3 times the median of the best case, whatever the others do.
func TestGoals(t *testing.T) {
	for _, c := range []struct {
		name   string
		losses [][]float64
		want   []float64
	}{
		{"the best", [][]float64{{0.6}, {0.5}, {0.55}}, []float64{0.525, 0.55, 0.65}},
		{"its median", [][]float64{{0.4, 0.9, 0.9}, {0.3, 0.5, 0.7}}, []float64{0.525, 0.55, 0.65}},
		{"and a bad case", [][]float64{{0.6}, {0.5}, {0.55}, {0.7}, {2.3}}, []float64{0.525, 0.55, 0.65}},
		{"and what failed", [][]float64{{0.6}, {missing}, {0.5, missing}}, []float64{0.525, 0.55, 0.65}},
		{"all failed", [][]float64{{missing}, {missing}}, []float64{math.NaN()}},
		{"less than nothing", [][]float64{{-2}, {-1}}, []float64{-1.9, -1.8, -1.4}},
	} {
		var cases []*Measured
		for _, l := range c.losses {
			cases = append(cases, having(TestLoss, l...))
		}
		got := goalsOf(cases)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool {
			return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-12
		}) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestTargets: each group has its own, unless one is given, and a run that failed reaches none.
func TestTargets(t *testing.T) {
	history := []rundir.EpochResult{{Epoch: 1, Seconds: 1, Tested: rundir.Tested{TestLoss: 0.2}}}
	one := func(group string, loss float64, failed string) Measured {
		m := having(TestLoss, loss)
		m.Group, m.Runs[0].Failed, m.Runs[0].History = group, failed, history
		return *m
	}
	e := &Experiment{Cases: []Measured{one("a", 1, ""), one("b", 0.1, ""), one("b", missing, "no")}}
	e.setTargets(0)
	if a, b := e.Cases[0].Target(), e.Cases[1].Target(); a != 1.05 || math.Abs(b-0.105) > 1e-12 {
		t.Errorf("targets %v and %v, want 1.05 and 0.105", a, b)
	}
	if f := e.Cases[1].Targets; len(f) != 3 || math.Abs(float64(f[2])-0.13) > 1e-12 ||
		human.Finite(float64(e.Cases[1].Runs[0].SecondsToTarget[2])) {
		t.Errorf("further targets of a run that ends its only epoch at 0.2: %+v", f)
	}
	e.setTargets(0.5)
	for i, want := range []float64{1, 1, math.NaN()} {
		got := e.Cases[i].Runs[0].SecondsToTarget
		if len(got) != 1 || math.IsNaN(want) != math.IsNaN(float64(got[0])) ||
			!math.IsNaN(want) && float64(got[0]) != want || e.Cases[i].Target() != 0.5 {
			t.Errorf("case %d: %v s to %v, want %v", i, got, e.Cases[i].Target(), want)
		}
	}
}

// TestTimeLeft: cases take as long as they took, others as long as the mean.
func TestTimeLeft(t *testing.T) {
	p := newProgress(nil, "", [][]*trial{{{Run: Run{Took: 2}}, {Run: Run{Took: 4}}, nil},
		{{Run: Run{Took: 12}}, nil, {Run: Run{Failed: "no", Took: 99}}},
		{nil, nil, nil}})
	defer p.close()
	if p.done != 3 || p.total != 9 {
		t.Errorf("%d of %d are done, want 3 of 9", p.done, p.total)
	}
	if got := p.remaining(0); got != 3+2*12+3*6 {
		t.Errorf("%v s left, want 45", got)
	}
	p.start(1, Case{}, 1, "")
	for elapsed, want := range map[float64]float64{5: 40, 12: 33, 500: 33} {
		if got := p.remaining(elapsed); got != want {
			t.Errorf("%v s left after %v s, want %v", got, elapsed, want)
		}
	}
	empty := newProgress(nil, "", [][]*trial{{nil}})
	defer empty.close()
	if got := empty.remaining(0); got != 0 {
		t.Errorf("%v s left, but nothing is known", got)
	}
}

// TestLatest reads the end of a file whose lines are cut at both ends.
func TestLatest(t *testing.T) {
	folder := t.TempDir()
	if rate, loss := latest(folder); human.Finite(rate) || human.Finite(loss) {
		t.Errorf("of nothing: %v and %v", rate, loss)
	}
	line := `{"kind":"second","examples_per_second":7}` + "\n" + `{"kind":"epoch","test_loss":0.5}` + "\n"
	text := strings.Repeat(line, 1000) + `{"kind":"second","examples_per_second":8}` + "\n" + `{"kind":"epoch","test_lo`
	if err := os.WriteFile(filepath.Join(folder, "metrics.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if rate, loss := latest(folder); rate != 8 || loss != 0.5 {
		t.Errorf("%v and %v, want 8 and 0.5", rate, loss)
	}
}

// TestReadExperimentErrors: one line each, for the user.
func TestReadExperimentErrors(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"cut.json": `{"kind": "ben`, "other.json": `{"mode": "async"}`,
		"type.json": `{"kind": 1}`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"": "results.json does not exist", "nowhere": "nowhere does not exist",
		"cut.json":   "cut.json: neither a run folder nor the results of an experiment",
		"other.json": "it has no cases", "type.json": "not results of"} {
		_, err := ReadExperiment(filepath.Join(folder, name))
		if !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
}

// TestWriteFile: a file is replaced when it is whole, and not before.
func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write := func(text string, err error) error {
		return WriteFile(path, func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		})
	}
	full := errors.New("the disk is full")
	if err := write("old", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("ne", full); !errors.Is(err, full) || readFile(path) != "old" {
		t.Errorf("%v, and the file holds %q", err, readFile(path))
	}
	if err := write("new", nil); err != nil || readFile(path) != "new" {
		t.Errorf("%v, and the file holds %q", err, readFile(path))
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
