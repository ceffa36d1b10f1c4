package rundir

import (
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/tuning"
	"hogwild/internal/check"
)

// TestScalingOfSnapshots: a run goes on only with inputs that are scaled as before, whatever
// the setting is called: what auto does has changed once.
func TestScalingOfSnapshots(t *testing.T) {
	was := data.Meta{Rows: 3, Scale: "auto", Mul: []float32{2, 3}, Add: []float32{0, 1}}
	s := &Snapshot{Meta: was}
	if err := s.MayResume(&tuning.Job{}, was); err != nil {
		t.Errorf("the same scaling: %v", err)
	}
	for _, now := range []data.Meta{
		{Rows: 3, Scale: "auto"},
		{Rows: 3, Scale: "auto", Mul: []float32{2, 3.5}, Add: was.Add},
		{Rows: 3, Scale: "auto", Mul: was.Mul, Add: []float32{0, 0}},
	} {
		check.Error(t, s.MayResume(&tuning.Job{}, now), "another scaling", "start a new run")
	}
	now := was
	now.Scale = "none"
	check.Error(t, s.MayResume(&tuning.Job{}, now), "scale auto, this run none")
}
