package run

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
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
			cfg := quick(t)
			cfg.Data, cfg.Model, cfg.Batch, cfg.LR, cfg.Epochs = planted(t), "linear", 8, 0.01, 1
			c.edit(&cfg)
			train(t, cfg)
			cfg = resumed(cfg)
			cfg.Epochs, cfg.LR = 300, 1e6
			result, err := try(t, cfg)
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
			for name, tensor := range weightsOf(t, cfg.Run) {
				if v, err := tensor.Floats(); err == nil && !finite(v) {
					t.Errorf("tensor %s was saved with numbers that are not finite", name)
				}
			}
			cfg.LR, cfg.Epochs = 0.01, 20
			train(t, cfg) // from the last good snapshot
		})
	}
}

// TestDivergenceKeepsTheSnapshot: a run that diverges in its first epoch leaves the
// snapshot with which it began, byte for byte.
func TestDivergenceKeepsTheSnapshot(t *testing.T) {
	c := quick(t)
	c.Data, c.Model, c.Epochs, c.LR = planted(t), "linear", 1, 0.01
	train(t, c)
	before := state(t, c.Run)
	c.LR, c.Epochs = 1e30, 2
	if _, err := try(t, resumed(c)); !errors.Is(err, config.ErrDiverged) {
		t.Fatalf("error %v, want ErrDiverged", err)
	}
	after := state(t, c.Run)
	for _, name := range []string{rundir.SnapshotFile, rundir.WeightsFile} {
		if before[name] != after[name] {
			t.Errorf("%s has changed", name)
		}
	}
}

// TestFiniteDivergence: a loss far above that of the constant predictor is no result, though it is a
// number. What was good before is kept, byte for byte.
func TestFiniteDivergence(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		c := quick(t)
		c.Data, c.Model, c.Workers, c.Batch, c.Epochs, c.LR, c.LRCap = planted(t), "linear", 1, 8, 1, 0.01, "off"
		c.Mode = config.MustMode(mode)
		train(t, c)
		before := state(t, c.Run)
		c.LR, c.Epochs = 2.5, 2 // 60 steps that each make the weights about 1.5 times as large
		result, err := try(t, resumed(c))
		if !errors.Is(err, config.ErrDiverged) || !strings.Contains(err.Error(), "a constant prediction has") {
			t.Fatalf("%s: error %v, test loss %v", mode, err, result.TestLoss)
		}
		after := state(t, c.Run)
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
	c := quick(t)
	c.Data, c.Model, c.Bias, c.Workers, c.Epochs, c.LR = far, "linear", false, 1, 1, 1e-4
	if got := train(t, c); !(got.TestLoss > 1e5) { // that of the mean is 0.25
		t.Errorf("test loss %v: it is not large", got.TestLoss)
	}
	c = quick(t)
	c.Workers, c.Epochs, c.LR, c.LRCap = 1, 2, 1000, "off"
	if got := train(t, c); !(got.TestLoss > 10*math.Log(10) && *got.TestAccuracy > 0.5) {
		t.Errorf("test loss %v, accuracy %v: it is not large, or not right", got.TestLoss, *got.TestAccuracy)
	}
}

func finite(v []float32) bool {
	for _, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return false
		}
	}
	return true
}

// planted writes values that are a linear function of three columns.
func planted(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("a,b,c,y\n")
	for i := range 600 {
		a, b, c := math.Sin(float64(i)), math.Cos(float64(3*i)), math.Sin(float64(7*i))
		fmt.Fprintf(&text, "%.4f,%.4f,%.4f,%.4f\n", a, b, c, 2*a-b+0.5*c+1)
	}
	path := filepath.Join(t.TempDir(), "planted.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
