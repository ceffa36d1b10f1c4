package tune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
	"hogwild/internal/check"
)

// A worker of a test is this test binary started again.
func TestMain(m *testing.M) {
	// The race detector lets each process sleep for a second before it ends.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	if workers.IsWorker() {
		os.Exit(worker.Main())
	}
	os.Exit(m.Run())
}

// inFull skips a test of many runs when tests are to be short, as under the race detector.
func inFull(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("only without -short")
	}
}

// train runs c in a folder of its own.
func train(t *testing.T, c config.Config) (rundir.Result, error) {
	t.Helper()
	c.Run = t.TempDir()
	return run.Run(t.Context(), c, run.Options{})
}

// mustTrain trains to a good end.
func mustTrain(t *testing.T, c config.Config) rundir.Result {
	t.Helper()
	result, err := train(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// nothingLeft fails the test if this process still has workers, or memory or goroutines of runs.
func nothingLeft(t *testing.T) {
	t.Helper()
	var left []string
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		left = nil
		tasks, _ := filepath.Glob("/proc/self/task/*/children")
		for _, task := range tasks {
			if pids, _ := os.ReadFile(task); len(pids) > 0 {
				left = append(left, "processes "+string(pids))
			}
		}
		links, _ := filepath.Glob("/proc/self/fd/*")
		for _, link := range links {
			if target, _ := os.Readlink(link); strings.Contains(target, "memfd:hogwild") {
				left = append(left, target)
			}
		}
		if maps, err := os.ReadFile("/proc/self/maps"); err != nil || bytes.Contains(maps, []byte("memfd:hogwild")) {
			left = append(left, "mapped memory")
		}
		stacks := make([]byte, 1<<20)
		if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("run.(*coordinator)")) {
			left = append(left, string(stacks))
		}
		if left == nil {
			return
		}
	}
	t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
}

// TestTune: the learning rate that tuning finds does not diverge, and has a lower test loss than the default, or is it.
func TestTune(t *testing.T) {
	inFull(t)
	for _, c := range []struct {
		name, data string
		edit       func(*config.Config)
	}{
		{"digits", "digits:3000", func(c *config.Config) {}},
		{"digits mlp momentum", "digits:3000", func(c *config.Config) { c.Model, c.Optimizer = "mlp:16", "momentum" }},
		{"digits from above", "digits:3000", func(c *config.Config) { c.LR, c.LRCap = 100, "off" }},
		{"digits sync", "digits:3000", func(c *config.Config) { c.Mode = config.MustMode("sync") }},
		// Of two workers' short runs with adam chance decides between rates that are alike.
		{"digits adam", "digits:3000", func(c *config.Config) { c.Optimizer, c.Workers = "adam", 1 }},
		{"mnist", "mnist", func(c *config.Config) {}},
		{"a9a", "a9a/a9a", func(c *config.Config) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			var text bytes.Buffer
			settings := configtest.Dense()
			settings.Data, settings.Workers, settings.Epochs = c.data, 2, 3
			if c.edit(&settings); !strings.HasPrefix(c.data, "digits") {
				settings.Data = check.Data(t, c.data)
			}
			tuned, trials, err := Tune(t.Context(), settings, run.Options{Progress: &text})
			nothingLeft(t)
			if err != nil {
				t.Fatal(err)
			}
			for _, tr := range trials {
				if tr.LR == tuned.LR && tr.Momentum == tuned.Momentum && math.IsInf(tr.Loss, 1) {
					t.Errorf("%+v diverged, and was chosen", tr)
				}
			}
			if n := strings.Count(text.String(), "  lr "); n != len(trials) ||
				!strings.Contains(text.String(), "tuned: lr ") {
				t.Errorf("%d trials, but the text has %d:\n%s", len(trials), n, text.String())
			}
			if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) != 0 {
				t.Errorf("files are left behind: %v (%v)", files, err)
			}
			plain, err := train(t, settings)
			if errors.Is(err, config.ErrDiverged) {
				plain.TestLoss = math.Inf(1)
			} else if err != nil {
				t.Fatal(err)
			}
			best := mustTrain(t, tuned)
			t.Logf("lr %g momentum %g: loss %.4f; untuned %.4f", tuned.LR, tuned.Momentum, best.TestLoss,
				plain.TestLoss)
			if !(best.TestLoss < plain.TestLoss) && tuned.LR != settings.LR || best.LRUsed != tuned.LR {
				t.Errorf("learning rate %g (used %g): loss %g, it was %g untuned", tuned.LR, best.LRUsed, best.TestLoss,
					plain.TestLoss)
			}
		})
	}
}

// TestTuneStops: interrupted, it ends as a run does, and leaves nothing behind.
func TestTuneStops(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c := configtest.Dense()
	c.Data, c.Workers, c.Run = "digits:2000", 1, t.TempDir()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, _, err := Tune(ctx, c, run.Options{}); !errors.Is(err, config.ErrInterrupted) {
		t.Errorf("error %v, want ErrInterrupted", err)
	}
	nothingLeft(t)
	if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) != 0 {
		t.Errorf("files are left behind: %v (%v)", files, err)
	}
	c.Resume = c.Run
	if _, _, err := Tune(t.Context(), c, run.Options{}); !errors.Is(err, config.ErrUsage) ||
		!strings.Contains(err.Error(), "leave one of them out") {
		t.Errorf("tuning a run that is resumed: %v", err)
	}
}

// sparseRows writes rows of features that are 1, and their labels.
func sparseRows(t *testing.T, n int, row func(i int) (label bool, features []int)) string {
	t.Helper()
	var text bytes.Buffer
	for i := range n {
		label, features := row(i)
		fmt.Fprint(&text, map[bool]string{true: "1", false: "-1"}[label])
		for _, j := range features {
			fmt.Fprintf(&text, " %d:1", j+1)
		}
		fmt.Fprintln(&text)
	}
	path := filepath.Join(t.TempDir(), "rows.svm")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sparseTuning returns the settings with which tuning a small logistic model begins. It is tested on the training rows,
// the other way round.
func sparseTuning(t *testing.T, path string) config.Config {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	slices.Reverse(lines)
	c := config.Default()
	c.Data, c.Test, c.Model, c.Workers, c.Epochs = path, filepath.Join(t.TempDir(), "test.svm"), "logistic", 1, 5
	if err := os.WriteFile(c.Test, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// tuned runs Tune.
func tuned(t *testing.T, c config.Config) (config.Config, []Trial, string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var text bytes.Buffer
	c, trials, err := Tune(t.Context(), c, run.Options{Progress: &text})
	if err != nil {
		t.Fatal(err)
	}
	return c, trials, text.String()
}

// TestTuneHoldsOut: no run of tuning trains on the rows that it is judged by. Each row has a feature of its own, which
// tells its label to a run that has trained on it, and nothing to others: these lose log 2 at least, but for the rows'
// uneven shares.
func TestTuneHoldsOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := sparseTuning(t, sparseRows(t, 400, func(i int) (bool, []int) { return r.IntN(2) == 0, []int{i} }))
	c.LR = 1
	if all := mustTrain(t, c); !(all.TestLoss < 0.3) {
		t.Fatalf("a run that trains on all rows comes to %g: they are not learned", all.TestLoss)
	}
	c.LR = 0
	c, trials, text := tuned(t, c)
	for _, tr := range trials {
		if !(tr.Loss > 0.67) {
			t.Errorf("%+v: it has seen rows held out", tr)
		}
	}
	if want := "judged by 120 rows held out; 1 worker"; !strings.Contains(text, want) ||
		!strings.Contains(c.Tuned, "on 120 rows held out") {
		t.Errorf("no %q in %s", want, text)
	}
	if r := mustTrain(t, c); !strings.Contains(r.Auto, fmt.Sprintf("lr %g (tuned", c.LR)) {
		t.Errorf("the report says %q", r.Auto)
	}
}

// TestTuneByValidation: the rows of --validation decide. Here they are labelled the other way round, so that every step
// is one too many; a tenth of the training rows prefers long steps.
func TestTuneByValidation(t *testing.T) {
	inFull(t)
	rows := func(n int, flip bool) string {
		return sparseRows(t, n, func(i int) (bool, []int) { return (i%4 < 2) != flip, []int{i % 4, 4 + i%7} })
	}
	c := sparseTuning(t, rows(400, false))
	own, _, _ := tuned(t, c)
	c.Validation = rows(60, true)
	other, _, text := tuned(t, c)
	if !(own.LR >= 0.1 && other.LR < 1e-3) || !strings.Contains(text, "60 rows held out") {
		t.Errorf("lr %g by rows like those trained on, %g by others:\n%s", own.LR, other.LR, text)
	}
}

// TestTuneByHeldOutRows: where many features are rare, the rate with the least training loss learns rows by heart.
// Tuning takes one that is better on other rows.
func TestTuneByHeldOutRows(t *testing.T) {
	inFull(t)
	r := rand.New(rand.NewPCG(3, 4))
	row := func(int) (bool, []int) {
		features := []int{r.IntN(4)}
		for j := range 20 {
			features = append(features, 4+100*j+r.IntN(100))
		}
		return (r.Float64() < 0.8) == (features[0] < 2), features
	}
	c := sparseTuning(t, sparseRows(t, 800, row))
	c.Test = sparseRows(t, 2000, row)
	c.LRCap = "off"
	c.LR = 0
	best, _, text := tuned(t, c)
	greedy, least := 0.0, math.Inf(1) // by training loss
	losses := map[float64]float64{}
	for i := -9; i <= 0; i++ {
		c.LR = rung(i)
		res := mustTrain(t, c)
		if losses[c.LR] = res.TestLoss; res.TrainLoss < least {
			greedy, least = c.LR, res.TrainLoss
		}
	}
	got := mustTrain(t, best).TestLoss
	t.Logf("by rows held out lr %g: test loss %.4f; by those trained on %g: %.4f\n%s", best.LR, got, greedy,
		losses[greedy], text)
	if !(best.LR < greedy && got < 0.9*losses[greedy]) {
		t.Errorf("lr %g has test loss %g; by rows trained on lr %g, %g", best.LR, got, greedy, losses[greedy])
	}
}

// TestTuneIsStable: where some inputs lie far from all, single steps are stable at the rate chosen, whichever trials of
// longer ones have trained. The run has the schedule by which its rate was found.
func TestTuneIsStable(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	text := bytes.NewBufferString("a,b,c,y\n")
	for range 1200 {
		x := [3]float64{}
		for j := range x {
			x[j] = r.NormFloat64() / (0.02 + math.Abs(r.NormFloat64()))
		}
		fmt.Fprintf(text, "%g,%g,%g,%g\n", x[0], x[1], x[2], x[0]/100+math.Abs(x[1])/100+r.NormFloat64()/10)
	}
	c := config.Default()
	c.Data, c.Target, c.Model, c.Workers, c.Epochs = filepath.Join(t.TempDir(), "t.csv"), "y", "mlp:8", 2, 5
	c.Validation = config.NoValidation
	if err := os.WriteFile(c.Data, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	best, _, said := tuned(t, c)
	if got := mustTrain(t, best); !(got.MaxLR > 0 && got.LRUsed <= got.MaxLR) {
		t.Errorf("lr %g is chosen, and single steps are stable up to %g:\n%s", got.LRUsed, got.MaxLR, said)
	}
	if best.Schedule != "cooldown" { // of perceptrons with a number of epochs
		t.Errorf("schedule %s", best.Schedule)
	}
}

// TestTuneAndOneRow: a row far from all others among those held out, which the weights of higher rates miss by
// thousands, changes the rate by a rung at most.
func TestTuneAndOneRow(t *testing.T) {
	table := func(rows int, odd string) string {
		r := rand.New(rand.NewPCG(5, uint64(rows)))
		text := bytes.NewBufferString("a,b,c,y\n")
		for range rows {
			a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
			fmt.Fprintf(text, "%g,%g,%g,%g\n", a, b, c, a+math.Abs(b)+r.NormFloat64()/3)
		}
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, append(text.Bytes(), odd...), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := config.Default()
	// One epoch: of more, a run keeps the best by these rows.
	c.Data, c.Target, c.Model, c.Workers, c.Epochs = table(5000, ""), "y", "mlp:8", 1, 1
	c.Validation = table(150, "")
	without, _, said := tuned(t, c)
	c.Validation = table(150, "3000,-3000,2000,0\n")
	with, _, saidWith := tuned(t, c)
	if by := with.LR / without.LR; !(by > 0.39 && by < 2.6) {
		t.Errorf("lr %g without the row, %g with it:\n%s\n%s", without.LR, with.LR, said, saidWith)
	}
}
