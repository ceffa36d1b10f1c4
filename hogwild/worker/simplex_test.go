package worker_test

import (
	"errors"
	"math"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
)

// TestCutRuns: two workers reach the loss that one reaches, with steps of one edge
// and of several.
func TestCutRuns(t *testing.T) {
	run := func(workers, batch int) float64 {
		c := configtest.Quick(t)
		c.Data, c.Model, c.Workers, c.Batch = "synth:dblife:0.01", "cut:10", workers, batch
		c.Epochs, c.LR, c.Schedule = 6, 0.05*float64(batch), "linear"
		r := runtest.Train(t, c)
		if r.TestRMSE != nil || r.TestAccuracy != nil {
			t.Error("a cut has an RMSE or an accuracy")
		}
		return r.TestLoss
	}
	serial := run(1, 1)
	for _, got := range []float64{run(2, 1), run(2, 4)} {
		if math.Abs(got-serial) > 0.05*serial {
			t.Errorf("two workers come to %v, one to %v", got, serial)
		}
	}
	c := configtest.Quick(t)
	c.Data, c.Model, c.Optimizer = "synth:dblife:0.01", "cut", "adam"
	if _, err := runtest.Try(t, c); !errors.Is(err, config.ErrUsage) {
		t.Errorf("cut with adam: %v", err)
	}
}
