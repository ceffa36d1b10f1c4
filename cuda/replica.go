//go:build cuda

package cuda

import (
	"cmp"
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/internal/fault"
)

// replica is the copy of the weights that a worker on another GPU with peer access trains. After each launch of
// steps a kernel on its stream adds what they have learnt to the weights, and copies these; in barrier mode it copies
// the replica, or its gradient, to the rank's slot. The host waits for nothing in between. The launch has ended when
// that kernel has: so a chunk whose steps a killed worker had not handed over is trained again.
type replica struct {
	kernels       kernels
	job           job
	ends          string       // the kernel behind the steps
	start         cu.DevicePtr // of the job by which it becomes a copy of the weights or, in barrier mode, of the slot
	every         int          // steps of a launch, at most; 0: any number
	weights, from cu.DevicePtr // of gradients: a copy of the weights, and they
}

// merges is the kernel by which a replica is merged, mergeTime how long the launch of steps before is to take: a merge
// takes microseconds.
const (
	merges    = "reduce_merge"
	mergeTime = time.Millisecond
)

// mergePeriod is how many steps a replica takes from one merge to the next, at most; 0: any number, or a program
// trains. By default they are as many as count as steps in flight within the limit (docs/asynchrony.md), but not fewer
// than the worker has in flight itself: these count already. Two workers' local steps count as many as they are.
func (t *trainer) mergePeriod() int {
	if t == nil || t.setup.Job.Asked.Workers == 1 {
		return 0
	}
	j := t.setup.Job
	return cmp.Or(config.Whole(j.Asked.MergeEvery), max(cmp.Or(j.Used.MaxLocalSteps, int(j.Used.MaxInFlight)),
		t.ctas*int(t.job.Teams)))
}

// makeReplica lets the trainer's steps read and write memory of their GPU.
func (t *trainer) makeReplica() (err error) {
	r, j := new(replica), &t.job
	if r.kernels, err = loadKernels(t.gpu, "reduce"); err != nil {
		return err
	}
	var own, first, counts, updates, share cu.DevicePtr
	p := 4 * int64(t.memory.layout.P)
	err = t.buffers.allocate(t.gpu, wanted{&own, p, "a replica of the weights"},
		wanted{&first, p, "a replica as it was"}, wanted{&counts, countLine * int64(t.setup.Mem.Ranks), "counts"},
		wanted{&updates, 8, "a count"}, wanted{&share, 4, "a share"}, wanted{&r.start, int64(jobBytes), "a job"})
	if err != nil {
		return err
	}
	mine, all := uint64(own), j.Out
	r.job = job{W: mine, First: uint64(first), Out: all, Updates: uint64(updates), LR: uint64(share),
		Counts: j.Counts, Weights: j.Weights, Rank: j.Rank, Ranks: j.Ranks}
	start := r.job
	if t.setup.Job.Asked.Mode.Traits().Barrier {
		r.ends, r.job.W, r.job.First, r.job.Out = "reduce_begin", all, all, mine
	} else {
		r.ends, r.every = merges, t.mergePeriod()
	}
	if j.Gradient != 0 {
		r.weights, r.from = first, cu.DevicePtr(j.W)
		start.First, j.W = start.W, uint64(first)
	} else {
		j.W = mine
	}
	j.Out, j.Counts, t.replica = mine, uint64(counts), r
	return keep(upload(share, []float32{1}), upload(r.start, encode(start)),
		zero(counts, countLine/4*t.setup.Mem.Ranks), r.pull())
}

// pull renews the copy of the weights by which gradients are computed, if there is one.
func (r *replica) pull() error {
	if r == nil || r.from == 0 {
		return nil
	}
	return keep(move(r.weights, r.from, int(r.job.Weights)), failed(cu.Synchronize(), "copying the weights"))
}

// grid is a kernel of the replica's over all weights.
func (r *replica) grid(name string, job uint64) grid {
	k := r.kernels[name]
	return grid{k, min(k.most, ceilDiv(int(r.job.Weights), threads)), job}
}

// begin makes the replica a copy of the weights before the launches that follow: it has not seen what others have
// changed since its last merge. In barrier mode it has what this rank has sent of the round, or begins it.
func (t *trainer) begin() error {
	if err := fault.Point("gpu.pull"); err != nil {
		return err
	}
	r := t.replica
	g := r.grid("reduce_begin", uint64(r.start))
	return g.kernel.launch(g.ctas, r.start, t.pipeline.work)
}
