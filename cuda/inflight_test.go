//go:build cuda

package cuda

import (
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

// TestStepsThatFit: where a GPU takes fewer steps at once than are asked for, the run has those, and says so. What
// depends on them, as the local columns of sparse rows and with them the layout of the memory, is decided for those.
func TestStepsThatFit(t *testing.T) {
	needStandIn(t)
	for _, c := range []struct {
		name string
		want int // CTAs that fit on two multiprocessors, times their warps
		edit func(*config.Config)
	}{
		{"softmax", 2, func(c *config.Config) { c.Model, c.InFlight = "softmax", 40 }},
		{"sparse", 2 * 2 * 8, func(c *config.Config) {
			c.Model, c.Data, c.Batch, c.InFlight, c.LR = "logistic", "synth:sparse:2000x3000x20", 1, 4096, .01
		}},
	} {
		r, err := apart(t, digits(t, func(o *config.Config) {
			c.edit(o)
			o.Epochs = 1
		}), "HOGWILD_FAKE_SMS=2").result(t)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		notes := strings.Join(r.Notes, "\n")
		if r.InFlight != c.want || !strings.Contains(notes, "was lowered") {
			t.Errorf("%s: %d steps in flight, want %d: %s", c.name, r.InFlight, c.want, notes)
		}
	}
}

// TestSpread: few steps of warps are spread over all multiprocessors, but not those that share local columns.
func TestSpread(t *testing.T) {
	needStandIn(t)
	for merge, want := range map[config.Count]string{"1": "24 steps of 1 example in flight: 8 CTAs of 3 teams",
		"16": "24 steps of 1 example in flight: 3 CTAs of 8 teams"} {
		r, err := apart(t, digits(t, func(c *config.Config) {
			c.Model, c.Data, c.Batch, c.InFlight, c.LR = "logistic", "synth:sparse:500x300x20", 1, 24, .01
			c.MergeEvery, c.Epochs = merge, 1
		}), "HOGWILD_FAKE_SMS=8").result(t)
		if notes := strings.Join(r.Notes, "\n"); err != nil || !strings.Contains(notes, want) {
			t.Errorf("merge every %s: %v, %s, want %s", merge, err, notes, want)
		}
	}
}
