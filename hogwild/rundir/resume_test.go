package rundir

import (
	"math"
	"path/filepath"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
	"hogwild/internal/check"
)

// TestScalingOfSnapshots: a run goes on only with inputs that are scaled as before, whatever
// the setting is called: what auto does has changed once.
func TestScalingOfSnapshots(t *testing.T) {
	was := data.Meta{Rows: 3, Scale: "auto", Mul: []float32{2, 3}, Add: []float32{0, 1}}
	s := &Snapshot{Meta: was}
	if err := s.CheckResume(&tuning.Job{}, was); err != nil {
		t.Errorf("the same scaling: %v", err)
	}
	rounded := was
	rounded.Add = []float32{0, math.Nextafter32(1, 2)}
	if err := s.CheckResume(&tuning.Job{}, rounded); err != nil {
		t.Errorf("rounded in another way: %v", err)
	}
	for _, now := range []data.Meta{
		{Rows: 3, Scale: "auto"},
		{Rows: 3, Scale: "auto", Mul: []float32{2, 3.5}, Add: was.Add},
		{Rows: 3, Scale: "auto", Mul: was.Mul, Add: []float32{0, 0}},
	} {
		check.Error(t, s.CheckResume(&tuning.Job{}, now), "another scaling", "start a new run")
	}
	now := was
	now.Scale = "none"
	check.Error(t, s.CheckResume(&tuning.Job{}, now), "scale auto, this run none")
}

// TestResumeOnOtherDevices: an epoch that was begun on cores continues on a GPU, whose chunks are longer in so large a
// set, and the other way round: with its own chunks, the same of them done. The epochs behind it have the device's own.
func TestResumeOnOtherDevices(t *testing.T) {
	const rows, epoch = 9 << 20, 2
	for _, devices := range [][]string{{"", "0"}, {"0", ""}, {"0", "0"}, {"", "0", ""}, {"0", "", "0"}} {
		s, done := &Snapshot{}, map[int]bool{}
		for i, gpu := range devices {
			job := tuning.AsAsked(config.Config{Mode: config.MustMode("async"), Partition: "dynamic", Workers: 1,
				Batch: 1, GPU: gpu})
			start := control.Start{Epoch: epoch}
			if i > 0 {
				start.Longer = max(1, s.Pos.Longer)
			}
			block, err := control.Create(control.Header{Version: config.Version, Job: *job, Rows: rows, Start: start})
			if err != nil {
				t.Fatal(err)
			}
			defer block.Seg.Close()
			mem := &control.Weights{}
			block.Open(epoch)
			if err := s.Restore(mem, block, "sgd"); i > 0 && err != nil {
				t.Fatalf("%q: %v", devices, err)
			}
			for range 5 {
				c, ok := block.Next(0)
				for row := c.First; row < c.First+c.Count; row += data.BlockRows {
					if !ok || done[row] {
						t.Fatalf("%q: on device %d chunk %+v is trained again", devices, i, c)
					}
					done[row] = true
				}
				block.Finish(0, c, plan.ChunkResult{Examples: c.Count})
			}
			s.Pos = Position{Epoch: epoch, Within: true}
			s.Capture(mem, block)
			block.Cut(epoch + 1)
			if own := map[string]int{"": 1024, "0": 8192}[gpu]; block.Plan.Chunk != own ||
				len(block.Chunks) != 2*rows/own {
				t.Errorf("%q: the next epoch has chunks of %d on device %d", devices, block.Plan.Chunk, i)
			}
		}
	}
}

// TestSettingsOfOldSnapshots: a setting that a file is too old to have is at its default; the data
// are those that it names, if any.
func TestSettingsOfOldSnapshots(t *testing.T) {
	path := filepath.Join(t.TempDir(), WeightsFile)
	meta := map[string]string{"hogwild.config": `{"lr": 0.5, "bias": false}`,
		"hogwild.data": `{"rows": 1, "features": 1, "kind": "floats"}`}
	if err := WriteTensors(path, meta, []Tensor{FloatTensor("w", []int{1}, []float32{1})}); err != nil {
		t.Fatal(err)
	}
	f, err := ReadSaved(path)
	if err != nil {
		t.Fatal(err)
	}
	if c := f.Job.Asked; c.Missing != "fill" || c.LR != 0.5 || c.Bias || c.Data != "" {
		t.Errorf("%+v", c)
	}
}
