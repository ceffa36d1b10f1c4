package ability_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// TestRollback: a run that diverges goes back to its last good snapshot, with half the rate, until it
// does not. Each example counts once, and all that is left behind has the rate in force.
func TestRollback(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"async", func(c *config.Config) {}},
		{"async 3", func(c *config.Config) { c.Workers, c.Partition = 3, "contiguous" }},
		{"momentum", func(c *config.Config) { c.Optimizer, c.Momentum = "momentum", 0.5 }},
		{"sync weights", func(c *config.Config) { c.Workers, c.Mode = 3, config.MustMode("sync") }},
		{"sync gradients", func(c *config.Config) {
			c.Workers, c.Mode, c.Average = 3, config.MustMode("sync"),
				"gradients"
		}},
		{"sync scaled", func(c *config.Config) { c.Workers, c.Mode, c.AverageLR = 3, config.MustMode("sync"), "auto" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, lr := runtest.Divergent(t)
			c.edit(&cfg)
			if cfg.Optimizer == config.Momentum {
				lr *= 1 - cfg.Momentum // as far in the long run
			}
			racy := cfg.Workers > 1 && cfg.Mode.Kind == config.Async // how stale updates are depends on chance
			if racy {
				lr /= 2
			}
			runtest.Train(t, cfg)
			cfg = runtest.Resumed(cfg)
			cfg.LR, cfg.Epochs, cfg.OnDivergence = lr, 12, config.Rollback
			if cfg.AverageLR == "auto" {
				cfg.LR /= 3 // half of the rate that each replica had is not scaled again
			}
			said := &bytes.Buffer{}
			result, err := run.Run(t.Context(), cfg, run.Options{Progress: said, Quiet: true})
			if err != nil {
				t.Fatalf("%v after %d rollbacks", err, result.Rollbacks)
			}
			n := result.Rollbacks
			if n < 1 || n > 3 || result.LRUsed != lr/float64(int(1)<<n) ||
				strings.Count(said.String(), "rollback ") != n || len(result.Events) != n {
				t.Errorf("%d rollbacks, learning rate %g, events %q; it said: %s", n, result.LRUsed, result.Events,
					said)
			}
			if result.Examples != 12*500 || result.Epochs != 12 { // a sixth of 600 rows is held out
				t.Errorf("%d examples in %d epochs", result.Examples, result.Epochs)
			}
			if !racy && !(result.TestLoss < 0.1) {
				t.Errorf("test loss %v", result.TestLoss)
			}
			counted(t, cfg.Run, n)
			cfg, err = rundir.SavedConfig(cfg.Run)
			if err != nil || cfg.LR != result.LRUsed {
				t.Errorf("a resumed run has learning rate %g (%v), want %g", cfg.LR, err, result.LRUsed)
			}
			cfg.Epochs = 13
			if end := runtest.Train(t, cfg); end.Examples != 13*500 || end.Rollbacks != n {
				t.Errorf("resumed: %d examples after %d, %d rollbacks", end.Examples, result.Examples, end.Rollbacks)
			}
		})
	}
}

// counted fails the test unless the metrics of a run end with that many rollbacks.
func counted(t *testing.T, folder string, n int) {
	t.Helper()
	r, err := rundir.ReadRun(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Epochs) != 12 {
		t.Errorf("the metrics have %d epochs, want 12", len(r.Epochs))
	}
	if text, _ := os.ReadFile(filepath.Join(folder, rundir.MetricsName)); len(r.Seconds) > 0 &&
		r.Seconds[len(r.Seconds)-1].Rollbacks != n && bytes.Contains(text, []byte("rollbacks")) {
		t.Errorf("the last moment counts %d rollbacks, want %d", r.Seconds[len(r.Seconds)-1].Rollbacks, n)
	}
}

// TestRollbackIsAResume: what comes after a rollback is, bit for bit, a run that is resumed from the
// snapshot with half the rate: weights and the optimizer's state, also within an epoch.
func TestRollbackIsAResume(t *testing.T) {
	for _, within := range []bool{false, true} {
		for _, mode := range []string{"async", "sync"} {
			cfg, lr := runtest.Divergent(t)
			cfg.Optimizer, cfg.Momentum, cfg.Mode = "momentum", 0.5, config.MustMode(mode)
			lr /= 4
			if within {
				stopWithin(t, cfg)
			} else {
				runtest.Train(t, cfg)
			}
			cfg = runtest.Resumed(cfg)
			other := t.TempDir()
			if err := os.CopyFS(other, os.DirFS(cfg.Run)); err != nil {
				t.Fatal(err)
			}
			cfg.Epochs, cfg.LR = 12, lr
			back := cfg
			back.OnDivergence = config.Rollback
			got := runtest.Train(t, back)
			if got.Rollbacks == 0 || got.DiscardedExamples <= 0 {
				t.Fatalf("%s: it has not diverged", mode)
			}
			cfg.Run, cfg.Resume, cfg.LR = other, other, got.LRUsed
			runtest.Train(t, cfg)
			a, b := runtest.WeightsOf(t, back.Run), runtest.WeightsOf(t, cfg.Run)
			for name, tensor := range a {
				if !bytes.Equal(tensor.Data, b[name].Data) {
					t.Errorf("%s, within an epoch %v: tensor %s differs from that of a resumed run", mode, within, name)
				}
			}
		}
	}
}

// stopWithin stops a run within its second epoch.
func stopWithin(t *testing.T, c config.Config) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Epochs = 100000
	_, err := run.Run(ctx, c, run.Options{OnEpoch: func(e rundir.EpochResult) {
		if e.Epoch == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, config.ErrInterrupted) {
		t.Fatal(err)
	}
}

// TestRollbackToTheFirstWeights: where there is no snapshot yet, and of losses that are finite.
func TestRollbackToTheFirstWeights(t *testing.T) {
	for _, lr := range []float64{6, 2.5} {
		cfg, _ := runtest.Divergent(t)
		cfg.LR, cfg.Epochs, cfg.SaveEvery, cfg.OnDivergence = lr, 12, "0", config.Rollback
		result := runtest.Train(t, cfg)
		if result.Rollbacks == 0 || !strings.Contains(result.Events[0], "the first weights") {
			t.Errorf("lr %g: %d rollbacks, events %q", lr, result.Rollbacks, result.Events)
		}
		clean := cfg
		clean.Run, clean.LR, clean.OnDivergence = t.TempDir(), result.LRUsed, config.Stop
		want := runtest.Train(t, clean)
		if want.TestLoss != result.TestLoss || want.Examples != result.Examples {
			t.Errorf("lr %g: test loss %v of %d examples, want %v of %d", lr, result.TestLoss, result.Examples,
				want.TestLoss, want.Examples)
		}
	}
}

// TestRollbacksEnd: after three the run ends as without them.
func TestRollbacksEnd(t *testing.T) {
	cfg, _ := runtest.Divergent(t)
	runtest.Train(t, cfg)
	before := runtest.WeightsOf(t, cfg.Run)
	cfg = runtest.Resumed(cfg)
	cfg.LR, cfg.Epochs, cfg.OnDivergence = 1e6, 12, config.Rollback
	result, err := runtest.Try(t, cfg)
	if !errors.Is(err, config.ErrDiverged) || result.Rollbacks != 3 ||
		!strings.Contains(err.Error(), "rolled back 3 times") || result.Stopped != rundir.StoppedDiverged {
		t.Errorf("%d rollbacks, stopped %q, %v", result.Rollbacks, result.Stopped, err)
	}
	for name, tensor := range runtest.WeightsOf(t, cfg.Run) {
		if !bytes.Equal(tensor.Data, before[name].Data) {
			t.Errorf("tensor %s is not that of the last good snapshot", name)
		}
	}
	saved, err := rundir.SavedConfig(cfg.Run)
	if err != nil || saved.LR != 1e6/8 {
		t.Errorf("the snapshot has learning rate %g (%v), want %g", saved.LR, err, 1e6/8)
	}
}

// TestRollbackToGoodWeights: within an epoch, too, weights that have diverged are not saved, though they
// are finite.
func TestRollbackToGoodWeights(t *testing.T) {
	cfg, _ := runtest.Divergent(t)
	runtest.Train(t, cfg)
	cfg = runtest.Resumed(cfg)
	cfg.LR, cfg.Epochs, cfg.SaveEvery, cfg.GradientDelay, cfg.OnDivergence = 20, 12, "5ms", time.Millisecond,
		config.Rollback
	if _, err := runtest.Try(t, cfg); !errors.Is(err, config.ErrDiverged) {
		t.Fatalf("%v, want a run that diverges", err)
	}
	for name, tensor := range runtest.WeightsOf(t, cfg.Run) {
		w, err := tensor.Floats() // chunks within an epoch are no numbers of the model
		if err == nil && tensor.DType == "F32" && slices.ContainsFunc(w, func(x float32) bool { return !(x*x < 1e6) }) {
			t.Errorf("tensor %s was saved: %v", name, w)
		}
	}
}
