package control

import (
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/tuning"
)

func TestStateBelongsToOneOrToAll(t *testing.T) {
	for _, c := range []struct {
		mode, average, state string
		states               int
	}{
		{"async", "weights", "private", 3},
		{"async", "weights", "shared", 1},
		{"sync", "weights", "private", 3},
		{"sync", "gradients", "private", 1}, // all take one step together
	} {
		cfg := configtest.Dense()
		cfg.Workers, cfg.Optimizer, cfg.Mode, cfg.Average, cfg.OptimizerState = 3, "adam", config.MustMode(c.mode),
			config.Average(c.average), config.OptimizerState(c.state)
		m, err := CreateWeights(tuning.AsAsked(cfg), 10)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Seg.Close()
		if len(m.Optimizers) != c.states || len(m.State) != c.states*2*10 {
			t.Errorf("%+v: %d states of %d numbers in all", c, len(m.Optimizers), len(m.State))
		}
		for i, o := range m.Optimizers {
			o.Slots[1][9] = float32(i + 1)
			*o.Steps++
		}
		for i, o := range m.Optimizers {
			if o.Slots[1][9] != float32(i+1) || *o.Steps != 1 {
				t.Errorf("%+v: two states share memory", c)
			}
		}
	}
}
