package run_test

import (
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/workers"
)

// TestRollbackAfterScale: a run whose workers have a state of an optimizer each goes back to a snapshot of
// another number of workers.
func TestRollbackAfterScale(t *testing.T) {
	cfg, _ := runtest.Divergent(t)
	cfg.Optimizer, cfg.Momentum, cfg.OnDivergence, cfg.Workers = "momentum", 0.5, config.Rollback, 3
	runtest.Train(t, cfg)
	r := run.NewCoordinator(runtest.Resumed(cfg), run.Options{})
	defer r.Close()
	r.Job.Asked.Epochs = 12
	if err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	r.Job.Asked.Workers, r.End.Err, r.Mem.Workers = 2, config.ErrDiverged, workers.New(2, 0)
	if b := r.Hooks.Rollback(0); b == nil || b.Config.Workers != 3 {
		t.Errorf("it begins with %+v, the snapshot has the states of 3 workers", b)
	}
}
