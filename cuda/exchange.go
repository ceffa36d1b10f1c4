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

// send copies a part of the replica to the owner's GPU.
func (r *remote) send(to cu.DevicePtr, v vector) (err error) {
	switch {
	case v.bytes == 0:
	case v.host != nil:
		err = cu.MemcpyHtoD(to, v.host, v.bytes)
	default:
		err = cu.MemcpyPeer(to, r.owner.ctx, v.at, r.here.ctx, v.bytes)
	}
	return failed(err, "copying %d bytes of a replica to GPU %d", v.bytes, r.owner.device)
}

// fetch copies it from there.
func (r *remote) fetch(v vector, from cu.DevicePtr) (err error) {
	switch {
	case v.bytes == 0:
	case v.host != nil:
		err = cu.MemcpyDtoH(v.host, from, v.bytes)
	default:
		err = cu.MemcpyPeer(v.at, r.here.ctx, from, r.owner.ctx, v.bytes)
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
	shares  cu.DevicePtr // of a difference: all of it, and that of share
}

// prepareOwner makes what this process needs there, and takes over the optimizer's state. The
// context is current.
func (r *remote) prepareOwner() (err error) {
	if r.kernels, err = loadKernels(r.owner, "reduce"); err != nil {
		return err
	}
	m, d, weights := r.memory, &r.sum, int64(r.memory.layout.P)
	r.rounds = averager{gpu: r.owner, setup: r.setup, memory: m, rank: r.rank}
	err = keep(r.rounds.open(&r.own), r.own.allocate(r.owner, wanted{&d.at, int64(jobBytes), "a job"},
		wanted{&d.updates, 8, "a count"}, wanted{&d.shares, 8, "shares"}, wanted{&d.record, 8 * device.RecordWords, "samples"},
		wanted{&d.mine, 4 * weights, "a replica that is sent"}, wanted{&d.first, 4 * weights, "a replica as it was"}))
	if err != nil {
		return err
	}
	d.job = job{W: uint64(d.mine), Out: uint64(m.weights), First: uint64(d.first), Updates: uint64(d.updates),
		Counts: uint64(m.weights) + uint64(m.layout.Counts), Weights: weights, Rank: int64(r.rank), Ranks: int64(r.setup.Job.Workers)}
	if r.setup.Samples() {
		d.job.Record = uint64(d.record)
	}
	if err := upload(d.shares, []float32{1, r.share()}); err != nil {
		return err
	}
	return keep(zero(d.record, 2*device.RecordWords), r.fetchState())
}

// fetchState takes over the optimizer's state that the owner keeps for this rank, if it has one.
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
func (r *remote) localSteps() int { return cmp.Or(r.setup.Job.Tuning.MaxLocalSteps, 256) }

// share is how much of a difference is added after more steps than that. Then each replica,
// and whoever trains on the weights, may have gone all the way that there was to go: all of
// these ways together would be too far, and these shares of them are less than one way more.
func (r *remote) share() float32 {
	if r.setup.Job.Workers == 1 {
		return 1
	}
	return 1 / float32(r.replicas+1)
}

// reduce runs one of the kernels; the replica has taken so many steps.
func (r *remote) reduce(name string, steps int) error {
	j := r.sum.job
	j.Steps, j.LR = int64(steps), uint64(r.sum.shares)
	if steps > r.localSteps() {
		j.LR += 4
	}
	if err := upload(r.sum.at, encode(j)); err != nil {
		return err
	}
	k := r.kernels[name]
	return k.run(min(k.most, ceilDiv(r.memory.layout.P, threads)), r.sum.at)
}

// pull makes the replica a copy of the weights.
func (r *remote) pull() error {
	return r.owner.within(func() error {
		if err := r.reduce("reduce_begin", 0); err != nil {
			return err
		}
		err := r.fetch(r.trained, r.sum.first)
		if r.barrier() && r.setup.Job.AverageState != "keep" {
			err = keep(err, r.fetchState())
		}
		return keep(err, failed(cu.Synchronize(), "copying the weights to a replica"))
	})
}

// push adds what so many steps have come to.
func (r *remote) push(steps int) error {
	if steps == 0 {
		return nil
	}
	return r.owner.within(func() error {
		to := r.sum.mine
		if r.barrier() {
			to = r.memory.slot(r.rank)
		}
		err := keep(r.sendState(), r.send(to, r.result))
		if err != nil || r.barrier() {
			return keep(err, failed(cu.Synchronize(), "sending a replica"))
		}
		if err := r.reduce("reduce_end", steps); err != nil || r.sum.job.Record == 0 {
			return err
		}
		return r.sampled()
	})
}

// sampled adds to the rank's record what the kernel has shown.
func (r *remote) sampled() error {
	words := make([]uint64, device.RecordWords)
	if err := download(words, r.sum.record); err != nil {
		return err
	}
	r.setup.Sampled(r.rank, words)
	return zero(r.sum.record, 2*device.RecordWords)
}
