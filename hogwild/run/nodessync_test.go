package run

import (
	"errors"
	"math"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/internal/fault"
)

// TestSyncNodesAreOneNode: in sync mode, with a round after each meeting of the workers, 3 nodes of 2 workers train what
// one node of 6 trains, but for rounding. They repeat it bit for bit, also when workers are killed while they wait for
// other nodes.
func TestSyncNodesAreOneNode(t *testing.T) {
	c := quick(t)
	c.Mode, c.AverageEvery, c.Workers, c.Batch, c.Model, c.Epochs = config.MustMode("sync"), 2, 6, 8, "mlp:16", 2
	want := savedWeights(t, train(t, c).Run)
	c.Workers, c.NodeLR = 2, "same"
	var first []float32
	for _, faults := range []string{"", "", "worker.idle:crash@3"} {
		t.Setenv(fault.Variable, faults)
		again := withRun(c, t.TempDir())
		results, errs := together(t, 3, again, nil)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if killed := results[0].Restarts > 0; killed != (faults != "") || results[0].LostExamples != 0 {
			t.Errorf("faults %q: %d restarts, %d examples lost", faults, results[0].Restarts, results[0].LostExamples)
		}
		got := savedWeights(t, again.Run)
		if first == nil {
			first = got
		}
		for i, w := range want {
			if got[i] != first[i] || math.Abs(float64(got[i]-w)) > 2e-6 {
				t.Fatalf("faults %q: weight %d is %v, at first %v, of one node %v", faults, i, got[i], first[i], w)
			}
		}
	}
}
