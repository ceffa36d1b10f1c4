//go:build cuda

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// programLayout is of a model whose tensors are cut by the slices of two and of three ranks; a buffer is first,
// and one is last.
var programLayout = &model.Layout{Tensors: []model.Tensor{
	{Name: "norm.mean", Shape: []int{5}, Kind: model.Buffer},
	{Name: "fc.weight", Shape: []int{3, 7}, Kind: model.Parameter},
	{Name: "norm.count", Shape: []int{}, Kind: model.Integer},
	{Name: "norm.var", Shape: []int{9}, Kind: model.Buffer},
	{Name: "fc.bias", Shape: []int{6}, Kind: model.Parameter},
	{Name: "last", Shape: []int{4}, Kind: model.Buffer},
}}

// ownOf makes the memory of a run with a program.
func ownOf(t *testing.T, c config.Config, b device.Backend) (*device.Setup, device.Owner) {
	t.Helper()
	train, test, err := data.Load(data.Options{Path: "digits:200", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.Program, c.Layout, c.Model = "test", programLayout, model.ProgramName
	job := tuning.AsAsked(c)
	m, err := control.CreateWeights(job, model.Size(programLayout.Params()))
	if err != nil {
		t.Fatal(err)
	}
	setup, err := device.NewSetup(job, m, train)
	if err != nil {
		t.Fatal(err)
	}
	o, err := b.Own(setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		m.Seg.Close()
		train.Close()
		test.Close()
	})
	return setup, o
}

// ok ends the test with the first error.
func ok(t *testing.T, all ...error) {
	t.Helper()
	for _, err := range all {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestMeetingAverages: ranks with programs average on the GPU as they do on cores, also buffers among averaged
// gradients.
func TestMeetingAverages(t *testing.T) {
	for _, x := range []struct {
		average   config.Average
		optimizer config.Optimizer
		workers   int
	}{{"weights", config.SGD, 2}, {"gradients", config.SGD, 3}, {"gradients", config.Momentum, 2}} {
		c := configtest.Dense()
		c.Mode, c.Average, c.Optimizer, c.Workers = config.MustMode("sync"), x.average, x.optimizer, x.workers
		want := averaged(t, c, cpu.Backend{})
		c.GPU = "0"
		for i, got := range averaged(t, c, backend{}) {
			// numbers of about 1; a core may fuse multiplication and addition
			if d := got - want[i]; !(d < 1e-6 && d > -1e-6) {
				t.Errorf("%s, %s, %d workers: weight %d is %g, and %g on cores", x.average, x.optimizer, x.workers,
					i, got, want[i])
			}
		}
	}
}

// averaged are the weights after two rounds, in which the ranks' programs leave random numbers. The
// coordinator stands in for the ranks.
func averaged(t *testing.T, c config.Config, b device.Backend) []float32 {
	t.Helper()
	setup, o := ownOf(t, c, b)
	r := rand.New(rand.NewPCG(1, 2))
	randomize(r, setup.Weights)
	ranks := make([]device.Device, c.Workers)
	for rank := range ranks {
		var err error
		ranks[rank], err = o.Device(rank)
		ok(t, err)
	}
	for n := range 2 {
		ok(t, o.Upload())
		for _, d := range ranks {
			ok(t, d.Pull())
		}
		ok(t, o.Download())
		for rank, s := range setup.Slots {
			if !c.AveragesGradients() && !slices.Equal(s, setup.Weights) {
				t.Errorf("rank %d has pulled %v, the weights are %v", rank, s, setup.Weights)
			}
			randomize(r, s)
		}
		ok(t, o.Upload())
		for _, d := range ranks {
			ok(t, d.Average(plan.Round{Number: n + 1, Seen: int64(n * 10), Examples: []int{1, 2, 3}[:c.Workers]}))
		}
		ok(t, o.Download())
	}
	return slices.Clone(setup.Weights)
}

func randomize(r *rand.Rand, v []float32) {
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
}

// TestMeetingPlaces: what a rank's program is told leads it to the weights, to its replica, or to the weights and its
// gradient. The run's one allocation has no data.
func TestMeetingPlaces(t *testing.T) {
	for _, x := range []struct {
		mode               string
		average            config.Average
		weights, gradients []float32 // of rank 1; the shared weights begin with 0 1 2, its slot with 10 11 12
	}{
		{"async", "weights", []float32{0, 1, 2}, nil},
		{"sync", "weights", []float32{10, 11, 12}, nil},
		{"sync", "gradients", []float32{0, 1, 2}, []float32{10, 11, 12}},
	} {
		before := len(trace(t))
		c := configtest.Dense()
		c.GPU, c.Mode, c.Average, c.Workers = "0", config.MustMode(x.mode), x.average, 3
		setup, o := ownOf(t, c, backend{})
		copy(setup.Weights, []float32{0, 1, 2})
		if len(setup.Slots) > 0 {
			copy(setup.Slots[1], []float32{10, 11, 12})
		}
		ok(t, o.Upload())
		place := &meeting{handle: &o.(*owner).handle, memory: &o.(*owner).memory,
			rounds: averager{setup: setup, rank: 1}}
		g := place.GPUMemory()
		parts := [][2]int{{int(g.Weights), 3}}
		if x.gradients != nil {
			parts = append(parts, [2]int{int(g.Gradients), 3})
		}
		said := opens(t, map[string]any{"uuid": g.UUID, "handle": g.Handle, "size": g.Size}, parts)
		for i, want := range [][]float32{x.weights, x.gradients}[:len(parts)] {
			if want := fmt.Sprintf("cuda:0 float32 [%.1f, %.1f, %.1f]", want[0], want[1], want[2]); said[i] != want {
				t.Errorf("%s %s: the program finds %q, want %q", x.mode, x.average, said[i], want)
			}
		}
		exports := 0
		for _, c := range trace(t)[before:] {
			if c.Call == "cuIpcGetMemHandle" {
				exports++
			}
		}
		if exports != 1 {
			t.Errorf("%s %s: %d allocations are exported, want that of the weights", x.mode, x.average, exports)
		}
	}
}

// TestMeetingAsync: in async mode a worker's process leaves the GPU to its program.
func TestMeetingAsync(t *testing.T) {
	c := configtest.Dense()
	c.GPU, c.Workers = "0", 3
	setup, o := ownOf(t, c, backend{})
	before := len(trace(t))
	d, err := backend{}.Join(setup, 1, o.Handle())
	ok(t, err, d.Close())
	if calls := trace(t)[before:]; len(calls) > 0 {
		t.Errorf("joining calls the driver: %v", calls)
	}
}
