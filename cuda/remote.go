//go:build cuda

package cuda

import (
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
)

// remote is the Device of a worker that cannot add to the weights itself: it is on a
// core, or on a GPU from which atomics do not reach them. It trains a replica, and after
// each launch (or some chunks of a core) what that has learnt goes home as one addition
// a weight:
//
//	pull   first = weights, at home; the replica becomes a copy of first
//	train  the replica, by the device that is embedded
//	push   a copy of the replica goes home; weights += share (copy - first)
//
// In barrier mode the replica, or its gradient, goes to the rank's slot at home, and is
// averaged there. An optimizer's state is as private as the replica; that at home is
// renewed each time, so that snapshots have it and a restarted worker goes on with it.
//
// Only the device here knows the replica; all else happens at home, in a context of this
// process there. A copy from GPU to GPU is cuMemcpyPeer: where the one does not reach the
// other the driver stages it through host memory (CUDA C++ programming guide,
// "Peer-to-Peer Memory Copy").
type remote struct {
	device.Device
	setup   *device.Setup
	rank    int
	here    *gpu // nil: on a core
	home    *gpu
	memory  *memory // home's
	replica *memory // here's; nil: on a core

	trained vector // what is trained
	result  vector // what of it goes home: itself, or a gradient
	state   vector
	steps   vector // taken with the state

	kernels  kernels
	job      job // of a fold
	private  folding
	replicas int // in the run
	chunks   int // PreferredChunks
	every    int // steps to an exchange; 0: all that Train is called for
	tallies  []plan.ChunkResult
}

// join makes the replica, on a GPU, or on a core when g is nil; and what it needs at home.
func (r *remote) join(h *ticketOfRun, g *ticketOfGPU) (err error) {
	if r.home, err = open(r.setup, 0, h.GPUs[0].UUID); err != nil {
		return err
	}
	if err = r.home.within(func() error {
		r.memory.weights, err = openMemory(h.Weights)
		return err
	}); err != nil {
		return err
	}
	if g == nil {
		r.onCore()
	} else if err := r.onGPU(g); err != nil {
		return err
	}
	return r.home.within(r.atHome)
}

// onCore lets the CPU device train a replica in host memory.
func (r *remote) onCore() {
	s, w := r.setup, make([]float32, r.memory.layout.P)
	i := r.rank % len(s.States)
	r.Device = cpu.Replica(s, r.rank, w)
	r.trained = hostVector(w)
	r.result = r.trained
	if r.gradients() {
		r.result = hostVector(s.Slots[r.rank])
	}
	r.state = hostVector(s.States[i])
	r.steps = vector{host: unsafe.Pointer(s.Taken(i)), bytes: 8}
}

func hostVector(v []float32) vector {
	return vector{host: unsafe.Pointer(unsafe.SliceData(v)), bytes: 4 * int64(len(v))}
}

// onGPU lets a trainer train a replica in memory of another GPU, on the set there.
func (r *remote) onGPU(g *ticketOfGPU) (err error) {
	if r.here, err = open(r.setup, 0, g.UUID); err != nil {
		return err
	}
	release, err := r.here.use()
	if err != nil {
		return err
	}
	defer release()
	if g.Way == bySlots { // the copies need no stop in host memory
		if err := failed(r.home.ctx.EnablePeerAccess(0), "reaching GPU %d from GPU %d", r.home.device, r.here.device); err != nil {
			return err
		}
	}
	r.replica = newMemory(r.setup, g.Piece)
	r.replica.layout = r.replica.layout.alone(r.setup)
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
	t.samples = false // on the replica nobody is late: see kernels/fold.cu
	i := r.rank % len(r.setup.States)
	r.Device = t
	r.trained = vector{at: cu.DevicePtr(t.job.W), bytes: 4 * int64(l.P)}
	r.result = vector{at: cu.DevicePtr(t.job.Out), bytes: 4 * int64(l.P)}
	r.state = vector{at: r.replica.state(i), bytes: 4 * int64(len(r.setup.States[i]))}
	r.steps = vector{at: r.replica.steps(i), bytes: 8}
	return nil
}

func (r *remote) gradients() bool {
	return r.setup.Job.AveragesGradients()
}

func (r *remote) barrier() bool { return r.setup.Job.Mode.Kind == config.Sync }

// PreferredChunks is what the device here wants, and so much that an exchange is a small part.
func (r *remote) PreferredChunks() int { return max(r.chunks, r.Device.PreferredChunks()) }

// Train trains the replica, and takes home what it has learnt: all at once, or after so
// many steps each.
func (r *remote) Train(cs []plan.Chunk) ([]plan.ChunkResult, error) {
	every := r.every // of this call: each exchange sets it anew
	if every == 0 {
		return r.exchange(cs)
	}
	r.tallies = r.tallies[:0]
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
		r.tallies = append(r.tallies, sum)
	}
	return r.tallies, nil
}

// exchange is one time away and back.
func (r *remote) exchange(cs []plan.Chunk) ([]plan.ChunkResult, error) {
	began := time.Now()
	if !r.barrier() {
		if err := r.pull(); err != nil {
			return nil, err
		}
	}
	pulled := time.Now()
	tallies, err := r.Device.Train(cs)
	if err != nil {
		return nil, err
	}
	trained := time.Now()
	steps := 0
	for _, t := range tallies {
		steps += t.Steps
	}
	if err := r.push(steps); err != nil {
		return nil, err
	}
	if steps > 0 && !r.barrier() {
		r.adapt(len(cs), steps, trained.Sub(pulled), pulled.Sub(began)+time.Since(trained))
	}
	return tallies, nil
}

// A long time away is to be nine times as long as an exchange.
const away = 9

// adapt chooses between a short time away, whose steps all count, and a long one, of whose
// steps a share does (see share): the short one as long as it trains for more than that
// share of the time. The long one grows by doubling at most.
func (r *remote) adapt(chunks, steps int, trained, exchanged time.Duration) {
	short := time.Duration(r.hold()) * trained / time.Duration(steps)
	r.every = 0
	if r.setup.Job.Workers > 1 && exchanged <= time.Duration(r.replicas)*short {
		r.every = r.hold()
		return
	}
	each := max(trained/time.Duration(chunks), time.Microsecond)
	r.chunks = min(max(1, int(away*exchanged/each)), 2*r.chunks, mostChunks)
}

// Pull starts a round: the replica becomes a copy of the weights, or the gradient zero.
func (r *remote) Pull() error {
	if err := r.pull(); err != nil || !r.gradients() {
		return err
	}
	return r.Device.Pull()
}

// Average ends a round on this rank's slice, at home.
func (r *remote) Average(round plan.Round) error {
	b := &r.private
	return averager{r.home, r.setup, r.memory, r.rank, r.gradients(), r.kernels, b.job, b.share}.average(round)
}

// Close gives back the replica, and what this process has at home.
func (r *remote) Close() error {
	err := r.Device.Close()
	if r.here != nil {
		err = keep(err, r.here.within(func() error {
			err := failed(cu.MemFree(r.replica.weights), "freeing a replica")
			err = keep(err, closeMemory(r.replica.data))
			return keep(err, r.here.close())
		}))
	}
	return keep(err, r.home.within(func() error {
		err := r.private.free()
		err = keep(err, closeMemory(r.memory.weights))
		return keep(err, r.home.close())
	}))
}
