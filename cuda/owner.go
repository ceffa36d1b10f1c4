//go:build cuda

package cuda

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/internal/fault"
)

// owner is the coordinator's side of a run: it makes the two allocations, exports
// them, and outlives the workers that have opened them.
type owner struct {
	*gpu
	backend backend
	setup   *device.Setup
	memory  memory
	handle  runHandle
	peers   []*owner   // of the set on each of the other GPUs
	mu      sync.Mutex // one use at a time
	context int64      // what a process's context takes of this GPU, in bytes
	inside  bool       // no other process can open the memory
	idle    *trainer   // for the self-check, and in place of ranks that are gone; nil: a program trains
	others  []local
	replica bool       // the weights are on another GPU
	kept    *kept      // of the weights; nil: they are there
	scorer  *scorer    // made when first needed
	adder   *adder     // the same
	besides sync.Mutex // one use at a time of what need not wait for an evaluation
	notes   []string   // what was found out while the memory was made
}

func (o *owner) allocateWeights() (err error) {
	l := &o.memory.layout
	o.memory.weights, err = o.allocate(l.Size, l.words(o.setup))
	return err
}

func (o *owner) allocateData() error {
	l := &o.memory.layout
	piece, err := o.fits("training", l.Data.Size)
	if err != nil {
		return err
	}
	if piece > 0 {
		o.memory.stream(o.setup.Set, piece)
	}
	o.memory.data,
		err = o.allocate(l.Data.Size, fmt.Sprintf("%d training rows of %s", o.setup.Set.Rows, o.setup.Job.Asked.Data))
	return err
}

// export makes the handles by which workers open the memory. Where there is no CUDA IPC, a
// run's one worker needs none: it trains in this process.
func (o *owner) export() error {
	err := o.makeHandles()
	var driver *Error
	if !errors.As(err, &driver) {
		return err
	}
	if program := o.setup.Job.Asked.Layout != nil; program || o.setup.Job.Asked.Workers > 1 {
		without := "--workers 1 needs none"
		if program {
			without = "a program always needs it: leave --gpu out"
		}
		return &Error{Doing: driver.Doing, Code: driver.Code, Err: driver.Err,
			Help: "processes cannot share GPU memory here: CUDA IPC needs Linux and a whole GPU, and is missing " +
				"in gVisor, on Tegra, and on some WSL 2 and virtual GPUs; " + without + " (hogwild doctor)"}
	}
	o.inside = true
	o.notes = append(o.notes, fmt.Sprintf("processes cannot share GPU memory here (CUDA error %d, %v): the one "+
		"worker trains in the coordinator's process",
		driver.Code, driver.Err))
	return nil
}

func (o *owner) makeHandles() (err error) {
	l := &o.memory.layout
	o.handle = runHandle{Nonce: rand.Uint64(), Checksum: l.checksum(), Size: l.Size, DataSize: l.Data.Size,
		GPUs: []gpuHandle{{UUID: o.UUID, Piece: o.memory.piece}}}
	if o.handle.Weights, err = exportMemory(o.memory.weights); err != nil || o.memory.data == 0 {
		return err
	}
	o.handle.GPUs[0].Data, err = exportMemory(o.memory.data)
	return err
}

// uploadData fills the allocation of the training set.
func (o *owner) uploadData() error {
	slot, err := uploadLocal(&o.memory, o.setup)
	return keep(err, o.memory.upload(o.setup.Set, slot))
}

// prepare makes the trainer of this process.
func (o *owner) prepare() (err error) {
	if o.idle, err = newTrainer(o.setup, o.gpu, &o.memory, 0); err != nil {
		return err
	}
	step := slices.IndexFunc(o.images, func(l loaded) bool { return l.source == file(o.idle.step.name) })
	o.notes = append(o.notes, fmt.Sprintf("kernels on GPU %d: %v", o.device, o.images[step]))
	return nil
}

// Traits is device.Owner's. All GPUs together run as many steps at once as if each took as many as the first one.
func (o *owner) Traits() device.Traits {
	t := device.Traits{Driver: true, Inside: o.inside, UUIDs: []string{o.UUID}, Names: []string{o.gpu.Name}}
	list := fmt.Sprint(int(o.device))
	for _, a := range o.peers {
		t.UUIDs, t.Names = append(t.UUIDs, a.UUID), append(t.Names, a.gpu.Name)
		list += fmt.Sprintf(",%d", a.device)
	}
	t.Name = fmt.Sprintf("cuda:%s (%s)", list, o.gpu.Name)
	if m := o.memory.mapped; m != nil {
		t.File = m.segment.File()
	}
	if o.idle != nil {
		t.InFlight = o.idle.ctas * int(o.idle.job.Teams) * o.setup.Job.Sharers()
	}
	return t
}

// PutBack is for blocks, which are trained on cores.
func (*owner) PutBack(int, plan.Chunk) {}

// Where is the device of a rank.
func (o *owner) Where(rank int) string {
	if g := o.backend.gpuOf(rank, 1+len(o.peers)); g > 0 {
		return fmt.Sprintf("cuda:%d", o.peers[g-1].device)
	}
	return fmt.Sprintf("cuda:%d", o.device)
}

// Handle returns the text by which workers open the memory.
func (o *owner) Handle() []byte {
	text, err := json.Marshal(o.handle)
	if err != nil {
		panic(err) // of bytes and numbers alone
	}
	return text
}

// within runs f with the context current, one caller at a time.
func (o *owner) within(f func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gpu.within(f)
}

// aside is within for what has a stream of its own: it does not wait for an evaluation.
func (o *owner) aside(f func() error) error {
	o.besides.Lock()
	defer o.besides.Unlock()
	return o.gpu.within(f)
}

// part is an array of the run's state, on the GPU and in host memory.
type part struct {
	at     cu.DevicePtr
	host   []byte
	counts bool // steps; else it belongs to the weights
}

// parts are the slots and the states with their counts of steps: all but the weights.
func (o *owner) parts() []part {
	m, s := &o.memory, o.setup
	var all []part
	for r, v := range s.Slots {
		all = append(all, part{m.slot(r), raw(v), false})
	}
	for i, v := range s.States {
		taken := unsafe.Slice(s.Mem.Optimizers[i].Steps, 1)
		all = append(all, part{m.state(i), raw(v), false}, part{m.steps(i), raw(taken), true})
	}
	return all
}

// Upload copies them to the GPU, and waits until they are there: a copy from memory that is not
// pinned may return before, and other processes' work would not wait for it.
func (o *owner) Upload() error {
	return o.within(func() error {
		err := keep(fault.Point("gpu.upload"), o.memory.uploadWeights(o.setup.Weights))
		for _, p := range o.parts() {
			host := p.host
			if !p.counts {
				host = raw(o.memory.there(numbers[float32](host)))
			}
			err = keep(err, upload(p.at, host))
		}
		return keep(err, failed(cu.Synchronize(), "waiting for the weights to reach the GPU"),
			o.memory.mapped.fill(o.memory.weights, o.memory.layout.Counts))
	})
}

// Download copies them back.
func (o *owner) Download() error {
	return o.within(func() error {
		err := keep(fault.Point("gpu.download"), o.memory.mapped.settle(o.memory.weights, o.memory.layout.Counts),
			o.memory.downloadWeights(o.setup.Weights))
		for _, p := range o.parts() {
			if p.counts {
				err = keep(err, download(p.host, p.at))
			} else {
				err = keep(err, o.memory.download(numbers[float32](p.host), p.at))
			}
		}
		return err
	})
}

// Refresh copies the weights alone: what is left of a run if the GPU fails.
func (o *owner) Refresh() error {
	return o.aside(func() error { return o.memory.copyWeights(o.setup.Weights, false) })
}

// Replace copies them back.
func (o *owner) Replace() error {
	return o.aside(func() error { return o.memory.copyWeights(o.setup.Weights, true) })
}

// Device is the device of a rank that is gone, in this process.
func (o *owner) Device(rank int) (t device.Device, err error) {
	err = o.within(func() error {
		mine, err := o.deviceOf(rank)
		if err == nil {
			o.others = append(o.others, mine)
			t = mine
		}
		return err
	})
	return t, err
}

// local is a Device in the coordinator's process.
type local interface {
	device.Device
	free() error
}

func (o *owner) deviceOf(rank int) (local, error) {
	if o.setup.Job.Asked.Layout != nil {
		return newMeeting(o.setup, o.gpu, &o.memory, rank)
	}
	m := o.memory
	return newTrainerBy(o.handle.wayOf(0), o.setup, o.gpu, &m, rank)
}

// Score evaluates the copy of the weights, or other weights, on the GPU.
func (o *owner) Score(w []float32, set *data.Set) (sum model.Score, err error) {
	err = o.within(func() error {
		if o.scorer == nil {
			if o.scorer, err = newScorer(o.setup, set, o.gpu, o.kept, o.idle.kernels, o.fits); err != nil {
				return err
			}
		}
		return o.kept.with(o.memory.there(w), func() error {
			sum, err = o.scorer.score()
			return err
		})
	})
	return sum, err
}

// Close frees the run's memory. No worker has it open any more.
func (o *owner) Close() (err error) {
	for _, a := range o.peers {
		err = keep(err, a.Close())
	}
	o.besides.Lock()
	defer o.besides.Unlock()
	return keep(err, o.within(o.free))
}

func (o *owner) free() error {
	var err error
	for _, t := range o.others {
		err = keep(err, t.free())
	}
	if o.idle != nil {
		err = keep(err, o.idle.free())
	}
	if o.scorer != nil {
		err = keep(err, o.scorer.free())
	}
	if o.kept != nil {
		err = keep(err, o.kept.free())
	}
	if o.adder != nil {
		err = keep(err, o.adder.free())
	}
	if o.memory.mapped != nil {
		err = keep(err, o.memory.mapped.close())
	}
	for _, p := range []cu.DevicePtr{o.memory.weights, o.memory.data} {
		if p != 0 {
			err = keep(err, failed(cu.MemFree(p), "freeing the run's memory"))
		}
	}
	return keep(err, o.close())
}

// keepCopies makes room for a copy of the weights, before the set takes what it may.
func (o *owner) keepCopies() error {
	if o.replica {
		return nil
	}
	o.kept = new(kept)
	return o.kept.open(o.gpu, o.setup, o.memory.weights)
}

// Keep copies the weights within the GPU. Nothing is copied to w.
func (o *owner) Keep(_ []float32, compare bool) (changed []bool, err error) {
	err = o.within(func() error {
		if err := fault.Point("gpu.keep"); err != nil {
			return err
		}
		err := keep(o.memory.mapped.settle(o.memory.weights, o.memory.layout.stored()),
			o.kept.convert(model.ToStandard)) // it is compared with weights as they are trained
		l, looks := o.kept.run("survey_keep", compare, false)
		err = keep(err, looks, o.kept.convert(model.FromStandard))
		for _, flag := range l.changed {
			changed = append(changed, flag != 0)
		}
		o.kept.filled = err == nil
		return err
	})
	return changed, err
}

// Survey looks at the copy on the GPU. What comes back is some bytes for each CTA, and for each tensor that is counted
// its buckets.
func (o *owner) Survey(counts bool) (s device.Survey, err error) {
	err = o.within(func() error {
		l, err := o.kept.run("survey_count", false, counts)
		if err == nil {
			if s = o.kept.add(&l); s.NotFinite >= 0 {
				s.NotFinite = o.memory.layout.Scatter.weightAt(s.NotFinite)
			}
		}
		return err
	})
	return s, err
}

// Await is for work on cores: a GPU has none that gives way to workers.
func (o *owner) Await() {}

// Kept brings the copy to host memory.
func (o *owner) Kept() (w []float32, err error) {
	w = make([]float32, o.kept.weights())
	return w, o.within(func() error { return o.memory.download(w, cu.DevicePtr(o.kept.job.To)) })
}

// Add adds a round's change to the weights. None of its additions is lost, and none of the workers'.
func (o *owner) Add(delta []float32) error {
	if m := o.memory.mapped; m != nil {
		m.add(o.memory.there(delta))
		return nil
	}
	return o.aside(func() (err error) {
		if o.adder == nil {
			o.adder, err = newAdder(o.gpu, &o.memory, partBytes/4)
		}
		if err != nil {
			return err
		}
		return o.adder.add(o.memory.there(delta))
	})
}
