//go:build cuda

package cuda

import (
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild/model"
	"hogwild/internal/fault"
)

// A program's replica and the weights of all: what is computed and copied between the two. What is launched again and
// again is listed once.

// launch is a kernel with its job.
type launch struct {
	kernel kernel
	count  int // numbers
	job    cu.DevicePtr
}

func (l launch) queue(in cu.Stream) error {
	return l.kernel.launch(min(l.kernel.most, ceilDiv(l.count, threads)), l.job, in)
}

// span is a part of the weights.
type span struct{ from, count int }

// prepareDifference lists the launches that make the difference of the replica. What steps have moved counts in full.
// What a program sets by itself, as the means of BatchNorm, moves by the mean of what the replicas say: a sum would go
// past where each of them goes. Integers, as a position in a ring, are no numbers to add up: the last copy stays.
func (r *separate) prepareDifference() error {
	ks, err := loadKernels(r.here, "average")
	if err != nil {
		return err
	}
	shares := []float32{1, -1, 1 / float32(r.setup.Job.Asked.Workers), 0}
	var at, jobs cu.DevicePtr
	all := []mean{{Dst: uint64(r.second), Src: uint64(r.replica), Count: int64(r.memory.layout.P), Ranks: 2,
		Stride: int64(r.second-r.replica) / 4}}
	tensors, params := r.setup.Job.Asked.Layout.Tensors, r.setup.Params
	share := []int{0} // of each mean, which of the shares
	for i, from := range model.Offsets(params) {
		n, which := params[i].Len(), 2
		switch {
		case tensors[i].Kind == model.Parameter || n == 0:
			continue
		case tensors[i].Kind == model.Integer:
			r.integers, which = append(r.integers, span{from, n}), 3
		}
		if last := &all[len(all)-1]; share[len(share)-1] == which && int(last.From+last.Count) == from {
			last.Count += int64(n)
			continue
		}
		all = append(all, mean{Dst: uint64(r.second), Src: uint64(r.second), From: int64(from), Count: int64(n),
			Ranks: 1})
		share = append(share, which)
	}
	size := len(encode(mean{}))
	if err := r.buffers.allocate(r.here, wanted{&at, 4 * int64(len(shares)), "shares"},
		wanted{&jobs, int64(len(all) * size), "means"}); err != nil {
		return err
	}
	var text []byte
	for i, m := range all {
		m.Share = uint64(at) + 4*uint64(share[i])
		text = append(text, encode(m)...)
		r.difference = append(r.difference, launch{ks["average_weights"], int(m.Count), jobs + cu.DevicePtr(i*size)})
	}
	return keep(upload(at, shares), upload(jobs, text), failed(cu.Synchronize(), "preparing the merge of a replica"))
}

// mergedBytes is how much of a difference is on its way at a time: a copy for each rank may not fit on the owner's GPU.
const mergedBytes = 8 << 20

// prepareAdding lists the launches that add a difference to the weights.
func (r *separate) prepareAdding() error {
	ks, err := loadKernels(r.owner, "reduce")
	if err != nil {
		return err
	}
	p, most := r.memory.layout.P, mergedBytes/4
	var jobs cu.DevicePtr
	if err := r.received.allocate(r.owner, wanted{&r.incoming, 4 * int64(min(p, most)), "a part of a replica"},
		wanted{&jobs, int64(ceilDiv(p, most) * jobBytes), "jobs"}); err != nil {
		return err
	}
	var text []byte
	for from := 0; from < p; from += most {
		n := min(most, p-from)
		at := jobs + cu.DevicePtr(len(text))
		text = append(text, encode(job{W: uint64(r.incoming), Out: uint64(r.memory.weights) + 4*uint64(from),
			Weights: int64(n)})...)
		r.adds = append(r.adds, launch{ks["reduce_add"], n, at})
	}
	return keep(upload(jobs, text), failed(cu.Synchronize(), "preparing the merge of a replica"))
}

// merge adds the replica's difference to the weights.
func (r *separate) merge() error {
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
		at := cu.DevicePtr(0)
		for _, l := range r.adds {
			err := r.move(r.incoming, r.owner, r.second+at, r.here, l.count)
			if err == nil {
				err = l.queue(r.stream)
			}
			if err != nil {
				return err
			}
			at += cu.DevicePtr(4 * l.count)
		}
		for _, s := range r.integers {
			at := cu.DevicePtr(4 * s.from)
			if err := r.move(r.memory.weights+at, r.owner, r.replica+at, r.here, s.count); err != nil {
				return err
			}
		}
		return r.await("adding a replica")
	})
}

// pull makes the replica a copy of the weights.
func (r *separate) pull() error {
	if err := fault.Point("gpu.pull"); err != nil {
		return err
	}
	p, to := r.memory.layout.P, r.second
	if r.barrier() {
		to = r.replica
	}
	r.updates = r.others()
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
	r.pulled = time.Now()
	return err
}

// send copies the replica, or its gradient, to the rank's slot.
func (r *separate) send() error {
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
func (r *separate) move(to cu.DevicePtr, on *gpu, from cu.DevicePtr, of *gpu, n int) (err error) {
	switch {
	case n == 0:
	case on.device == of.device:
		err = cu.MemcpyDtoDAsync(to, from, 4*int64(n), r.stream)
	default:
		err = cu.MemcpyPeerAsync(to, on.ctx, from, of.ctx, 4*int64(n), r.stream)
	}
	return failed(err, "copying %d floats from GPU %d to GPU %d", n, of.device, on.device)
}

func (r *separate) await(doing string) error { return failed(r.stream.Synchronize(), "%s", doing) }
