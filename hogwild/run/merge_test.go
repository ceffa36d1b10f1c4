package run

import (
	"context"
	"testing"
)

// TestLocalSteps trains with two workers that merge copies: all their steps are in the
// weights at the end, so the loss is that of training in place.
func TestLocalSteps(t *testing.T) {
	loss := func(every string, batch int) float64 {
		config := quick(t)
		config.Model, config.Workers, config.MergeEvery, config.Batch = "mlp:32", 2, every, batch
		config.LR = 0.001 * float64(batch) // well within what two workers allow
		return train(t, config).TestLoss
	}
	for _, batch := range []int{1, 16} {
		if plain, held := loss("1", batch), loss("8", batch); held > 1.2*plain+0.02 {
			t.Errorf("batch %d: test loss %.4f, in place %.4f", batch, held, plain)
		}
	}
}

// TestCentredTogether: two workers that merge centred weights learn as well as one. Were
// they merged as V, s and k the bias would run away (model.Centered) where updates are lost: to
// a loss of 1 to 100, on cores that are far apart or busy.
func TestCentredTogether(t *testing.T) {
	loss := func(workers int, seed uint64) float64 {
		c := quick(t)
		c.Data, c.Model, c.Workers, c.Seed, c.Center, c.LR, c.Epochs = "digits:6000", "softmax", workers, seed, "on",
			0.1, 8
		r, err := Run(context.Background(), c, Options{})
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
