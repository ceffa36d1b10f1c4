//go:build cuda

package cuda

import (
	"sync/atomic"
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
)

// separate is the replica that a rank's program trains on its own GPU, in a run on several. This process allocates it
// there, and the program opens it. The weights of all are on the owner's GPU.
//
// In async mode the program takes a step, or --merge-every, then this process
//
//	difference   subtracts what the replica began with, on the replica's GPU
//	merge        copies it to the owner's GPU part by part, where a kernel adds it atomically
//	pull         makes the replica a copy of the weights
//
// All ranks do so, also those on the owner's GPU: the stores of a program's own kernels to the weights could lose what
// others add. In barrier mode a rank on the owner's GPU trains its slot, as on one GPU; elsewhere the replica, or the
// gradient, is copied to the slot.
//
// A copy from GPU to GPU is cuMemcpyPeer: where the one does not reach the other the driver stages it through host
// memory (CUDA C++ programming guide, "Peer-to-Peer Memory Copy").
type separate struct {
	merging
	size    int64 // bytes of the replica, and of second
	handle  handle
	every   int       // steps between two merges
	pulled  time.Time // when the replica was a copy of the weights; zero: never
	updates uint64    // of others, then
}

// trainsApart reports whether a rank's program has a replica on its own GPU, which has this number in the list.
func trainsApart(c *config.Config, gpus, number int) bool {
	return gpus > 1 && (number > 0 || !c.Mode.Traits().Barrier)
}

// separateBytes is what the program's part of a replica takes.
func separateBytes(s *device.Setup) int64 {
	size := int64(0)
	place(&size, 4*len(s.Weights))
	if !s.Job.Asked.Mode.Traits().Barrier || s.Job.Asked.AveragesGradients() {
		place(&size, 4*len(s.Weights))
	}
	return roundUp(size, block)
}

// newSeparate makes a rank's replica on a GPU, as the weights are now.
func newSeparate(s *device.Setup, rank int, owner *gpu, m *memory, g *gpuHandle) (r *separate, err error) {
	r = &separate{merging: merging{setup: s, rank: rank, memory: m, owner: owner, here: owner},
		size: separateBytes(s), every: max(1, config.Whole(s.Job.Asked.MergeEvery))}
	if g.UUID != owner.UUID {
		if r.here, err = openContext(0, g.UUID); err != nil {
			return nil, err
		}
	}
	if err := r.here.within(func() error { return r.open(g) }); err != nil {
		return nil, err
	}
	err = owner.within(func() error {
		var err error
		if r.stream, err = cu.MakeStream(cu.DefaultStream); err != nil {
			return failed(err, "making a stream")
		}
		if !r.barrier() {
			return r.prepareAdding()
		}
		return nil
	})
	if err == nil {
		err = r.resume()
	}
	return r, err
}

// open allocates the replica.
func (r *separate) open(g *gpuHandle) (err error) {
	if g.Way == asPeer && r.here != r.owner { // the copies need no stop in host memory
		if err := failed(r.owner.ctx.EnablePeerAccess(0), "reaching GPU %d from GPU %d", r.owner.device,
			r.here.device); err != nil {
			return err
		}
	}
	if err = r.buffers.allocate(r.here, wanted{&r.replica, r.size, "a replica of the weights"}); err != nil {
		return err
	}
	end := 4 * int64(r.memory.layout.P)
	r.second = r.replica + cu.DevicePtr(place(&end, 0))
	if r.handle, err = exportMemory(r.replica); err != nil || r.barrier() {
		return err
	}
	return r.prepareDifference()
}

// resume begins as the rank was left: in barrier mode the worker before may have died in the middle of a round.
func (r *separate) resume() error {
	if r.barrier() && !r.gradients() {
		return r.owner.within(func() error {
			err := r.move(r.replica, r.here, r.memory.slot(r.rank), r.owner, r.memory.layout.P)
			return keep(err, r.await("taking over a replica"))
		})
	}
	return r.pull()
}

// pull makes the replica a copy of the weights.
func (r *separate) pull() error {
	r.updates = r.others()
	err := r.renew()
	r.pulled = time.Now()
	return err
}

// told is what the program is told of the memory.
func (r *separate) told() device.GPUMemory {
	g := device.GPUMemory{UUID: r.here.UUID, Handle: r.handle[:], Size: r.size, Replica: true}
	if r.gradients() {
		g.Gradients = int64(r.second - r.replica)
	}
	return g
}

// steps has the program take the steps of a chunk, and hands over what they have changed.
func (r *separate) steps(c plan.Chunk, take device.Take) (sum plan.ChunkResult, err error) {
	if r.barrier() {
		if sum, err = take(c); err == nil && c.Count > 0 {
			err = r.owner.within(r.send)
		}
		return sum, err
	}
	for c.Count > 0 {
		part, rest := c.Split(r.every)
		y, err := r.exchange(part, take)
		if err != nil {
			return sum, err
		}
		sum, c = sum.Plus(y), rest
	}
	return sum, nil
}

// renewed is for how long a replica is taken for the current weights: nothing puts others in their place within that.
const renewed = time.Millisecond

// exchange has the program take steps, and merges them.
func (r *separate) exchange(c plan.Chunk, take device.Take) (y plan.ChunkResult, err error) {
	if time.Since(r.pulled) > renewed {
		if err := r.pull(); err != nil {
			return y, err
		}
	}
	if y, err = take(c); err != nil {
		return y, err
	}
	if err = r.merge(); err == nil {
		r.sample(y.Steps)
		err = r.pull()
	}
	return y, err
}

// others counts the updates that the other ranks have made.
func (r *separate) others() (sum uint64) {
	for rank := range r.setup.Job.Asked.Workers {
		if rank != r.rank {
			sum += atomic.LoadUint64(&r.setup.Mem.Counts[rank*control.RankWords])
		}
	}
	return sum
}

// sampledSteps is how many steps there are to a sample of staleness.
const sampledSteps = 16

// sample records how stale these steps were: by all that others have done since the replica was the weights.
func (r *separate) sample(steps int) {
	if r.setup.Samples() {
		for n := r.others() - r.updates; steps > 0; steps -= sampledSteps {
			r.setup.Mem.Records[r.rank].Stale(n)
		}
	}
}

// close gives all back. The program has closed the replica.
func (r *separate) close() error {
	err := r.owner.within(func() error {
		return keep(failed(r.stream.Destroy(), "ending a stream"), r.received.free())
	})
	return keep(err, r.here.within(func() error {
		err := r.buffers.free()
		if r.here != r.owner {
			err = keep(err, r.here.close())
		}
		return err
	}))
}
