package program

import (
	"math/rand/v2"
	"os"
	"sync"
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

// linear returns a set whose values are a linear function of the inputs, and noise.
func linear(t *testing.T, rows int, noise float64) data.Sets {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	some := func(n int) *data.Memory {
		m := &data.Memory{}
		for range n {
			x := []float32{float32(random.NormFloat64()), float32(random.NormFloat64()), float32(random.NormFloat64())}
			m.Rows = append(m.Rows, data.Row{Val: x})
			m.Y = append(m.Y, float32(2*float64(x[0])-float64(x[1])+0.5*float64(x[2])+0.25+noise*random.NormFloat64()))
		}
		return m
	}
	s, err := data.LoadSets(data.Options{Memory: some(rows), TestMemory: some(300), Scale: "none",
		Task: "values", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// run is a run's memory and the devices of its workers, in one process.
type run struct {
	setup   *device.Setup
	devices []device.Device
	w       []float32
}

func newRun(t *testing.T, c config.Config, set *data.Set, tricks ...string) *run {
	t.Helper()
	c.Program = own(tricks...)
	p := started(t, tricks...)
	p.finish(os.ErrClosed)
	c.Layout = &p.Layout
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	job := tuning.AsAsked(c)
	m, err := control.CreateWeights(job, model.Size(c.Layout.Params()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Seg.Close() })
	r := &run{w: m.W}
	for rank := range c.Workers {
		if r.setup, err = device.NewSetup(job, m, set); err != nil {
			t.Fatal(err)
		}
		r.devices = append(r.devices, join(t, r.setup, rank, tricks...))
	}
	return r
}

// join returns the device of a rank.
func join(t *testing.T, s *device.Setup, rank int, tricks ...string) device.Device {
	t.Helper()
	inner, err := cpu.Backend{}.Join(s, rank, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Join(s, rank, inner, started(t, tricks...))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (r *run) close(t *testing.T) {
	t.Helper()
	for _, d := range r.devices {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	noChildren(t)
}

// epochs trains the chunks of async mode, which all ranks take.
func (r *run) epochs(t *testing.T, n int) (last plan.ChunkResult) {
	t.Helper()
	for epoch := range n {
		last = plan.ChunkResult{}
		chunks := make(chan plan.Chunk, r.setup.Plan.Chunks())
		for i := range r.setup.Plan.Chunks() {
			chunks <- r.setup.Plan.At(epoch, i)
		}
		close(chunks)
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, d := range r.devices {
			all.Go(func() {
				for c := range chunks {
					ys, err := d.Train([]plan.Chunk{c})
					mu.Lock()
					if err != nil {
						t.Error(err)
					} else {
						last = last.Plus(ys[0])
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
	}
	return last
}

func configured(mode string, workers, batch int, lr float64) config.Config {
	c := configtest.Dense()
	c.Mode, c.Workers, c.Batch, c.LR, c.Schedule = config.MustMode(mode), workers, batch, lr, "constant"
	return c
}

// round carries out one round of barrier mode.
func (r *run) round(t *testing.T, epoch, round, number int) {
	t.Helper()
	examples := make([]int, len(r.devices))
	seen := int64(0)
	for rank, d := range r.devices {
		if err := d.Pull(); err != nil {
			t.Fatal(err)
		}
		from, to := r.setup.Plan.Round(rank, round)
		for i := from; i < to; i++ {
			c := r.setup.Plan.At(epoch, i)
			ys, err := d.Train([]plan.Chunk{c})
			if err != nil {
				t.Fatal(err)
			}
			examples[rank] += ys[0].Examples
			seen = c.Seen
		}
	}
	for _, d := range r.devices {
		if err := d.Average(plan.Round{Number: number, Seen: seen, Examples: examples}); err != nil {
			t.Fatal(err)
		}
	}
}
