package run_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
)

// TestResult: what a run reports is consistent with itself and with its files.
func TestResult(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"async", func(c *config.Config) { c.Workers = 3 }},
		{"sync", func(c *config.Config) {
			c.Workers, c.Mode, c.Batch, c.GlobalBatch = 3, config.MustMode("sync"), 0,
				96
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := configtest.Quick(t)
			c.edit(&cfg)
			r := runtest.Train(t, cfg)
			if r.Epochs != 3 || r.Examples != 3*2000 || r.LostExamples != 0 || r.Restarts != 0 || len(r.Events) != 0 ||
				r.Stopped != "" {
				t.Errorf("%+v", r)
			}
			if r.Workers != 3 || r.Model != "softmax" || r.Data != cfg.Data || r.Run != cfg.Run ||
				r.Version != config.Version || r.Seed != 1 {
				t.Errorf("%+v", r)
			}
			if !(r.Seconds > 0 && r.StartupSeconds > 0) || r.ExamplesPerSecond != float64(r.Examples)/r.Seconds {
				t.Errorf("%v s, start-up %v s, %v examples/s", r.Seconds, r.StartupSeconds, r.ExamplesPerSecond)
			}
			if c.name == "sync" && r.Batch != 32 {
				t.Errorf("batch %d, want 96/3", r.Batch)
			}
			last := r.History[len(r.History)-1]
			if len(r.History) != 3 || last.TestLoss != r.TestLoss || last.TrainLoss != r.TrainLoss ||
				*last.TestAccuracy != *r.TestAccuracy {
				t.Errorf("history %+v, result %+v", r.History, r)
			}
			e, err := saved.Eval(r.Run, cfg.Data, "auto", "")
			if err != nil || e.Loss != r.TestLoss || *e.Accuracy != *r.TestAccuracy {
				t.Errorf("the saved weights are evaluated to %+v, %v; the run says %v, %v", e, err, r.TestLoss,
					*r.TestAccuracy)
			}
			sameHistory(t, r)
		})
	}
}

// sameHistory fails the test unless metrics.jsonl has a line for each epoch.
func sameHistory(t *testing.T, r rundir.Result) {
	t.Helper()
	f, err := os.Open(filepath.Join(r.Run, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e rundir.EpochResult
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		if e.Kind != "epoch" {
			continue
		}
		if n >= len(r.History) || e.Epoch != n+1 || e.Examples != int64(2000*(n+1)) ||
			e.TestLoss != r.History[n].TestLoss {
			t.Errorf("epoch %d: %s", n+1, lines.Text())
		}
		n++
	}
	if n != len(r.History) {
		t.Errorf("%d epochs in the file, want %d", n, len(r.History))
	}
}

// TestTargets: a run ends with the first epoch that reaches its target.
func TestTargets(t *testing.T) {
	c := configtest.Quick(t)
	c.Epochs = 6
	free := runtest.Train(t, c)
	loss, accuracy := free.History[2].TestLoss, *free.History[2].TestAccuracy
	for _, d := range []struct {
		stopped string
		reached func(rundir.EpochResult) bool
		edit    func(*config.Config)
	}{
		{fmt.Sprintf("target loss %g", loss), func(e rundir.EpochResult) bool { return e.TestLoss <= loss },
			func(c *config.Config) { c.TargetLoss = loss }},
		{fmt.Sprintf("target accuracy %g", accuracy),
			func(e rundir.EpochResult) bool { return *e.TestAccuracy >= accuracy },
			func(c *config.Config) { c.TargetAccuracy = accuracy }},
	} {
		t.Run(d.stopped, func(t *testing.T) {
			c := runtest.WithRun(c, t.TempDir())
			c.SaveEvery = "0" // the end is saved all the same
			d.edit(&c)
			r := runtest.Train(t, c)
			want := 1
			for !d.reached(free.History[want-1]) {
				want++
			}
			if r.Epochs != want || r.Stopped != d.stopped || len(r.History) != want || r.Examples != int64(2000*want) {
				t.Errorf("%d epochs, %d examples, stopped by %q, want %d epochs", r.Epochs, r.Examples, r.Stopped, want)
			}
			if r.TestLoss != free.History[want-1].TestLoss {
				t.Errorf("test loss %v, want %v", r.TestLoss, free.History[want-1].TestLoss)
			}
			c.TargetLoss, c.TargetAccuracy, c.SaveEvery = 0, 0, "1"
			runtest.SameEnd(t, free.Run, runtest.Train(t, runtest.Resumed(c)).Run) // and it can go on
		})
	}
}

// TestStopAfter: a run ends once its time is over, within an epoch too; resumed it counts anew, and loses no example.
func TestStopAfter(t *testing.T) {
	for _, mode := range []string{"async", "sync", "delayed:3"} {
		t.Run(mode, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Mode, c.Epochs, c.SaveEvery, c.StopAfter = config.MustMode(mode), 100000, "0", 300*time.Millisecond
			examples := int64(0)
			for range 2 {
				began := time.Now()
				r := runtest.Train(t, c)
				if r.Stopped != "stop after 300ms" || r.Epochs >= c.Epochs || r.Examples <= examples ||
					time.Since(began) < c.StopAfter {
					t.Errorf("%d examples after %d, stopped by %q after %v", r.Examples, examples, r.Stopped,
						time.Since(began))
				}
				examples, c = r.Examples, runtest.Resumed(c)
			}
			c.Epochs, c.StopAfter = int(examples/2000)+1, 0
			if r := runtest.Train(t, c); r.Stopped != "" || r.Examples != int64(2000*c.Epochs) {
				t.Errorf("resumed: %d examples of %d epochs, stopped by %q", r.Examples, c.Epochs, r.Stopped)
			}
			if mode != "delayed:3" { // which applies its delayed updates when it is saved
				free := runtest.WithRun(c, t.TempDir())
				free.Resume = ""
				runtest.SameEnd(t, runtest.Train(t, free).Run, c.Run)
			}
		})
	}
}

// TestPrivateMemory: data and weights are there once for all workers.
func TestPrivateMemory(t *testing.T) {
	if run.RaceDetector() {
		t.Skip("the race detector has memory of its own")
	}
	c := configtest.Quick(t)
	c.Data, c.Model, c.Workers, c.Epochs = "digits:20000", "mlp:128", 2, 1000
	r := runtest.Start(t, c)
	r.Reach(2, 1)
	for rank := range c.Workers {
		if kb := privateDirty(t, r.PID(rank)); kb == 0 || kb > 30<<10 {
			t.Errorf("worker %d has %d kB of its own, 30,720 are the limit", rank, kb)
		}
	}
	r.Stop()
	r.Wait()
}

// privateDirty returns the memory, in kB, that only this process has.
func privateDirty(t *testing.T, pid int) (kb int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, "Private_Dirty: %d kB", &kb); n == 1 {
			return kb
		}
	}
	return 0
}
