package worker_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// averaging returns a perceptron that four workers of mode sync train on digits.
func averaging(t *testing.T) config.Config {
	t.Helper()
	c := configtest.Dense()
	c.Data, c.Model, c.Batch, c.LR, c.Epochs, c.SaveEvery, c.Run = "digits:3000", "mlp:32", 8, 0.02, 5, "0", t.TempDir()
	c.Mode, c.Workers = config.MustMode("sync"), 4
	return c
}

// TestSyncLearnsLikeOne: at equal passes four replicas at four times the rate come to the loss of one worker, however
// they average; at the same rate they are far behind.
func TestSyncLearnsLikeOne(t *testing.T) {
	for _, x := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"every epoch", func(c *config.Config) {}},
		{"every step", func(c *config.Config) { c.AverageEvery = 1 }},
		{"gradients", func(c *config.Config) { c.Average, c.Center = "gradients", "off" }},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := averaging(t)
			x.edit(&c)
			alone := runtest.WithRun(c, t.TempDir())
			alone.Workers, alone.AverageEvery, alone.Average = 1, 0, "weights"
			want := runtest.Train(t, alone).TestLoss
			got := runtest.Train(t, c)
			if math.Abs(got.TestLoss-want) > 0.05*want || math.Abs(got.LRUsed-0.08) > 1e-12 {
				t.Errorf("loss %.4f at lr %g, of one worker %.4f", got.TestLoss, got.LRUsed, want)
			}
			if says := "lr 0.02 -> 0.08: 4 averaged workers x 0.02 (--average-lr same keeps 0.02)"; got.Rate != says {
				t.Errorf("the report says %q, want %q", got.Rate, says)
			}
			c.Run, c.AverageLR = t.TempDir(), "same"
			if got := runtest.Train(t, c); got.TestLoss < 1.5*want || got.LRUsed != 0.02 || got.Rate != "" {
				t.Errorf("at the same rate: loss %.4f at lr %g (%q), of one worker %.4f", got.TestLoss, got.LRUsed,
					got.Rate, want)
			}
		})
	}
}

// TestAveragedRateFollowsTheWorkers, when a run is resumed and while it goes on. Its settings keep the rate asked for.
func TestAveragedRateFollowsTheWorkers(t *testing.T) {
	c := averaging(t)
	c.Epochs = 1
	runtest.Train(t, c)
	c = runtest.Resumed(c)
	for _, workers := range []int{2, 4} {
		c.Workers, c.Epochs = workers, c.Epochs+1
		if got, want := runtest.Train(t, c), 0.02*float64(workers); math.Abs(got.LRUsed-want) > 1e-12 {
			t.Errorf("resumed with %d workers: lr %g, want %g", workers, got.LRUsed, want)
		}
		if saved, err := rundir.SavedConfig(c.Run); err != nil || saved.LR != 0.02 {
			t.Errorf("the settings say lr %g (%v)", saved.LR, err)
		}
	}

	c = averaging(t)
	c.AverageEvery, c.Epochs, c.GradientDelay = 2, 1000, time.Millisecond
	r := runtest.Start(t, c)
	r.Reach(1, 1)
	r.Scale(2)
	r.Scale(1)
	r.Ask(rundir.Request{Do: rundir.DoStop})
	got, _ := r.Wait()
	if says := strings.Join(got.Events, "\n"); got.LRUsed != 0.02 ||
		!strings.Contains(says, "lr 0.02 -> 0.04: 2 averaged workers") || !strings.Contains(says, "lr 0.02 again") {
		t.Errorf("lr %g; it said: %s", got.LRUsed, says)
	}
}
