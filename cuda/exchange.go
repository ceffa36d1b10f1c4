//go:build cuda

package cuda

import (
	"cmp"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/hogwild/device"
)

// vector is a part of the replica.
type vector struct {
	at    cu.DevicePtr   // on the GPU here, or
	host  unsafe.Pointer // in host memory
	bytes int64
}

// give copies a part of the replica home.
func (r *remote) give(to cu.DevicePtr, v vector) error {
	switch {
	case v.bytes == 0:
		return nil
	case v.host != nil:
		return failed(cu.MemcpyHtoD(to, v.host, v.bytes), "copying %d bytes of a replica to GPU %d", v.bytes, r.home.device)
	}
	err := cu.MemcpyPeer(to, r.home.ctx, v.at, r.here.ctx, v.bytes)
	return failed(err, "copying %d bytes of a replica from GPU %d to GPU %d", v.bytes, r.here.device, r.home.device)
}

// take copies it from there.
func (r *remote) take(v vector, from cu.DevicePtr) error {
	switch {
	case v.bytes == 0:
		return nil
	case v.host != nil:
		return failed(cu.MemcpyDtoH(v.host, from, v.bytes), "copying %d bytes from GPU %d to a replica", v.bytes, r.home.device)
	}
	err := cu.MemcpyPeer(v.at, r.here.ctx, from, r.home.ctx, v.bytes)
	return failed(err, "copying %d bytes from GPU %d to a replica on GPU %d", v.bytes, r.home.device, r.here.device)
}

// folding is this process's own memory at home.
type folding struct{ mine, first, job, updates, record, shares, share cu.DevicePtr }

func (b *folding) free() (err error) {
	for _, p := range []cu.DevicePtr{b.mine, b.first, b.job, b.updates, b.record, b.shares, b.share} {
		if p != 0 {
			err = keep(err, failed(cu.MemFree(p), "freeing a buffer"))
		}
	}
	return err
}

// atHome makes what this process needs there, and takes over the optimizer's state. The
// context is current.
func (r *remote) atHome() (err error) {
	if r.kernels, err = loadKernels(r.home, "average", "fold"); err != nil {
		return err
	}
	p, b := int64(r.memory.layout.P), &r.private
	for _, a := range []struct {
		p     *cu.DevicePtr
		bytes int64
		what  string
	}{
		{&b.job, int64(len(encode(r.job))), "a job"}, {&b.updates, 8, "a count"}, {&b.shares, 8, "shares"},
		{&b.share, 4 * int64(r.setup.Job.Workers), "shares"}, {&b.record, 8 * device.RecordWords, "samples"},
		{&b.mine, 4 * p, "a replica that comes home"}, {&b.first, 4 * p, "a replica as it was"},
	} {
		if *a.p, err = r.home.allocate(a.bytes, a.what); err != nil {
			return err
		}
	}
	m := r.memory
	r.job = job{W: uint64(b.mine), Out: uint64(m.weights), First: uint64(b.first), Updates: uint64(b.updates),
		Counts: uint64(m.weights) + uint64(m.layout.Counts), Weights: p, Rank: int64(r.rank), Ranks: int64(r.setup.Job.Workers)}
	if r.setup.Samples() {
		r.job.Record = uint64(b.record)
	}
	if err := upload(b.shares, []float32{1, r.share()}); err != nil {
		return err
	}
	return keep(zero(b.record, 2*device.RecordWords), r.takeState())
}

// takeState takes the optimizer's state from home, if it has one of its own.
func (r *remote) takeState() error {
	if r.gradients() {
		return nil
	}
	i := r.rank % len(r.setup.States)
	return keep(r.take(r.state, r.memory.state(i)), r.take(r.steps, r.memory.steps(i)))
}

func (r *remote) giveState() error {
	if r.gradients() {
		return nil
	}
	i := r.rank % len(r.setup.States)
	return keep(r.give(r.memory.state(i), r.state), r.give(r.memory.steps(i), r.steps))
}

// hold is for how many updates a worker may be away within the limit (tuning.Tuning); where
// that says nothing, for as many as two cores hold back of a small model.
func (r *remote) hold() int { return cmp.Or(r.setup.Job.Tuning.Hold, 256) }

// share is how much of a difference goes home from a worker that was away for longer.
// Then each replica, and whoever trains at home, may have
// gone all the way that there was to go: all of these ways together would be too far,
// and these shares of them are less than one way more.
func (r *remote) share() float32 {
	if r.setup.Job.Workers == 1 {
		return 1
	}
	return 1 / float32(r.replicas+1)
}

// fold runs one of the kernels; steps is what the replica was away for.
func (r *remote) fold(name string, steps int) error {
	j, b := r.job, &r.private
	j.Steps, j.LR = int64(steps), uint64(b.shares)
	if steps > r.hold() {
		j.LR += 4
	}
	if err := upload(b.job, encode(j)); err != nil {
		return err
	}
	k := r.kernels[name]
	return k.run(min(k.most, ceilDiv(r.memory.layout.P, k.threads)), b.job)
}

// pull makes the replica a copy of the weights.
func (r *remote) pull() error {
	release, err := r.home.use()
	if err != nil {
		return err
	}
	defer release()
	if err := r.fold("fold_take", 0); err != nil {
		return err
	}
	err = r.take(r.trained, r.private.first)
	if r.barrier() && r.setup.Job.AverageState != "keep" {
		err = keep(err, r.takeState())
	}
	return keep(err, failed(cu.Synchronize(), "copying the weights to a replica"))
}

// push takes home what so many steps have come to.
func (r *remote) push(steps int) error {
	if steps == 0 {
		return nil
	}
	release, err := r.home.use()
	if err != nil {
		return err
	}
	defer release()
	to := r.private.mine
	if r.barrier() {
		to = r.memory.slot(r.rank)
	}
	err = keep(r.giveState(), r.give(to, r.result))
	if err != nil || r.barrier() {
		return keep(err, failed(cu.Synchronize(), "copying a replica home"))
	}
	if err := r.fold("fold_give", steps); err != nil || r.job.Record == 0 {
		return err
	}
	return r.sampled()
}

// sampled adds to the rank's record what the fold has shown.
func (r *remote) sampled() error {
	words := make([]uint64, device.RecordWords)
	if err := download(words, r.private.record); err != nil {
		return err
	}
	r.setup.Sampled(r.rank, words)
	return zero(r.private.record, 2*device.RecordWords)
}
