package programs_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/program/programtest"
	"hogwild/hogwild/programs"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// TestAfterLoop: what fails after the loops of a run's programs is told, and fails the run, which is complete; what
// takes long, and does not hang, is waited for.
func TestAfterLoop(t *testing.T) {
	for trick, says := range map[string]string{
		"exit=3@leave":     "the program exited with status 3: the last line before the exit",
		"kill=leave":       "the program was killed by SIGKILL",
		"sleep=leave":      "was killed: it had not moved for 1s",
		"slow=3s@leave":    "",
		"slow=700ms@hello": "",
	} {
		t.Run(trick, func(t *testing.T) {
			c := ofProgram(t, trick)
			c.Workers = 2
			if says == "" {
				c.HangTimeout = time.Minute
			}
			r, err := runtest.Try(t, c)
			if (says != "") != errors.Is(err, config.ErrAfterLoop) || (says != "") != (err != nil) {
				t.Errorf("error %v", err)
			}
			if r.Examples != 3*2000 || math.IsNaN(r.TestLoss) || r.Stopped != "" || r.Restarts != 0 ||
				(says != "") != (r.Error != "") {
				t.Errorf("%+v", r)
			}
			told := strings.Join(r.Events, "; ")
			if !strings.Contains(told, says) || says != "" && !strings.Contains(told, "in the evaluator") ||
				(says == "") != (told == "") || len(r.Events) > 6 {
				t.Errorf("events %q", r.Events)
			}
			if _, err := os.Stat(filepath.Join(r.Run, rundir.WeightsFile)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestInterruptedAfterLoop: a run that is interrupted when its last epoch is done gives its programs time to end. What
// takes longer is told.
func TestInterruptedAfterLoop(t *testing.T) {
	for _, limit := range []time.Duration{programs.LastScore, 10 * time.Millisecond} {
		func() {
			defer func(was time.Duration) { programs.LastScore = was }(programs.LastScore)
			programs.LastScore = limit
			c, o := runtest.Linear(t, "slow=700ms@leave"), run.Options{Quiet: true}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			o.OnEpoch = func(e rundir.EpochResult) {
				if e.Epoch == c.Epochs {
					stop()
				}
			}
			_, err := run.Run(ctx, c, o)
			if cut := errors.Is(err, config.ErrAfterLoop); cut != (limit < time.Second) || !cut && err != nil {
				t.Errorf("with %v: %v", limit, err)
			}
		}()
	}
}

// TestEvaluatorKilledAtItsStart: it is started again, once, of a new run and a resumed one; if that one is killed too
// the mistake is not the user's.
func TestEvaluatorKilledAtItsStart(t *testing.T) {
	for _, at := range []string{"start", "welcome"} {
		sign := filepath.Join(t.TempDir(), "sign")
		c := runtest.Linear(t, "once="+sign+"@"+at)
		for range 2 {
			r := runtest.Train(t, c)
			if len(r.Events) != 1 || !strings.Contains(r.Events[0], "the program was killed by SIGKILL: it is "+
				"started again") || r.Epochs != c.Epochs {
				t.Errorf("%s: %d epochs, events %q", at, r.Epochs, r.Events)
			}
			if at == "welcome" { // the first weights are the second one's
				w, _ := weightsIn(t, r)
				best := programtest.LeastSquares(linearRows, programtest.Row)
				if math.Abs(float64(w[0])-best[0]) > 1 {
					t.Errorf("weights %v, want %v", w, best)
				}
			}
			_ = os.Remove(sign)
			c = runtest.Resumed(c)
			c.Epochs++
		}
		c.Program = "/proc/self/exe own=400 kill=" + at
		if _, err := runtest.Try(t, c); err == nil || errors.Is(err, config.ErrUsage) ||
			!strings.Contains(err.Error(), "was killed by SIGKILL") {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestAllLeaveTheirLoops: a loop that ends early in every worker is one mistake, and not tried again and again.
func TestAllLeaveTheirLoops(t *testing.T) {
	c := runtest.Linear(t, "exit=0@train")
	c.Workers = 2
	r, err := runtest.Try(t, c)
	if err == nil || !strings.Contains(err.Error(), "every worker fails at the same place, job.batches(): ") ||
		r.Restarts > 2 {
		t.Errorf("%d restarts: %v", r.Restarts, err)
	}
}

// TestOwnMetrics: what programs measure in training, and at the end of an epoch on all of its test rows, is in the
// epochs' results. Of the learning rate, which the program's optimizer does not see, nothing is said.
func TestOwnMetrics(t *testing.T) {
	c := runtest.Linear(t, "measures slow=300ms@start")
	c.Workers, c.Batch, c.LR, c.Epochs = 1, linearRows, 0, 2
	r := runtest.Train(t, c)
	w := []float64{0.01, 0.02, 0.03, 0.04}
	for epoch := range 2 { // gradient descent by hand
		sum, g := 0.0, make([]float64, 4)
		for i := range linearRows {
			x, y := programtest.Row(i)
			x = append(x, 1)
			e := -y
			for j := range x {
				e += x[j] * w[j]
			}
			sum += math.Abs(e) / linearRows
			for j := range x {
				g[j] += e * x[j] / linearRows
			}
		}
		for j := range w {
			w[j] -= r.LRUsed * g[j]
		}
		most := 0.0
		for i := range linearRows / 4 {
			x, y := programtest.Row(i)
			most = max(most, math.Abs(x[0]*w[0]+x[1]*w[1]+x[2]*w[2]+w[3]-y))
		}
		e := r.History[epoch]
		if len(e.TrainMetrics) != 1 || math.Abs(e.TrainMetrics["absolute"]-sum) > 1e-5 ||
			math.Abs(e.Metrics["most"]-most) > 1e-5 || len(e.Metrics) != 2 {
			t.Errorf("epoch %d: %v, %v; want %v and %v", epoch+1, e.TrainMetrics, e.Metrics, sum, most)
		}
	}
	if r.TrainMetrics["absolute"] != r.History[1].TrainMetrics["absolute"] ||
		r.Metrics["most"] != r.History[1].Metrics["most"] || strings.Contains(r.Auto, "lr") {
		t.Errorf("%v, %v, auto %q", r.TrainMetrics, r.Metrics, r.Auto)
	}
	text, err := os.ReadFile(filepath.Join(r.Run, rundir.MetricsName))
	if lines := strings.Split(string(text), "\n"); err != nil || slices.ContainsFunc(lines, func(s string) bool {
		return strings.HasPrefix(s, `{"kind":"second"`) && strings.Contains(s, `"state":"starting"`)
	}) {
		t.Errorf("before the first step: %s (%v)", text, err)
	}
	files, _ := filepath.Glob(filepath.Join(r.Run, rundir.EventPrefix+"*"))
	events, _ := os.ReadFile(files[0])
	for _, tag := range []string{"train/absolute", "test/most", "test/mae"} {
		if !strings.Contains(string(events), tag) {
			t.Errorf("TensorBoard has no %s", tag)
		}
	}
}
