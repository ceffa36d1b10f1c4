//go:build cuda

package cuda

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
)

// Additions of the bias that CTAs hold back.

// TestBiasEvery: as many steps as the learning rate allows among all CTAs; none where the limit is not known,
// where each step was asked for, where few steps are in flight, or in order.
func TestBiasEvery(t *testing.T) {
	for i, c := range []struct {
		edit func(*tuning.Job)
		want int
	}{
		{func(*tuning.Job) {}, 8}, // 264 among 33 CTAs
		{func(j *tuning.Job) { j.Used.MaxBiasHeld = 1e12 }, 64},
		{func(j *tuning.Job) { j.Used.MaxBiasHeld = 40 }, 1},
		{func(j *tuning.Job) { j.Used.MaxBiasHeld = 0 }, 1},
		{func(j *tuning.Job) { j.Used.InFlight = 32 }, 1},
		{func(j *tuning.Job) { j.Used.InFlight = 2112 }, 1},
		{func(j *tuning.Job) { j.Asked.MergeEvery = "1" }, 1},
		{func(j *tuning.Job) { j.Asked.Mode = config.MustMode("atomic") }, 1},
		{func(j *tuning.Job) { j.Asked.Optimizer = "adam" }, 1},
	} {
		j := tuning.AsAsked(config.Config{Mode: config.MustMode("async"), Optimizer: "sgd", MergeEvery: "auto"})
		j.Used = tuning.Tuning{InFlight: 264, MaxBiasHeld: 264}
		c.edit(j)
		s := &device.Setup{Job: j, Set: &data.Set{Meta: data.Meta{Kind: data.Sparse}}}
		s.Spec.Outputs, s.Spec.Bias = 1, true
		if got := biasEvery(s); got != c.want {
			t.Errorf("%d: the bias is added every %d steps, want %d", i, got, c.want)
		}
		if s.Spec.Bias = false; biasEvery(s) != 1 {
			t.Errorf("%d: a bias that is not there is held back", i)
		}
	}
}

// TestBiasAdditions counts the sectors that additions touch. With the bias added at each step and held back they differ
// by the bias's: one a row, and one for every few rows and each CTA's last.
func TestBiasAdditions(t *testing.T) {
	needStandIn(t)
	const rows = 6000
	for name, c := range map[string]struct {
		model string
		each  int // sectors of the biases
	}{"one output": {"logistic", 1}, "two outputs": {"softmax", 1}} {
		t.Run(name, func(t *testing.T) {
			sectors, launches, every, loss := [2]int{}, 0, 0, [2]float64{}
			for i, merge := range []config.Count{"1", "auto"} {
				path := filepath.Join(t.TempDir(), "profile")
				cfg := digits(t, func(o *config.Config) {
					o.Model, o.Data, o.Limit, o.Epochs, o.Batch, o.LR = c.model, "synth:sparse:7000x3000x20",
						rows, 1, 1, .25
					o.InFlight, o.MergeEvery = 64, merge
				})
				r, err := apart(t, cfg, "HOGWILD_FAKE_PROFILE="+path).result(t)
				if err != nil {
					t.Fatal(err)
				}
				if i == 1 {
					every = biasNote(t, &r)
				}
				sectors[i], launches = added(t, path)
				loss[i] = r.TestLoss
			}
			const ctas = 8
			before, after := c.each*rows, sectors[1]-sectors[0]+c.each*rows
			t.Logf("added every %d steps: %d sectors of biases, %d before; test loss %.5f, %.5f before", every, after,
				before, loss[1], loss[0])
			if every < 2 || after < rows/every-ctas*launches || after > c.each*(rows/every+ctas*launches) {
				t.Errorf("added every %d steps in %d launches: %d sectors of biases, before that %d", every,
					launches, after, before)
			}
			if abs(loss[1]-loss[0]) > .02*loss[0] {
				t.Errorf("test loss %g, with the bias added at each step %g", loss[1], loss[0])
			}
		})
	}
}

// biasNote is how many steps the notes say that the bias is held back for.
func biasNote(t *testing.T, r *rundir.Result) (every int) {
	t.Helper()
	for _, n := range r.Notes {
		if _, err := fmt.Sscanf(n, "each CTA adds its changes of the bias every %d of its steps", &every); err == nil {
			return every
		}
	}
	t.Fatalf("no note tells of the bias: %q", r.Notes)
	return 0
}

// added is how many sectors sparse_step added floats to, and in how many launches.
func added(t *testing.T, path string) (sectors, launches int) {
	t.Helper()
	text, err := os.ReadFile("ptx/sparse.sm_70.ptx")
	if err != nil {
		t.Skip("cuda/ptx is not here")
	}
	ptx := strings.Split(string(text), "\n")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct {
			Kernel string
			Lines  [][3]int
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Kernel != "sparse_step" {
			continue
		}
		launches++
		for _, n := range l.Lines {
			if strings.Contains(ptx[n[0]-1], "red.relaxed.sys.global.add.f32") {
				sectors += n[2]
			}
		}
	}
	return sectors, launches
}
