//go:build cuda

package cuda

import (
	"gorgonia.org/cu"

	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/internal/fault"
)

// A program's replica and the weights of all: what is computed and copied between the two. What is launched again and
// again is listed once.

// merging is what it takes.
type merging struct {
	setup  *device.Setup
	rank   int
	memory *memory // the owner's
	owner  *gpu
	here   *gpu      // the owner, if the rank is on it
	stream cu.Stream // on the owner's GPU

	replica    cu.DevicePtr // that the program trains
	second     cu.DevicePtr // behind it: async, what it began with; averaged gradients, the gradient
	buffers    blocks       // here
	incoming   cu.DevicePtr // a part of a replica
	received   blocks       // on the owner's GPU
	difference []launch
	adds       []launch // of a part each
	fixed      []fixed
}

// launch is a kernel with its job.
type launch struct {
	kernel kernel
	count  int // numbers
	job    cu.DevicePtr
}

func (l launch) queue(in cu.Stream) error {
	return l.kernel.launch(min(l.kernel.most, ceilDiv(l.count, threads)), l.job, in)
}

// launches uploads jobs for a kernel.
func launches[T any](k kernel, on *gpu, b *blocks, count func(T) int, jobs []T) (all []launch, err error) {
	var at cu.DevicePtr
	var text []byte
	for _, j := range jobs {
		all = append(all, launch{k, count(j), cu.DevicePtr(len(text))})
		text = append(text, encode(j)...)
	}
	err = b.allocate(on, wanted{&at, int64(len(text)), "jobs"})
	if err == nil {
		err = upload(at, text)
	}
	for i := range all {
		all[i].job += at
	}
	return all, err
}

func countOf(m mean) int { return int(m.Count) }

// mergedBytes is how much of a replica is on its way at a time: a copy for each rank may not fit on the owner's GPU.
const mergedBytes = 8 << 20

// fixed is a part of the weights that the program sets by itself, and no step moves. A sum of what several replicas say
// of BatchNorm's means would go past where each of them goes. So the weights move to each by a worker's share of the
// way, and stay between them. Integers, as a position in a ring, are not to be mixed: the last copy stays.
type fixed struct {
	from   int
	mixes  bool
	launch // if it mixes
}

// fixedOf lists what steps do not move.
func fixedOf(s *device.Setup) (all []fixed) {
	const most = mergedBytes / 4
	for i, from := range model.Offsets(s.Params) {
		kind, end := s.Job.Asked.Layout.Tensors[i].Kind, from+s.Params[i].Len()
		for ; kind != model.Parameter && from < end; from += most {
			all = append(all, fixed{from, kind != model.Integer, launch{count: min(most, end-from)}})
		}
	}
	return all
}

// prepareDifference lists the launches that make the difference of the replica: none of what is fixed.
func (r *merging) prepareDifference() error {
	ks, err := loadKernels(r.here, "average")
	if err != nil {
		return err
	}
	shares := []float32{1, -1, 0}
	var at cu.DevicePtr
	if err := r.buffers.allocate(r.here, wanted{&at, 4 * int64(len(shares)), "shares"}); err != nil {
		return err
	}
	all := []mean{{Dst: uint64(r.second), Src: uint64(r.replica), Share: uint64(at), Count: int64(r.memory.layout.P),
		Ranks: 2, Stride: int64(r.second-r.replica) / 4}}
	r.fixed = fixedOf(r.setup)
	for _, f := range r.fixed {
		all = append(all, mean{Dst: uint64(r.second), Src: uint64(r.second), Share: uint64(at) + 8,
			From: int64(f.from), Count: int64(f.count), Ranks: 1})
	}
	r.difference, err = launches(ks["average_weights"], r.here, &r.buffers, countOf, all)
	return keep(err, upload(at, shares), failed(cu.Synchronize(), "preparing the merge of a replica"))
}

// prepareAdding lists the launches that bring a replica to the weights.
func (r *merging) prepareAdding() error {
	ks, err := loadKernels(r.owner, "average", "reduce")
	if err != nil {
		return err
	}
	share := 1 / float32(r.setup.Job.Asked.Workers)
	p, most, shares := r.memory.layout.P, mergedBytes/4, []float32{1 - share, share}
	weights, at := uint64(r.memory.weights), cu.DevicePtr(0)
	if err := r.received.allocate(r.owner, wanted{&r.incoming, 4 * int64(min(p, most)), "a part of a replica"},
		wanted{&at, 4 * int64(len(shares)), "shares"}); err != nil {
		return err
	}
	var adds []job
	for from := 0; from < p; from += most {
		adds = append(adds, job{W: uint64(r.incoming), Out: weights + 4*uint64(from),
			Weights: int64(min(most, p-from))})
	}
	var mixes []mean
	for _, f := range r.fixed { // the second rank's numbers begin at f.from in what has come
		mixes = append(mixes, mean{Dst: weights, Src: weights, Share: uint64(at), From: int64(f.from),
			Count: int64(f.count), Ranks: 2, Stride: int64(uint64(r.incoming)-weights)/4 - int64(f.from)})
	}
	r.adds, err = launches(ks["reduce_add"], r.owner, &r.received, func(j job) int { return int(j.Weights) }, adds)
	if err != nil {
		return err
	}
	mixing, err := launches(ks["average_weights"], r.owner, &r.received, countOf, mixes)
	for i := range mixing {
		r.fixed[i].launch = mixing[i]
	}
	return keep(err, upload(at, shares), failed(cu.Synchronize(), "preparing the merge of a replica"))
}

// merge brings to the weights what the replica has learnt.
func (r *merging) merge() error {
	if err := fault.Point("gpu.push"); err != nil {
		return err
	}
	err := r.here.within(func() error {
		for _, l := range r.difference {
			if err := l.queue(cu.NoStream); err != nil {
				return err
			}
		}
		return failed(cu.Synchronize(), "making the difference of a replica")
	})
	if err != nil {
		return err
	}
	return r.owner.within(func() error {
		from := 0
		for _, l := range r.adds {
			if err := r.through(r.second, from, l); err != nil {
				return err
			}
			from += l.count
		}
		for _, f := range r.fixed {
			at, err := cu.DevicePtr(4*f.from), error(nil)
			if f.mixes {
				err = r.through(r.replica, f.from, f.launch)
			} else {
				err = r.move(r.memory.weights+at, r.owner, r.replica+at, r.here, f.count)
			}
			if err != nil {
				return err
			}
		}
		return r.await("adding a replica")
	})
}

// through queues the copy of a part to the owner's GPU, and what is launched on it there.
func (r *merging) through(at cu.DevicePtr, from int, l launch) error {
	err := r.move(r.incoming, r.owner, at+cu.DevicePtr(4*from), r.here, l.count)
	if err == nil {
		err = l.queue(r.stream)
	}
	return err
}

// renew makes the replica a copy of the weights.
func (r *merging) renew() error {
	if err := fault.Point("gpu.pull"); err != nil {
		return err
	}
	p, to := r.memory.layout.P, r.second
	if r.barrier() {
		to = r.replica
	}
	err := r.owner.within(func() error {
		err := r.move(to, r.here, r.memory.weights, r.owner, p)
		return keep(err, r.await("copying the weights to a replica"))
	})
	if err != nil {
		return err
	}
	err = r.here.within(func() error {
		var err error
		if !r.barrier() {
			err = move(r.replica, r.second, p)
		} else if r.gradients() {
			err = zero(r.second, p)
		}
		return keep(err, failed(cu.Synchronize(), "renewing a replica"))
	})
	return err
}

// send copies the replica, or its gradient, to the rank's slot.
func (r *merging) send() error {
	if err := fault.Point("gpu.push"); err != nil {
		return err
	}
	from := r.replica
	if r.gradients() {
		from = r.second
	}
	err := r.move(r.memory.slot(r.rank), r.owner, from, r.here, r.memory.layout.P)
	return keep(err, r.await("sending a replica"))
}

// move queues a copy of n floats on the owner's stream.
func (r *merging) move(to cu.DevicePtr, on *gpu, from cu.DevicePtr, of *gpu, n int) (err error) {
	switch {
	case n == 0:
	case on.device == of.device:
		err = cu.MemcpyDtoDAsync(to, from, 4*int64(n), r.stream)
	default:
		err = cu.MemcpyPeerAsync(to, on.ctx, from, of.ctx, 4*int64(n), r.stream)
	}
	return failed(err, "copying %d floats from GPU %d to GPU %d", n, of.device, on.device)
}

func (r *merging) await(doing string) error { return failed(r.stream.Synchronize(), "%s", doing) }

func (r *merging) barrier() bool { return r.setup.Job.Asked.Mode.Traits().Barrier }

func (r *merging) gradients() bool { return r.setup.Job.Asked.AveragesGradients() }
