//go:build cuda

package cuda

import (
	"math"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/run"
)

// synthPairs are whole runs on made matrices and graphs.
var synthPairs = []struct {
	name string
	edit func(*config.Config)
}{
	{"factor", func(c *config.Config) {
		c.Model, c.Data, c.Biases, c.L2 = "factor:10", "synth:netflix:0.0002", true, .01
	}},
	{"factor lowrank", func(c *config.Config) { c.Model, c.Data = "factor:32", "synth:lowrank:120x100x8000x4" }},
	{"factor adagrad", func(c *config.Config) {
		c.Model, c.Data, c.Batch, c.Optimizer = "factor:6", "synth:lowrank:60x50x4000x3", 8, "adagrad"
	}},
	{"factor adam", func(c *config.Config) {
		c.Model, c.Data, c.Batch, c.Optimizer, c.LR = "factor:6", "synth:lowrank:60x50x4000x3", 8, "adam", .01
	}},
	{"cut", func(c *config.Config) { c.Model, c.Data = "cut:2", "synth:abdomen:1e-5" }},
	{"cut of ten", func(c *config.Config) { c.Model, c.Data = "cut:10", "synth:dblife:0.01" }},
	{"cut of ten, batches", func(c *config.Config) { c.Model, c.Data, c.Batch = "cut:10", "synth:dblife:0.005", 5 }},
	{"factor sync", func(c *config.Config) {
		c.Model, c.Data, c.Mode, c.Workers, c.AverageEvery = "factor:10", "synth:lowrank:60x50x4000x3",
			config.MustMode("sync"), 2, 50
	}},
	{"factor sync gradients", func(c *config.Config) {
		c.Model, c.Data, c.Mode, c.Workers, c.Average, c.Batch = "factor:10", "synth:lowrank:60x50x4000x3",
			config.MustMode("sync"), 2, "gradients", 8
	}},
	{"cut sync", func(c *config.Config) {
		c.Model, c.Data, c.Mode, c.Workers, c.AverageEvery = "cut:10", "synth:dblife:0.005",
			config.MustMode("sync"), 2, 50
	}},
}

// TestPairsSameAsCPU: with one step in flight a run is the CPU's, but for rounding.
func TestPairsSameAsCPU(t *testing.T) {
	for _, c := range synthPairs {
		t.Run(c.name, func(t *testing.T) {
			gpu := digits(t, func(k *config.Config) {
				k.Batch = 1
				if c.edit(k); k.Mode.Kind == config.Async {
					k.InFlight = 1
				}
			})
			sameAsCPU(t, gpu, 1e-3)
		})
	}
}

// TestManyInFlight has two thousand entries and edges in flight at once, as many as a
// GPU's scale asks for: the run ends where the serial one does. What is printed of the limit
// says nothing of these models.
func TestManyInFlight(t *testing.T) {
	t.Setenv("HOGWILD_FAKE_SMS", "132")
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"factor", func(c *config.Config) {
			c.Model, c.Data, c.Epochs = "factor:8",
				"synth:lowrank:3000x4000x400000x3", 3
		}},
		// At higher rates its loss stays above the optimum by what the noise of steps adds, which varies from run to
		// run.
		{"cut", func(c *config.Config) { c.Model, c.Data, c.LR, c.Epochs = "cut:10", "synth:dblife:0.05", .02, 4 }},
	} {
		gpu := digits(t, func(k *config.Config) { k.Batch, k.InFlight, k.LRCap = 1, 2048, "auto"; c.edit(k) })
		cpu := gpu
		cpu.GPU, cpu.InFlight, cpu.Run = "", 0, t.TempDir()
		got, want := train(t, gpu), train(t, cpu)
		if c.name == "cut" {
			if !(math.Abs(got.TestLoss-want.TestLoss) < .01*want.TestLoss) {
				t.Errorf("%s: loss %.5f, the CPU's %.5f", c.name, got.TestLoss, want.TestLoss)
			}
		} else if !(math.Abs(*got.TestRMSE-*want.TestRMSE) < .05**want.TestRMSE) {
			// .12; .27 after one epoch, untrained 1.04
			t.Errorf("%s: RMSE %.5f, the CPU's %.5f", c.name, *got.TestRMSE, *want.TestRMSE)
		}
		if notes := strings.Join(got.Notes, "\n"); got.Lambda != 0 || got.MaxInFlight != 0 || got.Rate != "" ||
			!strings.Contains(notes, "2048 steps of 1 example in flight") {
			t.Errorf("%s: lambda %g, limit %g, rate %q; notes %s", c.name, got.Lambda, got.MaxInFlight, got.Rate, notes)
		}
		t.Logf("%s: loss %.5f, the CPU's %.5f", c.name, got.TestLoss, want.TestLoss)
	}
}

// TestPairsRefuse: what cannot be meant is said before anything starts.
func TestPairsRefuse(t *testing.T) {
	for _, c := range []struct {
		edit func(*config.Config)
		says string
	}{
		{func(c *config.Config) { c.Mode, c.Workers = config.MustMode("ordered"), 2 }, "mode ordered with gpu"},
	} {
		_, err := run.Run(t.Context(), digits(t, c.edit), run.Options{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want an error that says %q", err, c.says)
		}
	}
}
