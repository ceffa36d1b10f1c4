package run

import (
	"testing"

	"hogwild/hogwild/config"
)

// Workers that do nothing but wait are stale by as many updates as there are others; one
// alone, and the replica of a barrier mode, are never stale.
func TestStalenessOfRuns(t *testing.T) {
	inFull(t)
	for _, c := range []struct {
		mode     string
		workers  int
		from, to float64
	}{
		{"async", 1, 0, 0}, {"sync", 4, 0, 0}, {"async", 4, 2, 4}, {"ordered", 4, 2, 4}, {"locked", 4, 2, 4}, {"atomic", 4, 2, 4},
	} {
		cfg := quick(t)
		cfg.Model, cfg.Mode, cfg.Workers, cfg.Batch, cfg.SaveEvery = "slow", config.MustMode(c.mode), c.workers, 8, "0"
		r := train(t, cfg)
		if !(r.StalenessMean >= c.from && r.StalenessMean <= c.to) || r.StalenessSamples < 100 {
			t.Errorf("%s, %d workers: mean staleness %v in %d samples, want %v to %v", c.mode, c.workers, r.StalenessMean, r.StalenessSamples, c.from, c.to)
		}
		if free := c.mode == "async"; !free && r.LostUpdates != 0 || c.workers == 1 && r.Conflicts != 0 || c.mode == "sync" && r.Conflicts != 0 {
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
