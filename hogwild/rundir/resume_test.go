package rundir

import (
	"math"
	"path/filepath"
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
	rounded := was
	rounded.Add = []float32{0, math.Nextafter32(1, 2)}
	if err := s.MayResume(&tuning.Job{}, rounded); err != nil {
		t.Errorf("rounded in another way: %v", err)
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

// TestSettingsOfOldSnapshots: a setting that a file is too old to have is at its default; the data
// are those that it names, if any.
func TestSettingsOfOldSnapshots(t *testing.T) {
	path := filepath.Join(t.TempDir(), WeightsFile)
	meta := map[string]string{"hogwild.config": `{"lr": 0.5, "bias": false}`, "hogwild.data": `{"rows": 1, "features": 1, "kind": "floats"}`}
	if err := WriteTensors(path, meta, []Tensor{FloatTensor("w", []int{1}, []float32{1})}); err != nil {
		t.Fatal(err)
	}
	f, err := ReadSaved(path)
	if err != nil {
		t.Fatal(err)
	}
	if c := f.Config.Config; c.Missing != "drop" || c.LR != 0.5 || c.Bias || c.Data != "" {
		t.Errorf("%+v", c)
	}
}
