package peers_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/internal/check"
)

// TestAJobOfOneNode has the bits of a run that is alone.
func TestAJobOfOneNode(t *testing.T) {
	c := configtest.Quick(t)
	want := runtest.Train(t, c)
	c.Run = t.TempDir()
	_, errs := together(t, 1, c, nil)
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	if got := runtest.SavedWeights(t, c.Run); !slices.Equal(got, runtest.SavedWeights(t, want.Run)) {
		t.Error("other weights than of a run that is alone")
	}
}

// TestNodesTakeJointSteps: where a round follows each step, n nodes of one worker take the steps of one worker on their
// joint batch: with averaged gradients, and in async mode when a chunk is one step and each node has one an epoch.
func TestNodesTakeJointSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: many runs")
	}
	for _, x := range []struct {
		name         string
		nodes, batch int
		edit         func(c *config.Config)
	}{
		{"gradients", 2, 16, func(c *config.Config) { c.Mode, c.Average = config.MustMode("sync"), "gradients" }},
		{"gradients", 3, 16, func(c *config.Config) { c.Mode, c.Average = config.MustMode("sync"), "gradients" }},
		{"async", 2, 1000, func(c *config.Config) { c.Epochs = 12 }},
		{"async", 4, 500, func(c *config.Config) { c.Epochs = 12 }},
	} {
		t.Run(fmt.Sprint(x.name, " ", x.nodes), func(t *testing.T) {
			c := configtest.Quick(t)
			x.edit(&c)
			joint := c
			joint.Batch = x.nodes * x.batch
			want := runtest.SavedWeights(t, runtest.Train(t, joint).Run)
			c.Batch, c.AverageLR, c.Run = x.batch, "same", t.TempDir()
			if _, errs := together(t, x.nodes, c, nil); errors.Join(errs...) != nil {
				t.Fatal(errs)
			}
			got, moved := runtest.SavedWeights(t, c.Run), 0.0
			for i, w := range want {
				moved = max(moved, math.Abs(float64(w)))
				if math.Abs(float64(got[i]-w)) > 1e-6 {
					t.Fatalf("weight %d is %v, with the joint batch %v", i, got[i], w)
				}
			}
			if moved < 0.01 {
				t.Error("nothing was learned")
			}
		})
	}
}

// TestNodesLearnLikeOne: at equal passes three nodes reach the loss of one, within twice the spread of the seeds, be
// they of equal speed or one with five times the workers of another. A third of the rate, which a mean at the same rate
// amounts to, is far off.
func TestNodesLearnLikeOne(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: many runs")
	}
	for _, x := range []struct {
		name string
		edit func(t *testing.T, c *config.Config)
	}{
		{"softmax", func(_ *testing.T, c *config.Config) { c.Data, c.LR, c.Epochs = "digits:4000", 0.03, 4 }},
		{"mlp", func(_ *testing.T, c *config.Config) {
			c.Data, c.Model, c.LR, c.Epochs = "digits:3000", "mlp:32", 0.05, 4
		}},
		{"a9a", func(t *testing.T, c *config.Config) {
			c.Data, c.Model, c.Limit, c.LR, c.Batch, c.Epochs = check.Data(t, "a9a/a9a"), "logistic", 8000, 0.002, 1, 2
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := config.Default()
			c.Workers, c.Batch, c.SaveEvery = 1, 16, "0"
			x.edit(t, &c)
			serial := func(seed uint64, lr float64) float64 {
				c := runtest.WithRun(c, t.TempDir())
				c.Seed, c.LR = seed, lr
				return runtest.Train(t, c).TestLoss
			}
			seeds := []float64{serial(1, c.LR), serial(2, c.LR), serial(3, c.LR)}
			most := slices.Max(seeds) + 2*(slices.Max(seeds)-slices.Min(seeds))
			if slow := serial(1, c.LR/3); slow < most {
				t.Errorf("loss %.4f at a third of the rate: %.4f tells it from none", slow, most)
			}
			for _, more := range []int{0, 2} {
				job := runtest.WithRun(c, t.TempDir())
				job.Rounds = "4"
				results, errs := together(t, 3, job,
					func(node int, c *config.Config, _ *run.Options) { c.Workers = 1 + more*node })
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				if r := results[0]; r.TestLoss > most || math.Abs(r.LRUsed-3*c.LR) > 1e-12 {
					t.Errorf("%d more workers on each further node: loss %.4f at lr %g, on one node %.4f, at most "+
						"%.4f is the spread of seeds", more, r.TestLoss, r.LRUsed, seeds, most)
				}
			}
		})
	}
}

// TestADivergedNodeEndsTheJob: all nodes end as diverged, and what node 0 has saved is good to continue from.
func TestADivergedNodeEndsTheJob(t *testing.T) {
	c := configtest.Quick(t)
	c.Data, c.Model, c.Batch, c.LR, c.Epochs = configtest.Planted(t), "linear", 8, 0.01, 1
	if _, errs := together(t, 2, c, nil); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	c.Resume, c.Epochs, c.LR = c.Run, 300, 1e6
	_, errs := together(t, 2, c, nil)
	for i, err := range errs {
		if !errors.Is(err, config.ErrDiverged) {
			t.Errorf("node %d: %v", i, err)
		}
	}
	for name, tensor := range runtest.WeightsOf(t, c.Run) {
		if v, err := tensor.Floats(); err == nil && !runtest.Finite(v) {
			t.Errorf("tensor %s was saved with numbers that are not finite", name)
		}
	}
	c.LR, c.Epochs = 0.01, 20
	if _, errs := together(t, 2, c, nil); errors.Join(errs...) != nil {
		t.Errorf("from what was saved: %v", errs)
	}
}
