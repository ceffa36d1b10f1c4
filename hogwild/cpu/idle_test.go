package cpu

import (
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/tuning"
)

// TestIdleSettings trains with two values of each setting: the weights are the same, bit for bit,
// exactly where config says that the setting has no effect.
func TestIdleSettings(t *testing.T) {
	set := randomSet(data.Floats, 500, 5, 3)
	for _, setting := range []string{"momentum: 0.5", "beta1: 0.5", "beta2: 0.5", "decay: 0.5",
		"lr-min: 0.003", "l1: 0.01"} {
		for _, optimizer := range []string{"sgd", "momentum", "adam", "adagrad"} {
			for _, schedule := range []string{"constant", "cosine", "linear", "step", "exp"} {
				c := configtest.Dense()
				c.Data, c.Model, c.Workers, c.Batch, c.Epochs = "none", "softmax", 1, 8, 3
				c.Optimizer, c.Schedule = config.Optimizer(optimizer), config.Schedule(schedule)
				without := weightsAfter(t, c, set)
				if err := yaml.Unmarshal([]byte(setting), &c); err != nil {
					t.Fatal(err)
				}
				idle := c.CheckIdle(nil)
				if same := slices.Equal(without, weightsAfter(t, c, set)); same != (idle != nil) {
					t.Errorf("%s with %s and %s: the same weights: %v, but %v", setting, optimizer,
						schedule, same, idle)
				}
			}
		}
	}
}

// weightsAfter trains all epochs of c, which is not checked.
func weightsAfter(t *testing.T, c config.Config, set *data.Set) []float32 {
	t.Helper()
	all, shared := devicesOf(t, tuning.AsAsked(c), set)
	d := all[0]
	for epoch := range c.Epochs {
		from, to := d.plan.Owned(0)
		for i := from; i < to; i++ {
			if _, err := d.chunk(d.plan.At(epoch, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return slices.Clone(shared.W)
}
