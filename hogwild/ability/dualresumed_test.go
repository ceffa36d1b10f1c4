package ability

import (
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/rundir"
)

// TestResumedDualLoss: until a run that is resumed measures again, an epoch has the training loss measured last.
func TestResumedDualLoss(t *testing.T) {
	c := config.Default()
	c.Solver = config.Dual
	r, a := core.New(c, core.Options{Quiet: true}, nil), Dual()
	past := []rundir.EpochResult{{Epoch: 1, TrainLoss: 0.5}, {Epoch: 2, TrainLoss: 0.25}}
	e := rundir.EpochResult{Epoch: 3}
	for _, event := range []core.Event{&core.Resumes{At: &rundir.Position{History: past}}, &core.Evaluates{Epoch: &e}} {
		if err := a.Handle(r, event); err != nil {
			t.Fatal(err)
		}
	}
	if e.TrainLoss != 0.25 {
		t.Errorf("training loss %g, want 0.25", e.TrainLoss)
	}
}
