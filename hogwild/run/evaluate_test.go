package run_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// TestDivergence: numbers that are not finite stop the run, with a message that
// says where, and what was good before is kept.
func TestDivergence(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"async", func(c *config.Config) {}},
		{"async 3", func(c *config.Config) { c.Workers, c.Partition, c.MaxRestarts = 3, "contiguous", 0 }},
		{"async 3 momentum", func(c *config.Config) { c.Workers, c.Optimizer = 3, "momentum" }},
		{"sync weights", func(c *config.Config) { c.Workers, c.Mode = 3, config.MustMode("sync") }},
		{"sync gradients", func(c *config.Config) {
			c.Workers, c.Mode, c.Average = 3, config.MustMode("sync"),
				"gradients"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := configtest.Quick(t)
			cfg.Data, cfg.Model, cfg.Batch, cfg.LR, cfg.Epochs = configtest.Planted(t), "linear", 8, 0.01, 1
			c.edit(&cfg)
			runtest.Train(t, cfg)
			cfg = runtest.Resumed(cfg)
			cfg.Epochs, cfg.LR = 300, 1e6
			result, err := runtest.Try(t, cfg)
			if !errors.Is(err, config.ErrDiverged) {
				t.Fatalf("error %v after %d epochs, want ErrDiverged", err, result.Epochs)
			}
			for _, part := range []string{"worker ", "step ", fmt.Sprintf("learning rate %g", cfg.LR), "--lr",
				cfg.Run} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if result.Restarts != 0 || len(result.Events) != 0 {
				t.Errorf("%d restarts, events %q: nobody has died", result.Restarts, result.Events)
			}
			for name, tensor := range runtest.WeightsOf(t, cfg.Run) {
				if v, err := tensor.Floats(); err == nil && !runtest.Finite(v) {
					t.Errorf("tensor %s was saved with numbers that are not finite", name)
				}
			}
			cfg.LR, cfg.Epochs = 0.01, 20
			runtest.Train(t, cfg) // from the last good snapshot
		})
	}
}

// TestDivergenceKeepsTheSnapshot: a run that diverges in its first epoch leaves the
// snapshot with which it began, byte for byte.
func TestDivergenceKeepsTheSnapshot(t *testing.T) {
	c := configtest.Quick(t)
	c.Data, c.Model, c.Epochs, c.LR = configtest.Planted(t), "linear", 1, 0.01
	runtest.Train(t, c)
	before := runtest.State(t, c.Run)
	c.LR, c.Epochs = 1e30, 2
	if _, err := runtest.Try(t, runtest.Resumed(c)); !errors.Is(err, config.ErrDiverged) {
		t.Fatalf("error %v, want ErrDiverged", err)
	}
	after := runtest.State(t, c.Run)
	for _, name := range []string{rundir.SnapshotFile, rundir.WeightsFile} {
		if before[name] != after[name] {
			t.Errorf("%s has changed", name)
		}
	}
}

// TestFiniteDivergence: a loss far above the constant predictor's is no result, though it is a
// number. What was good before is kept, byte for byte.
func TestFiniteDivergence(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		c := configtest.Quick(t)
		c.Data, c.Model, c.Workers, c.Batch, c.Epochs = configtest.Planted(t), "linear", 1, 8, 1
		c.LR, c.LRCap = 0.01, "off"
		c.Mode = config.MustMode(mode)
		runtest.Train(t, c)
		before := runtest.State(t, c.Run)
		c.LR, c.Epochs = 2.5, 2 // 60 steps that each make the weights about 1.5 times as large
		result, err := runtest.Try(t, runtest.Resumed(c))
		if !errors.Is(err, config.ErrDiverged) || !strings.Contains(err.Error(), "a constant prediction has") {
			t.Fatalf("%s: error %v, test loss %v", mode, err, result.TestLoss)
		}
		after := runtest.State(t, c.Run)
		for _, name := range []string{rundir.SnapshotFile, rundir.WeightsFile} {
			if before[name] != after[name] {
				t.Errorf("%s: %s has changed", mode, name)
			}
		}
	}
}

// TestLargeLossIsNoDivergence: of values far from 0 that a model without bias has hardly begun to
// learn, and of a classifier that is right in spite of large outputs.
func TestLargeLossIsNoDivergence(t *testing.T) {
	far := filepath.Join(t.TempDir(), "far.csv")
	var text strings.Builder
	text.WriteString("a,b,y\n")
	for i := range 300 {
		fmt.Fprintf(&text, "%.4f,%.4f,%.4f\n", math.Sin(float64(i)), math.Cos(float64(3*i)), 1000+math.Sin(float64(i)))
	}
	if err := os.WriteFile(far, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	c := configtest.Quick(t)
	c.Data, c.Model, c.Bias, c.Workers, c.Epochs, c.LR = far, "linear", false, 1, 1, 1e-4
	if got := runtest.Train(t, c); !(got.TestLoss > 1e5) { // the mean's is 0.25
		t.Errorf("test loss %v: it is not large", got.TestLoss)
	}
	c = configtest.Quick(t)
	c.Workers, c.Epochs, c.LR, c.LRCap = 1, 2, 1000, "off"
	if got := runtest.Train(t, c); !(got.TestLoss > 10*math.Log(10) && *got.TestAccuracy > 0.5) {
		t.Errorf("test loss %v, accuracy %v: it is not large, or not right", got.TestLoss, *got.TestAccuracy)
	}
}
