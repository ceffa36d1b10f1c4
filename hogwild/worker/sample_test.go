package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// Workers that take turns are stale by as many updates as there are others: they begin and end their steps in one
// order, so that each of the others writes once within a step. (Workers that only sleep step aside on a busy machine,
// in ordered mode: the mean falls below 2.) One alone, and the replica of a barrier mode, are never stale.
func TestStalenessOfRuns(t *testing.T) {
	runtest.InFull(t)
	for _, c := range []struct {
		mode     string
		workers  int
		from, to float64
	}{
		{"async", 1, 0, 0}, {"sync", 4, 0, 0}, {"async", 4, 2.6, 3.1}, {"ordered", 4, 2.6, 3.1},
		{"locked", 4, 2.6, 3.1}, {"atomic", 4, 2.6, 3.1},
	} {
		cfg := configtest.Quick(t)
		cfg.Model, cfg.Mode, cfg.Workers, cfg.Batch, cfg.SaveEvery = "slow", config.MustMode(c.mode), c.workers, 8, "0"
		cfg.Epochs, cfg.MaxRestarts = 1, 0
		if c.to > 0 {
			runtest.InTurns(t, c.workers, 224/c.workers) // of 250
		}
		r := runtest.Train(t, cfg)
		if !(r.StalenessMean >= c.from && r.StalenessMean <= c.to) || r.StalenessSamples < 100 {
			t.Errorf("%s, %d workers: mean staleness %v in %d samples, want %v to %v", c.mode, c.workers,
				r.StalenessMean, r.StalenessSamples, c.from, c.to)
		}
		if free := c.mode == "async"; !free && r.LostUpdates != 0 || c.workers == 1 && r.Conflicts != 0 ||
			c.mode == "sync" && r.Conflicts != 0 {
			t.Errorf("%s, %d workers: %v lost, %v in conflict", c.mode, c.workers, r.LostUpdates, r.Conflicts)
		}
		if free := c.mode != "sync" && c.workers > 1; free && r.Conflicts == 0 {
			t.Errorf("%s, %d workers: nothing in conflict, on weights that all write", c.mode, c.workers)
		}
		if len(r.PerWorker) != c.workers || r.PerWorker[0].Instruments == nil {
			t.Errorf("%s: %d workers in the report", c.mode, len(r.PerWorker))
		}
	}
}

// TestLostUpdatesAgainstCounts: targets that are never reached have each step of the l1 loss add the learning rate to
// the weight of each input, so weights count the updates that were not lost. The estimate is right within a factor of
// five where updates get lost, and is reported with its limit; where a mode loses none, neither does the estimate.
func TestLostUpdatesAgainstCounts(t *testing.T) {
	runtest.InFull(t)
	const rows = 20000
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, "%d 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 %d:1\n", 1000000+i%2, 9+i%200)
	}
	path := filepath.Join(t.TempDir(), "counts.svm")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"async", "atomic", "locked", "ordered"} {
		c := configtest.Quick(t)
		c.Data, c.Model, c.Mode, c.Bias, c.LR = path, "l1", config.MustMode(mode), false, 0x1p-12
		c.Workers, c.Batch, c.Epochs, c.MergeEvery, c.SaveEvery = 2, 1, 40, "1", "0"
		r := runtest.Train(t, c)
		_, tensors, err := rundir.ReadTensors(filepath.Join(c.Run, rundir.WeightsFile))
		if err != nil {
			t.Fatal(err)
		}
		w, err := tensors[0].Floats()
		if err != nil {
			t.Fatal(err)
		}
		lost := 0.0
		for _, v := range w[:8] {
			lost += (1 - float64(v)/(c.LR*float64(r.Examples))) / 8
		}
		t.Logf("%s: %.4f lost; estimate %.4f of %d samples, below %.4f", mode, lost, r.LostUpdates, r.LostSamples,
			r.LostBelow)
		switch {
		case mode != "async" && (lost != 0 || r.LostUpdates != 0):
			t.Errorf("%s: %v lost, estimate %v: want none", mode, lost, r.LostUpdates)
		case mode == "atomic":
		case r.LostSamples < 20 || r.LostUpdates > r.LostBelow || 5*r.LostBelow < lost ||
			r.LostUpdates > 5*lost+r.LostBelow-r.LostUpdates:
			t.Errorf("%s: %v lost, estimate %v of %d samples, below %v", mode, lost, r.LostUpdates, r.LostSamples,
				r.LostBelow)
		}
	}
}
