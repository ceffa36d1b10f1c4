//go:build cuda

package cuda

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/tuning"
)

// Register makes --gpu known to package run. It is called first thing in main.
func Register() { device.RegisterBackend("cuda", backend{}) }

// GPUs describes those that a run will be on. What "auto" means is chosen anew when the memory that is needed is known.
func (b backend) GPUs(c *config.Config) (all tuning.GPUs, err error) {
	if err := TooOld(cu.Version()); err != nil { // before a call that its library may lack
		return all, err
	}
	indices, _, err := choose(c.GPU, c.LeastFree(), c.HostNode, c.HostNodes)
	for _, i := range indices {
		if g, err := describe(i); err == nil { // else opening it says why
			all.Count++
			all.SMs = min(cmp.Or(all.SMs, g.SMs), g.SMs)
			all.Turns = all.Turns || !g.mayShare()
		}
	}
	return all, err
}

// Own makes and exports the run's memory on the first of the GPUs that the configuration
// names, puts the set on the others too, and tries the kernels on all.
func (b backend) Own(s *device.Setup) (device.Owner, error) {
	indices, note, err := choose(s.Job.Asked.GPU, max(s.Job.Asked.LeastFree(), newLayout(s).Size+4*plainSize(s)),
		s.Job.Asked.HostNode, s.Job.Asked.HostNodes)
	if err == nil {
		err = keep(b.enough(&s.Job.Asked, indices), refuseGradients(&s.Job.Asked))
	}
	if err != nil {
		return nil, err
	}
	o, err := b.newOwner(s, indices[0], newLayout(s), false)
	if err != nil {
		return nil, err
	}
	if note != "" {
		o.notes = slices.Insert(o.notes, 0, note)
	}
	for _, i := range indices[1:] {
		if err := o.extend(i); err != nil {
			_ = o.Close() // the error that counts is the first
			return nil, err
		}
	}
	if o.handle.throughHost() && s.Job.Asked.Layout == nil {
		if err := o.memory.openMapped(s, false); err != nil {
			return nil, errors.Join(err, o.Close())
		}
	}
	if s.Job.Asked.Nodes > 1 { // what the first round will need
		if err := o.Add(nil); err != nil {
			return nil, errors.Join(err, o.Close())
		}
	}
	if s.Job.Asked.Layout != nil {
		if err := o.roomForReplicas(); err != nil {
			return nil, errors.Join(err, o.Close())
		}
	}
	return o, o.refuse()
}

// newOwner puts the set on a GPU, and tries the kernels there; replica: the weights are to be on another one.
func (b backend) newOwner(s *device.Setup, index int, l layout, replica bool) (*owner, error) {
	var before *int64
	if g, err := describe(index); err == nil { // else open says why
		before = nvmlFree(g.UUID)
	}
	c, err := openContext(index, "")
	if err != nil {
		return nil, err
	}
	o := &owner{gpu: c, backend: b, setup: s, memory: memory{layout: l}, replica: replica}
	return o, o.within(func() (err error) {
		if o.context, err = contextCost(c.UUID, before); err != nil {
			return err
		}
		steps := []func() error{o.allocateWeights, o.keepCopies, o.allocateData, o.export, o.uploadData,
			o.prepare, o.selfCheck}
		if s.Job.Asked.Layout != nil { // the program has the data, and computes
			steps = []func() error{o.allocateWeights, o.keepCopies, o.export}
			if replica { // the workers make theirs
				steps = nil
			}
		}
		for _, step := range steps {
			if err := step(); err != nil {
				_ = o.free() // the error that counts is the first
				return err
			}
		}
		return nil
	})
}

// extend puts the set on another GPU. The weights there, on which the kernels were tried, go.
func (o *owner) extend(index int) error {
	a, err := o.backend.newOwner(o.setup, index, newLayout(o.setup).replica(o.setup), true)
	if err != nil {
		return err
	}
	o.peers = append(o.peers, a)
	h := gpuHandle{UUID: a.UUID}
	if o.setup.Job.Asked.Layout == nil { // else workers make all that a program needs there
		h = a.handle.GPUs[0]
		err = a.within(a.dropWeights)
	}
	var peer error
	h.Way, peer = wayFrom(a.device, o.device, o.setup)
	o.handle.GPUs = append(o.handle.GPUs, h)
	return keep(err, peer)
}

// dropWeights frees what only the self-check needed.
func (o *owner) dropWeights() error {
	p := o.memory.weights
	o.memory.weights = 0
	return keep(o.idle.free(), failed(cu.MemFree(p), "freeing the weights of the self-check"))
}

// refuse says what replicas cannot do, if there must be some.
func (o *owner) refuse() error {
	var err error
	for i, a := range o.peers {
		if o.handle.GPUs[i+1].Way == throughHost {
			err = keep(err, refuseReplicas(&o.setup.Job.Asked, fmt.Sprintf("a worker on GPU %d", a.device)))
		}
	}
	if err != nil {
		_ = o.Close() // the error that counts is the first
	}
	return err
}

// Join opens the coordinator's memory in a worker.
func (b backend) Join(s *device.Setup, rank int, text []byte) (device.Device, error) {
	var h runHandle
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("the handle of the GPU memory: %w", err)
	}
	m := newMemory(s, h.GPUs[0].Piece)
	if sum := m.layout.checksum(); sum != h.Checksum || m.layout.Size != h.Size || m.layout.Data.Size != h.DataSize {
		return nil, fmt.Errorf("the GPU memory has another layout (%s, %d and %d bytes) than this worker expects "+
			"(%s, %d and %d)",
			h.Checksum, h.Size, h.DataSize, sum, m.layout.Size, m.layout.Data.Size)
	}
	if s.Job.Asked.Layout != nil {
		return joinMeeting(s, rank, m, &h, b.gpuOf(rank, len(h.GPUs)))
	}
	return joinTrainer(s, rank, &h, b.gpuOf(rank, len(h.GPUs)))
}

// joinTrainer makes the device of a worker whose kernels take the steps, on a GPU of the list.
func joinTrainer(s *device.Setup, rank int, h *runHandle, on int) (t *trainer, err error) {
	g := &h.GPUs[on]
	c, err := openContext(0, g.UUID)
	if err != nil {
		return nil, err
	}
	m, w := newMemory(s, g.Piece), h.wayOf(on)
	err = c.within(func() error {
		if w == throughHost {
			err = m.openMapped(s, true)
		} else {
			m.weights, err = openMemory(h.Weights)
		}
		if err != nil {
			return err
		}
		if m.data, err = openMemory(g.Data); err != nil {
			return err
		}
		if t, err = newTrainerBy(w, s, c, m, rank); err == nil {
			t.opened = true
		}
		return err
	})
	return t, err
}

// roomForReplicas tries whether each GPU has room for its replicas, before programs start.
func (o *owner) roomForReplicas() error {
	gpus := append([]*owner{o}, o.peers...)
	ranks := make([]int, len(gpus))
	for rank := range o.setup.Job.Asked.Workers {
		if n := o.backend.gpuOf(rank, len(gpus)); trainsApart(&o.setup.Job.Asked, len(gpus), n) {
			ranks[n]++
		}
	}
	for n, a := range gpus {
		if ranks[n] == 0 {
			continue
		}
		trial := blocks{}
		if err := a.within(func() error {
			var at cu.DevicePtr
			err := trial.allocate(a.gpu,
				wanted{&at, int64(ranks[n]) * separateBytes(o.setup), "replicas of the weights"})
			return keep(err, trial.free())
		}); err != nil {
			return err
		}
	}
	return nil
}
