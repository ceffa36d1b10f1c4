//go:build cuda

package cuda

import (
	"cmp"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/hogwild/device"
	"hogwild/internal/fault"
)

// What an exchange does on the owner's GPU is queued on one stream, and waited for once: a call that waits costs as
// much as the work of a small model, and without a Multi-Process Service the kernels of this process wait for a turn
// there. So in async mode a push brings along the weights that the next exchange begins with.

// vector is a part of the replica, on the GPU here.
type vector struct {
	at    cu.DevicePtr
	bytes int64
}

// send queues the copy of a part of the replica to the owner's GPU.
func (r *remote) send(to cu.DevicePtr, v vector) (err error) {
	if v.bytes > 0 {
		err = cu.MemcpyPeerAsync(to, r.owner.ctx, v.at, r.here.ctx, v.bytes, r.sum.stream)
	}
	return failed(err, "copying %d bytes of a replica to GPU %d", v.bytes, r.owner.device)
}

// fetch queues that from there.
func (r *remote) fetch(v vector, from cu.DevicePtr) (err error) {
	if v.bytes > 0 {
		err = cu.MemcpyPeerAsync(v.at, r.here.ctx, from, r.owner.ctx, v.bytes, r.sum.stream)
	}
	return failed(err, "copying %d bytes from GPU %d to a replica", v.bytes, r.owner.device)
}

// reduction is what adding a replica to the weights needs on the owner's GPU. The buffers are
// this process's own.
type reduction struct {
	job     job
	at      cu.DevicePtr // of the job
	mine    cu.DevicePtr // the replica, as it is sent
	first   cu.DevicePtr // as it was fetched
	updates cu.DevicePtr // of others, then
	record  cu.DevicePtr // samples
	shares  cu.DevicePtr // of a difference: all of it, and what share returns

	stream cu.Stream
	done   cu.Event
	host   []byte // pinned: the job as it goes to the GPU, and the samples that come back
}

// open makes what the exchanges are queued on.
func (d *reduction) open() (err error) {
	if d.stream, err = cu.MakeStream(cu.DefaultStream); err != nil {
		return failed(err, "making a stream")
	}
	if d.done, err = cu.MakeEvent(cu.BlockingSyncEvent | cu.DisableTiming); err != nil {
		return failed(err, "making an event")
	}
	d.host, err = pin(jobBytes + 8*device.RecordWords)
	return err
}

// await returns when all that is queued is done.
func (d *reduction) await(doing string) error {
	err := failed(d.done.Record(d.stream), "marking the end of %s", doing)
	return keep(err, failed(d.done.Synchronize(), "%s", doing))
}

func (d *reduction) close() error {
	err := failed(cu.DestroyEvent(&d.done), "ending an event")
	return keep(err, failed(d.stream.Destroy(), "ending a stream"), unpin(d.host))
}

// prepareOwner makes what this process needs there, and takes over the optimizer's state. The
// context is current.
func (r *remote) prepareOwner() (err error) {
	if r.kernels, err = loadKernels(r.owner, "reduce"); err != nil {
		return err
	}
	m, d, weights := r.memory, &r.sum, int64(r.memory.layout.P)
	r.rounds = averager{gpu: r.owner, setup: r.setup, memory: m, rank: r.rank}
	err = keep(d.open(), r.rounds.open(&r.buffers), r.buffers.allocate(r.owner, wanted{&d.at, int64(jobBytes), "a job"},
		wanted{&d.updates, 8, "a count"}, wanted{&d.shares, 8, "shares"},
		wanted{&d.record, 8 * device.RecordWords, "samples"},
		wanted{&d.mine, 4 * weights, "a replica that is sent"}, wanted{&d.first, 4 * weights, "a replica as it was"}))
	if err != nil {
		return err
	}
	d.job = job{W: uint64(d.mine), Out: uint64(m.weights), First: uint64(d.first), Updates: uint64(d.updates),
		Counts: uint64(m.weights) + uint64(m.layout.Counts), Weights: weights, Rank: int64(r.rank),
		Ranks: int64(r.setup.Job.Asked.Workers)}
	if r.setup.Samples() {
		d.job.Record = uint64(d.record)
	}
	if err := upload(d.shares, []float32{1, r.share()}); err != nil {
		return err
	}
	return keep(zero(d.record, 2*device.RecordWords), r.fetchState(), r.fetchRound(),
		d.await("copying a replica and an optimizer's state"))
}

// fetchRound queues taking over what this rank has sent of a round: the worker before may have
// died in the middle of it.
func (r *remote) fetchRound() error {
	if !r.barrier() {
		return nil
	}
	err := r.fetch(r.result, r.memory.slot(r.rank))
	if r.gradients() {
		err = keep(err, r.fetch(r.trained, r.memory.weights))
	}
	return err
}

// fetchState queues taking over the optimizer's state that the owner keeps for this rank, if it has one.
func (r *remote) fetchState() error {
	if r.gradients() {
		return nil
	}
	i := r.rank % len(r.setup.States)
	return keep(r.fetch(r.state, r.memory.state(i)), r.fetch(r.steps, r.memory.steps(i)))
}

func (r *remote) sendState() error {
	if r.gradients() {
		return nil
	}
	i := r.rank % len(r.setup.States)
	return keep(r.send(r.memory.state(i), r.state), r.send(r.memory.steps(i), r.steps))
}

// localSteps is how many a replica may take between two exchanges within the limit of steps in
// flight (tuning.Tuning); where that says nothing, as many as two cores take between merges of
// a small model.
func (r *remote) localSteps() int { return cmp.Or(r.setup.Job.Used.MaxLocalSteps, 256) }

// share is how much of a difference is added after more steps than that. Then each replica, and
// each worker that trains on the weights, may have gone all the way that there was to go: all of
// these ways together would be too far, and these shares of them are less than one way more.
func (r *remote) share() float32 {
	if r.setup.Job.Asked.Workers == 1 {
		return 1
	}
	return 1 / float32(r.replicas+1)
}

// reduce queues kernels; steps is how many the replica has taken.
func (r *remote) reduce(steps int, names ...string) error {
	d := &r.sum
	j := d.job
	j.Steps, j.LR = int64(steps), uint64(d.shares)
	if steps > r.localSteps() {
		j.LR += 4
	}
	copy(d.host, encode(j))
	err := failed(cu.MemcpyHtoDAsync(d.at, unsafe.Pointer(&d.host[0]), int64(jobBytes), d.stream),
		"copying a job to the GPU")
	for _, name := range names {
		k := r.kernels[name]
		err = keep(err, k.launch(min(k.most, ceilDiv(r.memory.layout.P, k.threads)), d.at, d.stream))
	}
	return err
}

// pull makes the replica a copy of the weights.
func (r *remote) pull() error {
	return r.owner.within(func() error {
		if err := fault.Point("gpu.pull"); err != nil {
			return err
		}
		err := keep(r.reduce(0, "reduce_begin"), r.fetch(r.trained, r.sum.first))
		return keep(err, r.sum.await("copying the weights to a replica"))
	})
}

// push hands over what these steps have changed, and in async mode adds it to the weights.
func (r *remote) push(steps int) error {
	if steps == 0 {
		return nil
	}
	return r.owner.within(func() error {
		if err := fault.Point("gpu.push"); err != nil {
			return err
		}
		to := r.sum.mine
		if r.barrier() {
			to = r.memory.slot(r.rank)
		}
		err := keep(r.sendState(), r.send(to, r.result))
		if !r.barrier() {
			err = keep(err, r.reduce(steps, "reduce_merge"), r.fetch(r.trained, r.sum.first))
		}
		if r.barrier() || r.sum.job.Record == 0 {
			return keep(err, r.sum.await("adding a replica"))
		}
		return keep(err, r.sampled())
	})
}

// sampled adds to the rank's record what the kernel has shown.
func (r *remote) sampled() error {
	d, words := &r.sum, r.sum.host[jobBytes:]
	err := failed(cu.MemcpyDtoHAsync(unsafe.Pointer(&words[0]), d.record, int64(len(words)), d.stream),
		"copying samples from the GPU")
	err = keep(err, failed(cu.MemsetD32Async(d.record, 0, int64(len(words)/4), d.stream),
		"clearing samples on the GPU"))
	if err = keep(err, d.await("adding a replica")); err == nil {
		r.setup.Mem.Records[r.rank].Plus(numbers[uint64](words))
	}
	return err
}

func (r *remote) gradients() bool { return r.setup.Job.Asked.AveragesGradients() }

func (r *remote) barrier() bool { return r.setup.Job.Asked.Mode.Traits().Barrier }
