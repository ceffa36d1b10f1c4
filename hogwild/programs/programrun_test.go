package programs_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/program/programtest"
	"hogwild/hogwild/programs"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
)

// linearRows are the examples of the tests' program.
const linearRows = 400

// weightsIn returns the weights that a run has saved: three and the bias, and the steps that were counted.
func weightsIn(t *testing.T, r rundir.Result) (w []float32, steps uint64) {
	t.Helper()
	all := runtest.WeightsOf(t, r.Run)
	for _, name := range []string{"weight", "bias"} {
		v, err := all[name].Floats()
		if err != nil {
			t.Fatal(err)
		}
		w = append(w, v...)
	}
	count := all["steps"]
	if len(w) != 4 || count.DType != "I64" || len(count.Data) != 8 {
		t.Fatalf("weights %v, and %+v", w, count)
	}
	return w, binary.LittleEndian.Uint64(count.Data)
}

// Whole batches make a run gradient descent, whose end the normal equations have: with one worker, and where the
// gradients of two are averaged. Small batches come near it, in every mode. What the run says of its weights
// is so of what it has saved.
func TestProgramsComeToTheLeastSquares(t *testing.T) {
	best := programtest.LeastSquares(linearRows, programtest.Row)
	for _, c := range []struct {
		name  string
		near  float64
		steps uint64 // that the program's buffer counts; 0: workers race to count them
		edit  func(*config.Config)
	}{
		{"one worker", 1e-5, 80, func(c *config.Config) { c.Workers, c.Batch, c.Epochs = 1, linearRows, 80 }},
		{"sync gradients", 1e-5, 80, func(c *config.Config) {
			c.Workers, c.Batch, c.Epochs, c.Mode, c.Average = 2, linearRows/2, 80, config.MustMode("sync"), "gradients"
		}},
		{"sync weights", 0.05, 400, func(c *config.Config) {
			c.Workers, c.Batch, c.Epochs, c.Mode, c.AverageEvery, c.LR = 2, 10, 20, config.MustMode("sync"), 4, 0.05
		}},
		{"async", 0.05, 0, func(c *config.Config) { c.Workers, c.Batch, c.Epochs, c.LR = 2, 10, 5, 0.05 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := runtest.Linear(t, "")
			c.edit(&config)
			r := runtest.Train(t, config)
			if r.Examples != int64(config.Epochs*linearRows) || r.Restarts != 0 || r.LostExamples != 0 ||
				len(r.Events) != 0 {
				t.Errorf("%+v", r)
			}
			w, steps := weightsIn(t, r)
			for j, want := range best {
				if math.Abs(float64(w[j])-want) > c.near {
					t.Errorf("weights %v, want %v", w, best)
					break
				}
			}
			if c.steps > 0 && steps != c.steps {
				t.Errorf("its buffer is %v, want %v", steps, c.steps)
			}
			loss, absolute := 0.0, 0.0
			for i := range linearRows / 4 {
				x, y := programtest.Row(i)
				e := float64(w[3]) - y
				for j := range x {
					e += float64(w[j]) * x[j]
				}
				loss += e * e / 2 / (linearRows / 4)
				absolute += math.Abs(e) / (linearRows / 4)
			}
			if math.Abs(r.TestLoss-loss) > 1e-6 || math.Abs(r.Metrics["mae"]-absolute) > 1e-6 || r.TestAccuracy == nil {
				t.Errorf("test loss %v, metrics %v, want %v and %v", r.TestLoss, r.Metrics, loss, absolute)
			}
			e, err := saved.Eval(r.Run, "", "auto", "")
			if err != nil || e.Loss != r.TestLoss || *e.Accuracy != *r.TestAccuracy {
				t.Errorf("the saved weights are evaluated to %+v, %v", e, err)
			}
			if _, err := saved.Eval(filepath.Join(r.Run, rundir.WeightsFile), "", "auto", ""); err == nil ||
				!strings.Contains(err.Error(), "has the command of a program in it") {
				t.Errorf("eval of a file, which may be anybody's, starts its program: %v", err)
			}
		})
	}
}

// The program has the first weights: a run that does not move saves them.
func TestProgramHasTheFirstWeights(t *testing.T) {
	c := runtest.Linear(t, "")
	c.LR, c.Epochs = 1e-30, 1
	w, _ := weightsIn(t, runtest.Train(t, c))
	for j, want := range []float32{0.01, 0.02, 0.03, 0.04} {
		if w[j] != want {
			t.Errorf("weights %v, want 0.01, 0.02, 0.03, 0.04", w)
			break
		}
	}
}

// A run of a program that was cut, twice, ends with the bits of one left alone.
func TestProgramResumesExactly(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			whole := runtest.Linear(t, "")
			whole.Batch, whole.Epochs, whole.LR, whole.Schedule, whole.Mode = 5, 2, 0.05, "cosine",
				config.MustMode(mode)
			pause := "slow=40ms" // a chunk: there are 7 in an epoch
			if mode == "sync" {
				whole.Workers, whole.AverageEvery, pause = 2, 2, "slow=15ms" // 20 rounds
			}
			want := runtest.Train(t, whole)
			parts := runtest.WithRun(whole, t.TempDir())
			parts.Program = runtest.Linear(t, pause).Program
			runtest.Cut(t, parts, 1, 150)
			parts = runtest.Resumed(parts)
			runtest.Cut(t, parts, 2, 200)
			got := runtest.Train(t, parts)
			runtest.SameEnd(t, want.Run, got.Run)
			if got.Examples != want.Examples || got.Epochs != want.Epochs || got.TestLoss != want.TestLoss {
				t.Errorf("%d examples in %d epochs, test loss %v; want %d in %d, %v", got.Examples, got.Epochs,
					got.TestLoss, want.Examples, want.Epochs, want.TestLoss)
			}
		})
	}
}

// Who dies while a program trains is replaced, and no example is lost. Nothing stays behind.
func TestKilledProgramsAreReplaced(t *testing.T) {
	sign := t.TempDir() + "/sign"
	for trick, restarts := range map[string]int{
		"once=" + sign + "@train": 1, // the program of one of the workers
		"once=" + sign + "@score": 0, // the coordinator's
	} {
		t.Run(trick[:4], func(t *testing.T) {
			_ = os.Remove(sign)
			c := runtest.Linear(t, trick)
			c.Workers, c.Batch, c.LR = 2, 10, 0.05
			r := runtest.Train(t, c)
			if r.Restarts != restarts || r.Examples != int64(c.Epochs*linearRows) || r.LostExamples != 0 ||
				math.IsNaN(r.TestLoss) {
				t.Errorf("%d restarts, %d examples, %d lost, test loss %v, events %q", r.Restarts, r.Examples,
					r.LostExamples, r.TestLoss, r.Events)
			}
		})
	}
}

// A score that takes for ever does not keep an interrupted run.
func TestInterruptedScore(t *testing.T) {
	was := programs.LastScore
	programs.LastScore = 0
	defer func() { programs.LastScore = was }()
	c := runtest.Linear(t, "busy=score")
	r := runtest.Start(t, c)
	r.Reach(1, linearRows)
	r.Stop()
	got, err := r.Wait()
	if !errors.Is(err, config.ErrInterrupted) || !math.IsNaN(got.TestLoss) {
		t.Errorf("test loss %v, error %v", got.TestLoss, err)
	}
}

// A score of the last epoch for which an interrupted run does not wait is no missing function: the run says that it was
// interrupted, and resumed it has the score, and all else, of one that was not.
func TestInterruptedLastScore(t *testing.T) {
	was := programs.LastScore
	programs.LastScore = 0
	defer func() { programs.LastScore = was }()
	for _, validation := range []string{"", "0.2"} {
		t.Run("validation "+validation, func(t *testing.T) {
			sign := filepath.Join(t.TempDir(), "sign")
			c := runtest.Linear(t, "sleeponce="+sign+"@score")
			if c.Epochs = 1; validation != "" {
				c.Program, c.Data, c.Validation = strings.Replace(c.Program, "own=400 ", "", 1), rowsFile(t), validation
			}
			r := runtest.Start(t, c)
			runtest.Await(t, "the score", func() bool { _, err := os.Stat(sign); return err == nil })
			r.Stop()
			got, err := r.Wait()
			if !errors.Is(err, config.ErrInterrupted) || !math.IsNaN(got.TestLoss) || got.Epochs != 1 {
				t.Fatalf("%d epochs, test loss %v, error %v", got.Epochs, got.TestLoss, err)
			}
			var text bytes.Buffer
			if err := got.WriteText(&text); err != nil ||
				!strings.Contains(text.String(), "not evaluated: the run was interrupted") {
				t.Errorf("the report (%v): %s", err, &text)
			}
			end := runtest.Train(t, runtest.Resumed(c))
			whole := runtest.Train(t, runtest.WithRun(c, t.TempDir()))
			if end.TestLoss != whole.TestLoss || end.Stopped != "" || end.Epochs != 1 {
				t.Errorf("resumed: test loss %v, stopped %q; without an interruption %v", end.TestLoss, end.Stopped,
					whole.TestLoss)
			}
		})
	}
}

// rowsFile returns a table of examples of the tests' program.
func rowsFile(t *testing.T) string {
	var text bytes.Buffer
	text.WriteString("a,b,c,y\n")
	for i := range linearRows {
		x, y := programtest.Row(i)
		fmt.Fprintf(&text, "%g,%g,%g,%g\n", x[0], x[1], x[2], y)
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// What ends a run by its scores is refused where the program has none; with a score it may be an accuracy
// of the program's own, whatever its data.
func TestProgramWithoutScores(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){
		"target-loss":     func(c *config.Config) { c.TargetLoss = 0.1 },
		"target-accuracy": func(c *config.Config) { c.TargetAccuracy = 0.5 },
	} {
		c := runtest.Linear(t, "noevaluate")
		edit(&c)
		if _, err := runtest.Try(t, c); !errors.Is(err, config.ErrUsage) ||
			!strings.HasPrefix(err.Error(), name+" needs scores") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
