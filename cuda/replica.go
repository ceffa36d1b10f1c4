//go:build cuda

package cuda

import (
	"cmp"
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
)

// replica is the copy of the weights that a worker trains whose GPU reaches those of all over NVLink. After each
// launch of steps a kernel on its stream adds what they have learnt to the weights of all, and copies these; the host
// waits for nothing in between. The launch has ended when that has: so a chunk whose steps a killed worker had not
// added is trained again.
type replica struct {
	kernels kernels
	job     job
	start   cu.DevicePtr // of the job by which it becomes a copy of the weights
	every   int          // steps of a launch, at most
}

const (
	largestReplica = 64 << 20 // bytes: a merge of more takes a good part of mergeTime
	// mergeTime is how long a launch on a replica is to take: a merge takes microseconds.
	mergeTime = time.Millisecond
	// someSteps is for models whose limit of steps in flight is not known.
	someSteps = 256
)

// mayTrainReplica reports whether a worker on another GPU may add what several steps have learnt at once. Steps that
// touch few of the weights add these alone.
func mayTrainReplica(s *device.Setup) bool {
	c := &s.Job.Asked
	if c.Layout != nil || c.MergeEvery == config.InPlace || c.OptimizerState == config.Shared && c.Optimizer != config.SGD {
		return false
	}
	few := s.Set.Sparse() || s.Set.Entries() || s.Set.Words()
	return c.Mode.Traits().Copies && !few && 4*len(s.Weights) <= largestReplica
}

// mergePeriod is how many steps a replica takes from one merge to the next, at most: as many as were asked for or, by
// default, as many as count as steps in flight within the limit (docs/asynchrony.md), but enough for the steps that it
// has in flight itself.
func (t *trainer) mergePeriod() int {
	most := cmp.Or(t.setup.Job.Used.MaxLocalSteps, someSteps)
	return cmp.Or(config.Whole(t.setup.Job.Asked.MergeEvery), max(most, t.ctas*int(t.job.Teams)))
}

// makeReplica lets the trainer's steps read and write a copy of the weights.
func (t *trainer) makeReplica() (err error) {
	r := &replica{every: t.mergePeriod()}
	if r.kernels, err = loadKernels(t.gpu, "reduce"); err != nil {
		return err
	}
	var weights, first, counts, updates, share cu.DevicePtr
	p := 4 * int64(t.memory.layout.P)
	err = t.buffers.allocate(t.gpu, wanted{&weights, p, "a replica of the weights"},
		wanted{&first, p, "a replica as it was"}, wanted{&counts, countLine * int64(t.setup.Mem.Ranks), "counts"},
		wanted{&updates, 8, "a count"}, wanted{&share, 4, "a share"}, wanted{&r.start, int64(jobBytes), "a job"})
	if err != nil {
		return err
	}
	r.job = job{W: uint64(weights), First: uint64(first), Out: t.job.Out, Updates: uint64(updates), LR: uint64(share),
		Counts: t.job.Counts, Weights: int64(t.memory.layout.P), Rank: t.job.Rank, Ranks: int64(t.setup.Job.Asked.Workers)}
	t.job.W, t.job.Out, t.job.Counts = r.job.W, r.job.W, uint64(counts)
	t.replica = r
	return keep(upload(share, []float32{1}), upload(r.start, encode(r.job)),
		zero(counts, countLine/4*t.setup.Mem.Ranks))
}

// grid is a kernel of the replica's over all weights.
func (r *replica) grid(name string, job uint64) grid {
	k := r.kernels[name]
	return grid{k, min(k.most, ceilDiv(int(r.job.Weights), threads)), job}
}

// begin makes the replica a copy of the weights before the launches that follow. What others have changed since its
// last merge, it has not seen.
func (t *trainer) begin() error {
	g := t.replica.grid("reduce_begin", uint64(t.replica.start))
	return g.kernel.launch(g.ctas, t.replica.start, t.pipeline.work)
}
