package ability

import (
	"errors"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// TestStop: a run stops where counting epochs one after the other says, and at the first epoch that reaches a target.
func TestStop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		c := config.Default()
		c.Patience = 1 + r.IntN(4)
		if r.IntN(2) == 0 {
			c.TargetLoss = 0.1
		}
		var history []rundir.EpochResult
		least, waited := 2.0, 0
		for epoch := 1; epoch <= 30; epoch++ {
			loss := r.Float64()
			history = append(history,
				rundir.EpochResult{Epoch: epoch, Validation: rundir.Validation{ValidationLoss: &loss}})
			waited++
			if loss < least {
				least, waited = loss, 0
			}
			out, good := waited >= c.Patience, loss <= c.TargetLoss
			if why := reached(&c, history); (why != "") != (out || good) {
				t.Fatalf("epoch %d: it stops by %q; %d epochs without a better loss of %d, target reached: %v", epoch,
					why, waited, c.Patience, good)
			}
			if err := checkPatience(&c, history); (err != nil) != out ||
				err != nil && !errors.Is(err, config.ErrUsage) {
				t.Fatalf("epoch %d: to resume it: %v", epoch, err)
			}
			if out || good {
				break
			}
		}
	}
}
