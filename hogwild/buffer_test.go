package hogwild

import (
	"context"
	"slices"
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
		{"within the knee", func(c *Job) { c.Batch, c.Law.Hold = 1, 20 }, data.Floats, 7850, 20},
		{"near the knee", func(c *Job) { c.Law.Knee = 24 }, data.Bytes, 7850, 3},
		{"as told", func(c *Job) { c.FlushEvery = "3" }, data.Bytes, 7850, 3},
		{"sparse data", func(c *Job) {}, data.Sparse, 7850, 1},
		{"a large model", func(c *Job) {}, data.Bytes, 1 << 20, 1},
		{"another optimizer", func(c *Job) { c.Optimizer = "adam" }, data.Bytes, 7850, 1},
		{"a perceptron", func(c *Job) { c.Model = "mlp:128" }, data.Bytes, 101770, 8},
		{"a small one of four, centred", func(c *Job) { c.Model, c.Workers, c.Law.Center = "mlp:8", 4, true }, data.Bytes, 6370, 4},
		{"one of four, centred", func(c *Job) { c.Model, c.Workers, c.Law.Center = "mlp:128", 4, true }, data.Bytes, 101770, 4},
		{"held to one, centred", func(c *Job) { c.Law.Hold, c.Law.Center = 1, true }, data.Bytes, 7850, 2},
		{"near the knee, centred", func(c *Job) { c.Law.Knee, c.Law.Center = 9, true }, data.Bytes, 7850, 2},
		{"many perceptrons", func(c *Job) { c.Model, c.Workers = "mlp:128", 3 }, data.Bytes, 101770, 1},
		{"many perceptrons, as told", func(c *Job) { c.Model, c.Workers, c.FlushEvery = "mlp:128", 8, "2" }, data.Bytes, 101770, 2},
	} {
		config := Job{Config: defaults()}
		config.Workers, config.Model = 2, "softmax"
		c.edit(&config)
		if got := config.flushDense(c.kind, c.size); got != c.want {
			t.Errorf("%s: every %d, want %d", c.what, got, c.want)
		}
	}
}

// TestHeldBack trains with two workers that hold updates back: all of them are in the
// weights at the end, so the loss is that of training without.
func TestHeldBack(t *testing.T) {
	loss := func(every string, batch int) float64 {
		config := quick(t)
		config.Model, config.Workers, config.FlushEvery, config.Batch = "mlp:32", 2, every, batch
		config.LR = 0.001 * float64(batch) // well within what two workers bear
		return train(t, config).TestLoss
	}
	for _, batch := range []int{1, 16} {
		if plain, held := loss("1", batch), loss("8", batch); held > 1.2*plain+0.02 {
			t.Errorf("batch %d: test loss %.4f, without holding back %.4f", batch, held, plain)
		}
	}
}

// TestMergesAlone: a worker that merges with the lock gives it back; one that finds it in
// the hands of another that does not go on merges all the same, and leaves it there.
func TestMergesAlone(t *testing.T) {
	for _, holder := range []uint32{0, 7} {
		lock := holder
		h := &hot{shared: []float32{1, 2}, mine: []float32{4, 5}, base: []float32{3, 3}, lock: &lock}
		h.merge()
		if lock != holder || !slices.Equal(h.shared, []float32{2, 4}) || !slices.Equal(h.mine, h.shared) {
			t.Errorf("lock %d: afterwards %d, weights %v, copy %v", holder, lock, h.shared, h.mine)
		}
	}
}

// TestCentredTogether: two workers that merge centred weights learn as well as one. Were
// updates lost where they merge at once, the bias would run away (see mergesAlone): to a
// loss of 1 to 100, on cores that are far apart or busy.
func TestCentredTogether(t *testing.T) {
	loss := func(workers int, seed uint64) float64 {
		c := quick(t)
		c.Data, c.Model, c.Workers, c.Seed, c.Center, c.LR, c.Epochs = "digits:6000", "softmax", workers, seed, "on", 0.1, 8
		r, err := Run(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		return r.TestLoss
	}
	for seed := range uint64(3) {
		if one, two := loss(1, seed+1), loss(2, seed+1); !(two < 1.2*one) {
			t.Errorf("seed %d: test loss %v with one worker, %v with two", seed+1, one, two)
		}
	}
}
