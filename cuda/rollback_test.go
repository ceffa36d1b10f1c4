//go:build cuda

package cuda

import (
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

// TestRollback: a run whose numbers diverge on the GPU goes back to its last good snapshot, with device
// memory made anew, whether workers are processes, one of them with a replica, or one trains in the coordinator's.
func TestRollback(t *testing.T) {
	for _, c := range []struct {
		mode     string
		workers  int
		switches []string
	}{
		{"sync", 2, nil},
		{"async", 1, []string{noIPC}},
		{"async", 1, []string{"HOGWILD_FAKE_DEVICES=2", shiftVariable + "=1"}}, // on the second GPU
	} {
		if c.switches != nil && !onStandIn() {
			t.Log("HOGWILD_FAKE_TRACE is not set: the worker in the coordinator's process was left out")
			continue
		}
		good := digits(t, func(k *config.Config) {
			k.Data, k.Model, k.Workers, k.Mode, k.Epochs, k.SaveEvery = "synth:linear:240x3", "linear", c.workers,
				config.MustMode(c.mode), 1, "1"
			if c.mode == "async" {
				k.InFlight = 1
			}
			if len(c.switches) > 1 {
				k.GPU = "0,1"
			}
		})
		if _, err := apart(t, good, c.switches...).result(t); err != nil {
			t.Fatal(err)
		}
		wild := good
		wild.Resume, wild.LR, wild.Epochs, wild.OnDivergence = good.Run, .75, 5, config.Rollback
		r, err := apart(t, wild, c.switches...).result(t)
		if err != nil || r.Rollbacks == 0 || r.LRUsed != .75/float64(int(1)<<r.Rollbacks) ||
			!strings.Contains(strings.Join(r.Events, "\n"), "the snapshot of epoch") {
			t.Errorf("%s, %d workers: %v; %d rollbacks, learning rate %g, events %q", c.mode, c.workers, err,
				r.Rollbacks, r.LRUsed, r.Events)
		}
		if r.Examples != 5*240 || !(r.TestLoss < 0.1) {
			t.Errorf("%s, %d workers: %d examples, test loss %v", c.mode, c.workers, r.Examples, r.TestLoss)
		}
	}
}
