package tuning

import (
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// TestInFlightOnGPU: how many steps are in flight, and of how many examples, by what is trained.
func TestInFlightOnGPU(t *testing.T) {
	matrix, graph, sparse, dense := data.Meta{Kind: data.Pairs, Shape: []int{500, 30000}, Features: 30500},
		data.Meta{Kind: data.Pairs, Features: 100}, data.Meta{Kind: data.Sparse}, data.Meta{Kind: data.Bytes}
	for _, x := range []struct {
		name          string
		meta          data.Meta
		tuning        Tuning
		edit          func(*config.Config)
		flight, batch int
	}{
		{"softmax centred", dense, Tuning{Lambda: 5, Curvature: .1, Center: true}, func(c *config.Config) {}, 132, 8},
		{"at a rate that is nearly low enough", dense, Tuning{Lambda: 5, Curvature: .1, Center: true},
			func(c *config.Config) { c.LR = .14 }, 132, 8},
		{"past it", dense, Tuning{Lambda: 5, Curvature: .1, Center: true},
			func(c *config.Config) { c.LR = .16 }, 132, 1},
		{"softmax raw", dense, Tuning{Lambda: 39}, func(c *config.Config) {}, 132, 1},
		{"softmax raw by eights", dense, Tuning{Lambda: 39}, func(c *config.Config) { c.Batch = 8 }, 64, 8},
		{"mlp centred", dense, Tuning{Lambda: 5, Curvature: .1, Center: true},
			func(c *config.Config) { c.Model = "mlp:128" }, 132, 1},
		{"mlp raw", dense, Tuning{Lambda: 39}, func(c *config.Config) { c.Model = "mlp:128" }, 64, 1},
		{"adam", dense, Tuning{Lambda: 39}, func(c *config.Config) { c.Optimizer = "adam" }, 32, 8},
		{"convnet", dense, Tuning{}, func(c *config.Config) { c.Model = "convnet" }, 32, 4},
		{"sparse", sparse, Tuning{Lambda: 7}, func(c *config.Config) { c.Model = "logistic" }, 264, 1},
		{"sparse momentum", sparse, Tuning{Lambda: 7},
			func(c *config.Config) { c.Model, c.Optimizer = "logistic", "momentum" }, 32, 64},
		{"factor", matrix, Tuning{}, func(c *config.Config) { c.Model = "factor:8" }, 200, 1},
		{"cut", graph, Tuning{}, func(c *config.Config) { c.Model, c.Workers = "cut", 50 }, 50, 1},
		{"sync", dense, Tuning{Lambda: 5, Curvature: .1, Center: true},
			func(c *config.Config) { c.Mode, c.Workers = config.MustMode("sync"), 3 }, 1, 64},
		{"asked for", dense, Tuning{Lambda: 5, Curvature: .1, Center: true},
			func(c *config.Config) { c.InFlight, c.Batch = 17, 5 }, 17, 5},
		{"few rows", dense, Tuning{Lambda: 5, Curvature: .1, Center: true},
			func(c *config.Config) { c.Limit = 640 }, 10, 8},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := configtest.Dense()
			c.GPU, c.Model, c.Loss, c.Workers = "0", "softmax", "cross-entropy", 1
			c.Batch = 0
			x.edit(&c)
			rows := 60000
			if c.Limit > 0 {
				rows = c.Limit
			}
			spec, f := model.Spec{Name: c.Model}, Facts{Kind: x.meta.Kind, Rows: rows, Features: x.meta.Features,
				Shape: x.meta.Shape, Curvature: x.tuning.Curvature}
			flight, batch := inFlightOnGPU(&c, spec, f, x.tuning.Center, x.tuning.Lambda)
			batch = stepBatch(&c, spec, f, batch)
			flight = inFlight(&c, f, Machine{Cores: 2}, batch, flight)
			if flight != x.flight || batch != x.batch {
				t.Errorf("%d steps of %d examples, want %d of %d", flight, batch, x.flight, x.batch)
			}
		})
	}
}
