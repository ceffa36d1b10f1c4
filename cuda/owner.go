//go:build cuda

package cuda

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"

	"gorgonia.org/cu"

	"hogwild/hogwild"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// owner is the coordinator's side of a run: it makes the two allocations, exports
// them, and outlives the workers that have opened them.
type owner struct {
	*gpu
	setup  *hogwild.Setup
	memory memory
	ticket ticketOfRun
	mu     sync.Mutex // one use at a time
	idle   *trainer   // for the self-check, and in place of ranks that are gone
	others []*trainer
	scorer *scorer // made when first needed
}

func (o *owner) allocateRun() (err error) {
	l := &o.memory.layout
	if o.memory.weights, err = o.allocate(l.Size, fmt.Sprintf("%d weights, %d replicas and %d optimizer states",
		l.P, len(l.Slots), len(l.States))); err != nil {
		return err
	}
	o.memory.data, err = o.allocate(l.Data.Size, fmt.Sprintf("%d training rows of %s", o.setup.Set.Rows, o.setup.Config.Data))
	return err
}

func (o *owner) export() (err error) {
	l := &o.memory.layout
	o.ticket = ticketOfRun{UUID: o.uuid, Nonce: rand.Uint64(), Checksum: l.checksum(), Size: l.Size, DataSize: l.Data.Size}
	if o.ticket.Weights, err = exportMemory(o.memory.weights); err != nil {
		return err
	}
	o.ticket.Data, err = exportMemory(o.memory.data)
	return err
}

// uploadData fills the allocation of the training set.
func (o *owner) uploadData() error { return uploadSet(&o.memory, o.setup.Set) }

func uploadSet(m *memory, set *data.Set) error {
	d := m.layout.Data
	at := func(offset int64) cu.DevicePtr { return m.data + cu.DevicePtr(max(offset, 0)) }
	err := upload(at(d.Y), set.Y)
	if set.X8 == nil {
		return keep(err, upload(at(d.X), set.X))
	}
	err = keep(err, upload(at(d.X8), set.X8))
	err = keep(err, upload(at(d.Mul), spread(set.Mul, 1, d.Scales)))
	return keep(err, upload(at(d.Add), spread(set.Add, 0, d.Scales)))
}

// spread is v, or its one entry n times, or missing n times.
func spread(v []float32, missing float32, n int) []float32 {
	if len(v) == n {
		return v
	}
	if len(v) == 1 {
		missing = v[0]
	}
	all := make([]float32, n)
	for i := range all {
		all[i] = missing
	}
	return all
}

// prepare makes the trainer of this process.
func (o *owner) prepare() (err error) {
	o.idle, err = newTrainer(o.setup, o.gpu, &o.memory, 0)
	return err
}

// Name is for the report.
func (o *owner) Name() string { return fmt.Sprintf("cuda:%d (%s)", o.device, o.name) }

// Notes say how many steps are in flight, and that processes take turns.
func (o *owner) Notes() []string {
	c, ctas := o.setup.Config, o.idle.ctas
	notes := []string{fmt.Sprintf("%d steps of %d examples in flight: %d CTAs in each of %d workers",
		ctas*c.Workers, c.Batch, ctas, c.Workers)}
	if want := c.InFlight / c.Workers; want > ctas {
		notes = append(notes, fmt.Sprintf("--in-flight %d was lowered: this GPU runs %d CTAs of %s at a time", c.InFlight, ctas, o.idle.job.kernelName()))
	}
	if c.Workers > 1 && !o.underMPS() {
		notes = append(notes, "without MPS, processes on one GPU take turns: more workers do not make it faster")
	}
	return notes
}

// Handle is what workers open the memory by.
func (o *owner) Handle() []byte {
	text, err := json.Marshal(o.ticket)
	if err != nil {
		panic(err) // of bytes and numbers alone
	}
	return text
}

// within runs f with the context current, one caller at a time.
func (o *owner) within(f func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	release, err := o.use()
	if err != nil {
		return err
	}
	defer release()
	return f()
}

// Upload copies weights, slots and states to the GPU.
func (o *owner) Upload() error {
	return o.within(func() error {
		m, s := &o.memory, o.setup
		err := upload(m.weights, s.Weights)
		for r, v := range s.Slots {
			err = keep(err, upload(m.slot(r), v))
		}
		for i, v := range s.States {
			err = keep(err, upload(m.state(i), v))
		}
		return err
	})
}

// Download copies them back.
func (o *owner) Download() error {
	return o.within(func() error {
		m, s := &o.memory, o.setup
		err := download(s.Weights, m.weights)
		for r, v := range s.Slots {
			err = keep(err, download(v, m.slot(r)))
		}
		for i, v := range s.States {
			err = keep(err, download(v, m.state(i)))
		}
		return err
	})
}

// Refresh copies the weights alone: what is left of a run if the GPU fails.
func (o *owner) Refresh() error {
	return o.within(func() error { return download(o.setup.Weights, o.memory.weights) })
}

// Device is the device of a rank that is gone, in this process.
func (o *owner) Device(rank int) (t hogwild.Device, err error) {
	err = o.within(func() error {
		mine, err := newTrainer(o.setup, o.gpu, &o.memory, rank)
		if err == nil {
			o.others = append(o.others, mine)
			t = mine
		}
		return err
	})
	return t, err
}

// Score evaluates a copy of the weights on the GPU.
func (o *owner) Score(w []float32, set *data.Set) (sum model.Score, err error) {
	err = o.within(func() error {
		if o.scorer == nil {
			if o.scorer, err = newScorer(o, set); err != nil {
				return err
			}
		}
		sum, err = o.scorer.score(w)
		return err
	})
	return sum, err
}

// Close frees the run's memory. No worker has it open any more.
func (o *owner) Close() error { return o.within(o.free) }

func (o *owner) free() error {
	var err error
	for _, p := range []cu.DevicePtr{o.memory.weights, o.memory.data} {
		if p != 0 {
			err = keep(err, failed(cu.MemFree(p), "freeing the run's memory"))
		}
	}
	return keep(err, o.close()) // the context's other memory goes with it
}

// underMPS tells whether this process runs under a Multi-Process Service, so that
// workers on one GPU run at the same time.
func (o *owner) underMPS() bool {
	v, err := o.device.Attribute(mpsEnabled)
	return err == nil && v != 0
}

const mpsEnabled = 133 // CU_DEVICE_ATTRIBUTE_MPS_ENABLED, CUDA 12.4; unknown to gorgonia.org/cu
