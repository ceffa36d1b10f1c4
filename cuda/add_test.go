//go:build cuda

package cuda

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/run"
)

// TestReduceAdd wants the bits of a plain loop, and nothing written outside the weights.
func TestReduceAdd(t *testing.T) { onEach(t, testReduceAdd, "reduce") }

func testReduceAdd(t *testing.T, g *gpuUnderTest) {
	const guard, guardValue = 3, 4711.25
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 31, 256, 257, 1000, 70_001} {
		w, delta := slices.Repeat([]float32{guardValue}, guard+n+guard), make([]float32, n)
		for i := range delta {
			w[guard+i] = float32(r.NormFloat64())
			if r.IntN(3) > 0 {
				delta[i] = float32(r.NormFloat64())
			}
		}
		j := job{W: put(g, delta), Out: put(g, w) + 4*guard, Weights: int64(n)}
		if err := g.kernels["reduce_add"].run(min(3, ceilDiv(n, threads)),
			cu.DevicePtr(put(g, encode(j)))); err != nil {
			t.Fatal(err)
		}
		for i, d := range delta {
			w[guard+i] += d
		}
		if !slices.Equal(get[float32](g, len(w), j.Out-4*guard), w) {
			t.Errorf("%d weights: the bits differ", n)
		}
	}
}

// adding adds a number to all weights but the second, several times while a run trains.
type adding struct {
	backend
	times int
	each  float32
	part  int // numbers in a part
	after []uint64
}

// addingOwner begins when workers can, and the run ends when it has added.
type addingOwner struct {
	*owner
	by    *adding
	ends  chan struct{} // closed when workers have trained all
	added chan error
}

func (b *adding) Own(s *device.Setup) (device.Owner, error) {
	made, err := b.backend.Own(s)
	if err != nil {
		return nil, err
	}
	o := &addingOwner{made.(*owner), b, make(chan struct{}), make(chan error)}
	return o, o.aside(func() error {
		o.adder, err = newAdder(o.gpu, &o.memory, b.part)
		return err
	})
}

func (o *addingOwner) Upload() error {
	if err := o.owner.Upload(); err != nil {
		return err
	}
	first, err := o.steps()
	go func() { o.added <- o.add(first) }()
	return err
}

func (o *addingOwner) add(first uint64) error {
	delta := slices.Repeat([]float32{o.by.each}, len(o.setup.Weights))
	delta[1] = 0
	for last := uint64(0); len(o.by.after) < o.by.times; {
		n, err := o.steps()
		if err != nil {
			return err
		}
		n -= first
		select {
		case <-o.ends:
		default:
			if n == last {
				time.Sleep(time.Millisecond)
				continue
			}
		}
		last, o.by.after = n, append(o.by.after, n)
		if err := o.Add(delta); err != nil {
			return err
		}
	}
	return nil
}

// steps returns the sum of the counts that workers have written, from some number on: the memory is not cleared.
func (o *addingOwner) steps() (sum uint64, err error) {
	err = o.aside(func() error {
		for rank := range o.setup.Job.Asked.Workers {
			n := make([]uint64, 1)
			err = keep(err, download(n, o.memory.weights+cu.DevicePtr(o.memory.layout.Counts+int64(rank)*countLine)))
			sum += n[0]
		}
		return err
	})
	return sum, err
}

func (o *addingOwner) Download() error {
	select {
	case <-o.ends: // once more
		return o.owner.Download()
	default:
	}
	close(o.ends)
	return keep(<-o.added, o.owner.Download())
}

// onesWithTargets returns rows whose targets are out of reach: each step adds 1 to all weights.
func onesWithTargets(n, d int) *data.Memory {
	m := &data.Memory{Y: slices.Repeat([]float32{1e9}, n)}
	m.Y[0] = 2e9 // not a constant
	for range n {
		m.Rows = append(m.Rows, data.Row{Val: slices.Repeat([]float32{1}, d)})
	}
	return m
}

// TestAddWhileWorkersTrain: with any number of workers and of parts, what is added and what is learnt are both in the
// weights, to the last bit: here each step adds 1, and each Add more than all steps together.
func TestAddWhileWorkersTrain(t *testing.T) {
	const rows, each = 6000, 1 << 14
	for _, c := range []struct{ workers, features, part int }{{1, 5, 100}, {2, 37, 5}} {
		b := &adding{times: 8, each: each, part: c.part}
		device.RegisterBackend("cuda", b)
		defer Register()
		train := digits(t, func(k *config.Config) {
			k.Data, k.Model, k.Workers, k.InFlight, k.Batch, k.Epochs, k.LR = "", "l1", c.workers, 4, 1, 1, 1
			k.Center, k.Bias, k.Scale = "off", false, "none"
		})
		_, err := run.Run(context.Background(), train,
			run.Options{TrainData: onesWithTargets(rows, c.features), TestData: onesWithTargets(4, c.features)})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range numbers[float32](weightsIn(t, train.Run)) {
			want := float32(rows + each*b.times)
			if i == 1 {
				want = rows
			}
			if v != want {
				t.Errorf("%d workers: weight %d is %v, want %v", c.workers, i, v, want)
			}
		}
		if b.after[0] >= rows && os.Getenv("HOGWILD_FAKE_CHECKS") != "" { // a GPU may be faster than this process
			t.Errorf("%d workers: nothing was added before the end", c.workers)
		}
		t.Logf("%d workers, parts of %d of %d: added after %v of %d steps", c.workers, c.part,
			c.features, b.after, rows)
	}
}
