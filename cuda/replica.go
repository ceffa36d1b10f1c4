//go:build cuda

package cuda

import (
	"cmp"
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/internal/fault"
)

// replica is the copy of the weights that a worker trains if they are on another GPU, or in host memory. After each
// launch of steps a kernel on its stream adds what they have learnt to the weights, and copies these; in barrier mode
// it copies the replica, or its gradient, to the rank's slot. The host waits for nothing in between. The launch has
// ended when that kernel has: so a chunk whose steps a killed worker had not handed over is trained again.
type replica struct {
	kernels       kernels
	job           job
	ends          string        // the kernel behind the steps
	begins        string        // the one before them, when no launch is queued
	start         cu.DevicePtr  // of its job: it is then a copy of the weights or, in barrier mode, the slot
	every         int           // steps that all count from merge to merge, at most; 0: any number, or none are merged
	aim           time.Duration // how long a launch of steps is to take; 0: as where none are merged
	whole         time.Duration // how long a merge through host memory takes; 0: next to nothing
	long          bool          // launches have more than every steps: they count by a share
	workers       int
	weights, from cu.DevicePtr // of gradients: a copy of the weights, and they
}

// mergeTime is how long the launch of steps before a merge is to take, at least: a merge over a link takes
// microseconds. One that is long, and all else that goes with it, is to be a small part of the time.
const (
	mergeTime     = time.Millisecond
	trainPerMerge = 9
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
	j, workers := &t.job, t.setup.Job.Asked.Workers
	r := &replica{workers: workers}
	if r.kernels, err = loadKernels(t.gpu, "reduce"); err != nil {
		return err
	}
	var own, first, counts, updates, shares cu.DevicePtr
	p := 4 * int64(t.memory.layout.P)
	err = t.buffers.allocate(t.gpu, wanted{&own, p, "a replica of the weights"},
		wanted{&first, p, "a replica as it was"}, wanted{&counts, countLine * int64(t.setup.Mem.Ranks), "counts"},
		wanted{&updates, 8, "a count"}, wanted{&shares, 8, "shares"}, wanted{&r.start, int64(jobBytes), "a job"})
	if err != nil {
		return err
	}
	mine, all := uint64(own), j.Out
	r.job = job{W: mine, First: uint64(first), Out: all, Updates: uint64(updates), LR: uint64(shares),
		Counts: j.Counts, Weights: j.Weights, Rank: j.Rank, Ranks: j.Ranks}
	r.begins, r.ends = "reduce_begin", "reduce_merge"
	if m := t.memory.mapped; m != nil && m.learnt != nil {
		r.begins, r.ends = "reduce_sum", "reduce_sum"
		r.job.Second, r.job.ScratchStride = all+uint64(t.memory.layout.Size), m.stride/4
	}
	start := r.job
	if t.setup.Job.Asked.Mode.Traits().Barrier {
		r.ends, r.job.W, r.job.First, r.job.Out = "reduce_begin", all, all, mine
	} else {
		r.every, r.aim = t.mergePeriod(), mergeTime
	}
	if j.Gradient != 0 {
		r.weights, r.from = first, cu.DevicePtr(j.W)
		start.First, j.W = start.W, uint64(first)
	} else {
		j.W = mine
	}
	j.Out, j.Counts, t.replica = mine, uint64(counts), r
	err = keep(upload(shares, []float32{1, 1 / float32(workers)}), upload(r.start, encode(start)),
		zero(counts, countLine/4*t.setup.Mem.Ranks), r.pull())
	if err == nil && r.job.Second != 0 {
		err = r.measure()
	}
	return err
}

// measure finds out how long a merge through host memory takes: one without steps reads as much. Of several in a row
// the GPU hardly waits for the host.
func (r *replica) measure() error {
	const several = 8
	g := r.grid(r.begins, uint64(r.start))
	err := g.kernel.run(g.ctas, r.start) // the first one takes longer than others
	began := time.Now()
	for range several {
		err = keep(err, g.kernel.launch(g.ctas, r.start, cu.NoStream))
	}
	err = keep(err, failed(cu.Synchronize(), "measuring a merge through host memory"))
	r.whole = time.Since(began) / several
	r.aim = max(mergeTime, trainPerMerge*r.whole)
	return err
}

// judge chooses between few steps to a merge, which count in full, and many, which count by a share, from a launch of
// some steps. If each replica goes all the way that there was to go, all of these ways together are too far, and
// their mean is not. So the few are better as long as the worker trains for more than that share of the time.
func (r *replica) judge(steps int, took time.Duration) {
	few := time.Duration(r.every) * max(took-r.whole, took/16) / time.Duration(steps)
	r.long = r.every > 0 && r.whole > time.Duration(r.workers)*few
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
	g := r.grid(r.begins, uint64(r.start))
	return g.kernel.launch(g.ctas, r.start, t.pipeline.work)
}
