//go:build cuda

package cuda

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/rundir"
)

// cramped are a GPU's memory and what of it is free: less than is kept for a worker's context, as
// long as it is unknown who has taken the rest. The launches of such a run bring 1 MiB of rows.
var cramped = []string{"HOGWILD_FAKE_MEMORY=2GiB", "HOGWILD_FAKE_FREE=35MiB"}

// greedy gives devices a fixed appetite of chunks, which does not depend on the time that a launch
// takes. Of a set that streams a call of Train is then many launches.
type greedy struct {
	backend
	chunks int
}

const greedyVariable = "HOGWILD_TEST_GREEDY"

type hungry struct {
	device.Device
	chunks int
}

func (g greedy) Join(s *device.Setup, rank int, handle []byte) (device.Device, error) {
	d, err := g.backend.Join(s, rank, handle)
	if t, ok := d.(*trainer); ok {
		t.pace = g.chunks * s.Plan.Chunk
	}
	return hungry{d, g.chunks}, err
}

func (h hungry) PreferredChunks() int { return h.chunks }

// TestStreams: a set that does not fit trains to the same bits as one that does, and
// however many launches a call of Train is cut into.
func TestStreams(t *testing.T) {
	_ = trace(t) // skips unless the driver is the stand-in
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"bytes", func(c *config.Config) { c.Model, c.Data = "softmax", "digits:1000" }},
		{"bytes scaled", func(c *config.Config) {
			c.Model, c.Scale, c.LR, c.Data = "mlp:20", "standard", .01,
				"digits:500"
		}},
		{"floats", func(c *config.Config) { c.Model, c.Data = "logistic", "synth:dense:2000x60" }},
		// drawn by the row's number
		{"bytes, dropout", func(c *config.Config) { c.Model, c.Data = "conv:2@5p4d,8d", "digits:100" }},
		{"sparse", func(c *config.Config) { c.Model, c.Data = "logistic", "synth:sparse:3000x1000x20" }},
		{"matrix", func(c *config.Config) { c.Model, c.Data = "factor:4", "synth:lowrank:60x50x1500x2" }},
		{"graph", func(c *config.Config) { c.Model, c.Data = "cut", "synth:dblife:0.01" }},
		{"floats, wide", func(c *config.Config) { c.Model, c.Data = "logistic", "synth:dense:600x2000" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := digits(t, c.edit)
			cfg.Mode, cfg.Epochs, cfg.AverageEvery = config.MustMode("sync"), 1, 0
			fits, streams := cfg, cfg
			streams.Run = t.TempDir()
			want := train(t, fits)
			got, err := apart(t, streams, append(cramped, greedyVariable+"=1000")...).result(t)
			if err != nil {
				t.Fatal(err)
			}
			if got.TrainLoss != want.TrainLoss || abs(got.TestLoss-want.TestLoss) > 1e-12 {
				t.Errorf("train and test loss %.17g, %.17g; of a set that fits %.17g, %.17g", got.TrainLoss,
					got.TestLoss, want.TrainLoss, want.TestLoss)
			}
			if !slices.Equal(weightsIn(t, streams.Run), weightsIn(t, fits.Run)) {
				t.Error("the weights differ")
			}
			said := strings.Join(got.Notes, "\n")
			if !strings.Contains(said, "the training set, ") || !strings.Contains(said, "it streams in pieces of") {
				t.Errorf("the notes do not say that the set streams:\n%s", said)
			}
			if strings.Contains(strings.Join(want.Notes, "\n"), "streams") {
				t.Errorf("a set that fits streams: %q", want.Notes)
			}
		})
	}
}

// TestStreamsWithoutLocalCopy: a set that streams has no local copy of columns, and the run says so.
func TestStreamsWithoutLocalCopy(t *testing.T) {
	_ = trace(t)
	cfg := digits(t, func(c *config.Config) {
		c.Model, c.Data, c.MergeEvery, c.Epochs = "logistic", "synth:sparse:1000x1000x20", "16", 1
	})
	for _, streams := range []bool{false, true} {
		cfg.Run = t.TempDir()
		var env []string
		if streams {
			env = cramped
		}
		got, err := apart(t, cfg, env...).result(t)
		if err != nil {
			t.Fatal(err)
		}
		const merged, not = "merged every 16 of its steps", "--merge-every 16 has no effect"
		if said := strings.Join(got.Notes, "\n"); strings.Contains(said, merged) == streams ||
			strings.Contains(said, not) != streams {
			t.Errorf("streams %t: the notes are\n%s", streams, said)
		}
	}
}

func abs(v float64) float64 { return max(v, -v) }

// weightsIn are the bytes of the weights in a run folder.
func weightsIn(t *testing.T, folder string) (all []byte) {
	t.Helper()
	_, tensors, err := rundir.ReadTensors(filepath.Join(folder, "weights.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tensors {
		all = append(all, x.Data...)
	}
	return all
}

// TestGather: a stage holds of any kind of rows what a Reader makes of them.
func TestGather(t *testing.T) {
	for path, task := range map[string]string{"digits:300": "classes", "synth:dense:300x7": "classes",
		"synth:sparse:300x1000x9": "classes", "synth:lowrank:30x40x300x2": "triples"} {
		t.Run(path, func(t *testing.T) {
			set, test, err := data.Load(data.Options{Path: path, Task: task, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = set.Close(), test.Close() })
			rows := []int32{7, 0, 7, int32(set.Rows) - 1, 63}
			from := source{set, true, new(scatter)}
			s := &stage{host: make([]byte, from.stageSize(rows)), device: 1 << 20}
			var j job
			from.put(s, &j, rows) // panics where stageSize is too small
			gathered := &data.Set{Meta: set.Meta, Y: at[float32](s, j.Y, 5), M: at[float32](s, j.M, 5),
				X8: at[uint8](s, j.X8, 5*set.Features), X: at[float32](s, j.X, 5*set.Features)}
			gathered.Rows, gathered.Nonzeros = len(rows), set.Nonzeros*5/int64(set.Rows)
			gathered.Idx = at[uint32](s, j.Idx, 10)
			if set.Kind == data.Sparse {
				gathered.Ptr = at[int64](s, j.Ptr, 6)
				gathered.Idx, gathered.Val = at[uint32](s, j.Idx, int(gathered.Ptr[5])),
					at[float32](s, j.Val, int(gathered.Ptr[5]))
			}
			got := gathered.NewReader().Batch(at[int32](s, j.Rows, 5))
			want := set.NewReader().Batch(at[int32](s, j.IDs, 5))
			if !slices.Equal(want.ID, rows) || !slices.Equal(got.Y, want.Y) || !slices.Equal(got.M, want.M) {
				t.Fatalf("rows %d, y %g, m %g; want %d, %g, %g", want.ID, got.Y, got.M, rows, want.Y, want.M)
			}
			for i, row := range want.Rows {
				if !slices.Equal(got.Rows[i].Idx, row.Idx) || !slices.Equal(got.Rows[i].Val, row.Val) {
					t.Errorf("row %d is %v, want %v", i, got.Rows[i], row)
				}
			}
		})
	}
}

// at are n numbers in a stage, by their address on the GPU; none where it is 0.
func at[T number](s *stage, address uint64, n int) []T {
	if address == 0 {
		return nil
	}
	return numbers[T](s.host[address-uint64(s.device):])[:n]
}
