package run

import (
	"context"
	"testing"

	"hogwild/hogwild/config"
)

// stepConfig is a run whose model takes its steps by itself.
func stepConfig(name string, workers int) config.Config {
	c := defaults()
	c.Model, c.Workers, c.Batch, c.LR = name, workers, 1, 0.05
	return c
}

// The accuracy of serial SGD on a9a, 0.850, at equal examples however many workers
// hold updates back.
func TestCopiesReachTheAccuracy(t *testing.T) {
	path := realData(t, "a9a/a9a")
	for _, workers := range []int{1, 2, 4, 8} {
		c := stepConfig("logistic", workers)
		c.Data, c.Run, c.SaveEvery = path, t.TempDir(), "0"
		c.LR, c.Schedule, c.Epochs = .02, "cosine", 5
		r, err := Run(context.Background(), c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.LostExamples != 0 || *r.TestAccuracy < .847 {
			t.Errorf("%d workers: accuracy %.4f, want 0.850 within 0.003; %d examples lost", workers, *r.TestAccuracy, r.LostExamples)
		}
	}
}
