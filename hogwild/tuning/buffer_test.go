package tuning

import (
	"testing"

	"hogwild/hogwild/data"
)

func TestFlushDense(t *testing.T) {
	for _, c := range []struct {
		what string
		edit func(*Job)
		kind string
		size int
		want int
	}{
		{"batch 64", func(c *Job) {}, data.Bytes, 7850, 8},
		{"batch 1", func(c *Job) { c.Batch = 1 }, data.Floats, 7850, 128},
		{"within the limit", func(c *Job) { c.Batch, c.Tuning.Hold = 1, 20 }, data.Floats, 7850, 20},
		{"near the limit", func(c *Job) { c.Tuning.MaxInFlight = 24 }, data.Bytes, 7850, 3},
		{"as told", func(c *Job) { c.FlushEvery = "3" }, data.Bytes, 7850, 3},
		{"sparse data", func(c *Job) {}, data.Sparse, 7850, 1},
		{"a large model", func(c *Job) {}, data.Bytes, 1 << 20, 1},
		{"another optimizer", func(c *Job) { c.Optimizer = "adam" }, data.Bytes, 7850, 1},
		{"a perceptron", func(c *Job) { c.Model = "mlp:128" }, data.Bytes, 101770, 8},
		{"a small one of four, centred", func(c *Job) { c.Model, c.Workers, c.Tuning.Center = "mlp:8", 4, true }, data.Bytes, 6370, 4},
		{"one of four, centred", func(c *Job) { c.Model, c.Workers, c.Tuning.Center = "mlp:128", 4, true }, data.Bytes, 101770, 4},
		{"held to one, centred", func(c *Job) { c.Tuning.Hold, c.Tuning.Center = 1, true }, data.Bytes, 7850, 2},
		{"near the limit, centred", func(c *Job) { c.Tuning.MaxInFlight, c.Tuning.Center = 9, true }, data.Bytes, 7850, 2},
		{"many perceptrons", func(c *Job) { c.Model, c.Workers = "mlp:128", 3 }, data.Bytes, 101770, 1},
		{"many perceptrons, as told", func(c *Job) { c.Model, c.Workers, c.FlushEvery = "mlp:128", 8, "2" }, data.Bytes, 101770, 2},
	} {
		config := Job{Config: defaults()}
		config.Workers, config.Model = 2, "softmax"
		c.edit(&config)
		if got := config.DenseMergePeriod(c.kind, c.size); got != c.want {
			t.Errorf("%s: every %d, want %d", c.what, got, c.want)
		}
	}
}
