package worker_test

import (
	"math"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
)

// TestSyncIsSerialWithALargeBatch: N workers with batch b that meet after each step
// take the steps of one with batch N*b. The digits' 2,000 rows are no multiple of
// 4*24, so the last step of an epoch has ranks with less, and ranks with nothing.
//
// The sums behind a step are added in another order, which moves each step by some
// 1e-7 of itself; 63 steps of 0.1 and less may add up to the bound below. Adam
// divides a gradient by its own size, and so makes of one that is nearly zero, all
// rounding, a step as long as any other: its bound is wider.
func TestSyncIsSerialWithALargeBatch(t *testing.T) {
	for _, c := range []struct {
		name  string
		bound float64
		edit  func(*config.Config)
	}{
		{"weights sgd", 2e-6, func(c *config.Config) { c.AverageEvery = 1 }},
		{"gradients sgd", 2e-6, func(c *config.Config) { c.Average = "gradients" }},
		{"gradients momentum", 1e-5, func(c *config.Config) { c.Average, c.Optimizer = "gradients", "momentum" }},
		{"gradients adam", 1e-4, func(c *config.Config) { c.Average, c.Optimizer, c.LR = "gradients", "adam", 1e-3 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := configtest.Quick(t)
			cfg.Mode, cfg.Workers, cfg.Batch, cfg.Model = config.MustMode("sync"), 4, 24, "mlp:32"
			c.edit(&cfg)
			result := runtest.Train(t, cfg)
			got := runtest.SavedWeights(t, result.Run)
			cfg.Batch *= cfg.Workers
			worst := 0.0
			for i, w := range serially(t, cfg) {
				worst = max(worst, math.Abs(float64(w)-float64(got[i])))
			}
			if !(worst <= c.bound) {
				t.Errorf("a weight is %g away from that of serial training, %g is the bound", worst, c.bound)
			}
			if want := int64(3 * 2000); result.Examples != want {
				t.Errorf("%d examples, want %d", result.Examples, want)
			}
		})
	}
}

// TestSyncRepeats: the same seed and number of workers give the same bits.
func TestSyncRepeats(t *testing.T) {
	runtest.InFull(t)
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"weights every step", func(c *config.Config) { c.AverageEvery = 1 }},
		{"weights every epoch", func(c *config.Config) {}},
		{"contiguous", func(c *config.Config) { c.Partition, c.AverageEvery = "contiguous", 5 }},
		{"momentum", func(c *config.Config) { c.Optimizer, c.AverageEvery = "momentum", 4 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := configtest.Quick(t)
			one.Mode, one.Workers, one.Batch, one.Model = config.MustMode("sync"), 3, 16, "mlp:16"
			c.edit(&one)
			other := one
			other.Run = t.TempDir()
			a, b := runtest.Train(t, one), runtest.Train(t, other)
			runtest.SameEnd(t, a.Run, b.Run)
			if a.TrainLoss != b.TrainLoss || a.TestLoss != b.TestLoss {
				t.Errorf("losses %v, %v and then %v, %v", a.TrainLoss, a.TestLoss, b.TrainLoss, b.TestLoss)
			}
			if other.Seed++; runtest.Train(t, runtest.WithRun(other, t.TempDir())).TrainLoss == a.TrainLoss {
				t.Error("another seed makes no difference")
			}
		})
	}
}
