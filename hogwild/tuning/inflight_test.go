package tuning

import (
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// h200 has 132 multiprocessors.
var h200 = GPUs{Count: 1, SMs: 132}

// TestInFlightOnGPU: how many steps are in flight, and of how many examples, by what is trained and on which GPU. The
// inputs have lambda 5 and the loss a curvature of .1, so that a rate lr is lowered beyond pi/2 / (5 lr .1) steps.
func TestInFlightOnGPU(t *testing.T) {
	matrix, graph, sparse, dense, words := data.Meta{Kind: data.Pairs, Shape: []int{500, 30000}, Features: 30500},
		data.Meta{Kind: data.Pairs, Features: 100}, data.Meta{Kind: data.Sparse}, data.Meta{Kind: data.Bytes},
		data.Meta{Kind: data.Tokens, Features: 30000}
	fewWords := data.Meta{Kind: data.Tokens, Features: 40}
	at := func(lr float64) func(*config.Config) { return func(c *config.Config) { c.LR = lr } }
	for _, x := range []struct {
		name          string
		meta          data.Meta
		gpus          GPUs
		edit          func(*config.Config)
		flight, batch int
	}{
		{"at a low rate", dense, h200, at(.001), 132, 8},
		{"as many as it bears", dense, h200, at(.03), 104, 8},
		{"a quarter of them work at least", dense, h200, at(1), 33, 8},
		{"a small GPU", dense, GPUs{Count: 1, SMs: 20}, at(.02), 20, 8},
		{"a small GPU at a high rate", dense, GPUs{Count: 1, SMs: 20}, at(.2), 15, 8},
		{"two GPUs", dense, GPUs{Count: 2, SMs: 132}, at(.013), 241, 8},
		{"example by example", dense, h200, func(c *config.Config) { c.LR, c.Batch = .001, 1 }, 264, 1},
		{"the user's batch", dense, h200, func(c *config.Config) { c.LR, c.Batch = .02, 64 }, 117, 64},
		{"adam", dense, h200, func(c *config.Config) { c.Optimizer = "adam" }, 33, 8},
		{"convnet", dense, h200, func(c *config.Config) { c.Model = "convnet" }, 66, 4},
		{"convnet on a small GPU", dense, GPUs{Count: 1, SMs: 58},
			func(c *config.Config) { c.Model = "convnet" }, 29, 4},
		{"sparse", sparse, h200, func(c *config.Config) { c.Model, c.LR = "logistic", .001 }, 264, 1},
		{"sparse momentum", sparse, h200,
			func(c *config.Config) { c.Model, c.Optimizer = "logistic", "momentum" }, 33, 64},
		{"words", words, h200, func(c *config.Config) { c.Model = "word2vec:16" }, 2112, 1},
		{"words of a small vocabulary", fewWords, h200, func(c *config.Config) { c.Model = "word2vec:16" }, 1000, 1},
		{"a short text", words, h200, func(c *config.Config) { c.Model, c.Limit = "word2vec:16", 8000 }, 1000, 1},
		{"words on a small GPU", words, GPUs{Count: 1, SMs: 20, Fit: 100},
			func(c *config.Config) { c.Model = "word2vec:16" }, 100, 1},
		{"factor", matrix, h200, func(c *config.Config) { c.Model = "factor:8" }, 200, 1},
		{"cut", graph, h200, func(c *config.Config) { c.Model, c.Workers = "cut", 50 }, 50, 1},
		{"sync", dense, h200, func(c *config.Config) { c.Mode, c.Workers = config.MustMode("sync"), 3 }, 1, 64},
		{"asked for", dense, h200, func(c *config.Config) { c.InFlight, c.Batch = 17, 5 }, 17, 5},
		{"more than fit", dense, GPUs{Count: 1, SMs: 132, Fit: 264},
			func(c *config.Config) { c.InFlight = 528 }, 264, 8},
		{"few rows", dense, h200, func(c *config.Config) { c.Limit = 640 }, 10, 8},
		{"divided among workers", dense, h200, func(c *config.Config) { c.InFlight, c.Workers = 132, 5 }, 130, 8},
		{"workers that take turns", dense, GPUs{Count: 1, SMs: 132, Turns: true},
			func(c *config.Config) { c.InFlight, c.Workers = 132, 5 }, 132, 8},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := configtest.Dense()
			c.GPU, c.Model, c.Loss, c.Workers = "0", "softmax", "cross-entropy", 1
			c.Batch, c.LR = 0, .01
			x.edit(&c)
			rows := 60000
			if c.Limit > 0 {
				rows = c.Limit
			}
			spec := model.Spec{Name: c.Model, Loss: model.CrossEntropy}
			f := Facts{Kind: x.meta.Kind, Rows: rows, Features: x.meta.Features, Shape: x.meta.Shape,
				RawLambda: 5, Curvature: .1}
			if c.Model == "convnet" {
				f.RawLambda = 0 // nothing is known of it
			}
			u, err := Choose(&c, spec, f, Machine{Cores: 2, GPUs: x.gpus})
			if err != nil || u.InFlight != x.flight || u.Batch != x.batch {
				t.Errorf("%v: %d steps of %d examples, want %d of %d", err, u.InFlight, u.Batch, x.flight, x.batch)
			}
		})
	}
}

// TestSharers: steps in flight are divided among the workers on GPUs, or where those take turns among the GPUs.
func TestSharers(t *testing.T) {
	for _, x := range []struct{ workers, gpus, want, turns int }{
		{1, 1, 1, 1}, {2, 1, 2, 1}, {4, 1, 4, 1}, {8, 1, 8, 1}, {8, 2, 8, 2}, {3, 4, 3, 3},
	} {
		c := configtest.Dense()
		c.GPU, c.Workers = "0", x.workers
		g := GPUs{Count: x.gpus, SMs: 132}
		if got := sharers(&c, g); got != x.want {
			t.Errorf("%d workers on %d GPUs: %d, want %d", x.workers, x.gpus, got, x.want)
		}
		if g.Turns = true; sharers(&c, g) != x.turns {
			t.Errorf("%d workers on %d GPUs that take turns: %d, want %d", x.workers, x.gpus, sharers(&c, g), x.turns)
		}
	}
	if c := configtest.Dense(); sharers(&c, GPUs{}) != 0 {
		t.Error("workers on cores share nothing")
	}
}
