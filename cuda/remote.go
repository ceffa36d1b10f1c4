//go:build cuda

package cuda

import (
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
)

// remote is the Device of a worker that cannot add to the weights itself: it is on a GPU
// from which atomics do not reach them. It trains a replica, and after each launch what that has
// learnt is added to the weights, one addition a weight:
//
//	pull   first = weights, on the owner's GPU; the replica becomes a copy of first
//	train  the replica, by the device that is embedded
//	push   a copy of the replica is sent there; weights += share (copy - first); then as pull does
//
// In barrier mode the replica, or its gradient, goes to the rank's slot there, and is
// averaged there. An optimizer's state is as private as the replica; the owner's copy is
// renewed each time, so that snapshots have it and a restarted worker goes on with it.
//
// Only the device here knows the replica; all else happens on the owner's GPU, in a
// context of this process there. A copy from GPU to GPU is cuMemcpyPeer: where the one does not reach the
// other the driver stages it through host memory (CUDA C++ programming guide,
// "Peer-to-Peer Memory Copy").
type remote struct {
	device.Device
	setup   *device.Setup
	rank    int
	here    *gpu
	owner   *gpu
	memory  *memory // the owner's
	replica *memory // here's

	trained vector // what is trained
	result  vector // what of it is sent: itself, or a gradient
	state   vector
	steps   vector // taken with the state

	kernels  kernels
	sum      reduction
	rounds   averager
	buffers  blocks    // on the owner's GPU
	replicas int       // in the run
	chunks   int       // PreferredChunks
	every    int       // steps to an exchange; 0: all that Train is called for
	pushed   time.Time // when the replica became a copy of the weights with a push; zero: it was not
	results  []plan.ChunkResult
}

// join makes the replica, and what it needs on the owner's GPU.
func (r *remote) join(h *runHandle, g *gpuHandle) (err error) {
	if r.owner, err = openContext(0, h.GPUs[0].UUID); err != nil {
		return err
	}
	if err = r.owner.within(func() error {
		r.memory.weights, err = openMemory(h.Weights)
		return err
	}); err != nil {
		return err
	}
	if r.here, err = openContext(0, g.UUID); err != nil {
		return err
	}
	if err = r.here.within(func() error { return r.makeReplica(g) }); err != nil {
		return err
	}
	return r.owner.within(r.prepareOwner)
}

// makeReplica lets a trainer train a replica in memory of its own GPU, on the set there.
func (r *remote) makeReplica(g *gpuHandle) (err error) {
	if g.Way == bySlots { // the copies need no stop in host memory
		if err := failed(r.owner.ctx.EnablePeerAccess(0), "reaching GPU %d from GPU %d", r.owner.device,
			r.here.device); err != nil {
			return err
		}
	}
	r.replica = newMemory(r.setup, g.Piece)
	r.replica.layout = r.replica.layout.replica(r.setup)
	l := &r.replica.layout
	if r.replica.weights, err = r.here.allocate(l.Size, "a replica of the weights"); err != nil {
		return err
	}
	if r.replica.data, err = openMemory(g.Data); err != nil {
		return err
	}
	t, err := newTrainer(r.setup, r.here, r.replica, r.rank)
	if err != nil {
		return err
	}
	t.most = mostRows // the weights see nothing of a launch until its end
	t.samples = false // on the replica nothing is stale: see kernels/reduce.cu
	i := r.rank % len(r.setup.States)
	r.Device = t
	r.trained = vector{at: cu.DevicePtr(t.job.W), bytes: 4 * int64(l.P)}
	r.result = vector{at: cu.DevicePtr(t.job.Out), bytes: 4 * int64(l.P)}
	r.state = vector{at: r.replica.state(i), bytes: 4 * int64(len(r.setup.States[i]))}
	r.steps = vector{at: r.replica.steps(i), bytes: 8}
	return nil
}

// PreferredChunks returns what the device here wants, or more if that makes an exchange a small part.
func (r *remote) PreferredChunks() int { return max(r.chunks, r.Device.PreferredChunks()) }

// Train trains the replica, and adds what it has learnt to the weights: all at once, or every few
// steps.
func (r *remote) Train(cs []plan.Chunk) ([]plan.ChunkResult, error) {
	every := r.every // of this call: each exchange sets it anew
	if every == 0 {
		return r.exchange(cs)
	}
	r.results = r.results[:0]
	for _, left := range cs {
		var sum plan.ChunkResult
		for left.Count > 0 {
			c, rest := left.Split(every)
			ts, err := r.exchange([]plan.Chunk{c})
			if err != nil {
				return nil, err
			}
			sum, left = sum.Plus(ts[0]), rest
		}
		r.results = append(r.results, sum)
	}
	return r.results, nil
}

// exchange is one pull, and a push after what was trained between the two.
func (r *remote) exchange(cs []plan.Chunk) ([]plan.ChunkResult, error) {
	began := time.Now()
	if !r.barrier() && began.Sub(r.pushed) > asNew {
		if err := r.pull(); err != nil {
			return nil, err
		}
	}
	pulled := time.Now()
	results, err := device.Complete(r.Device, cs)
	if err != nil {
		return nil, err
	}
	trained := time.Now()
	steps := 0
	for _, t := range results {
		steps += t.Steps
	}
	if err := r.push(steps); err != nil {
		return nil, err
	}
	if steps > 0 && !r.barrier() {
		r.pushed = time.Now()
		r.adapt(len(cs), steps, trained.Sub(pulled), pulled.Sub(began)+time.Since(trained))
	}
	return results, nil
}

// asNew is for how long the weights that a push brings along are taken for the current ones: shorter than a GPU's
// turns.
const asNew = time.Millisecond

// Training between two exchanges is to take nine times as long as an exchange, if it is long.
const (
	trainPerExchange = 9
	mostChunks       = 4096 // to an exchange
)

// adapt chooses between few steps to an exchange, which all count, and many, which count by a share (see share): the
// few as long as it trains for more than that share of the time. The many grow by doubling at most.
func (r *remote) adapt(chunks, steps int, trained, exchanged time.Duration) {
	short := time.Duration(r.localSteps()) * trained / time.Duration(steps)
	r.every = 0
	if r.setup.Job.Asked.Workers > 1 && exchanged <= time.Duration(r.replicas)*short {
		r.every = r.localSteps()
		return
	}
	each := max(trained/time.Duration(chunks), time.Microsecond)
	r.chunks = min(max(1, int(trainPerExchange*exchanged/each)), 2*r.chunks, mostChunks)
}

// Pull starts a round: the replica becomes a copy of the weights, or the gradient zero.
func (r *remote) Pull() error {
	if err := r.pull(); err != nil || !r.gradients() {
		return err
	}
	return r.Device.Pull()
}

// Average ends a round on this rank's slice, on the owner's GPU.
func (r *remote) Average(round plan.Round) error {
	return r.rounds.Average(round)
}

// Close gives back the replica, and what this process has on the owner's GPU.
func (r *remote) Close() error {
	err := r.Device.Close()
	if r.here != nil {
		err = keep(err, r.here.within(func() error {
			err := failed(cu.MemFree(r.replica.weights), "freeing a replica")
			return keep(err, closeMemory(r.replica.data), r.here.close())
		}))
	}
	return keep(err, r.owner.within(func() error {
		err := keep(r.sum.close(), r.buffers.free())
		return keep(err, closeMemory(r.memory.weights), r.owner.close())
	}))
}
