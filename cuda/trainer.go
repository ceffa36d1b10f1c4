//go:build cuda

package cuda

import (
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
	"hogwild/internal/fault"
)

// trainer is the Device of one rank: device.Device over GPU memory. What it writes
// to the weights, others are writing too; see kernels/dev.h for the racy line.
type trainer struct {
	*gpu
	setup    *device.Setup
	memory   *memory
	kernels  kernels
	family   *family
	step     kernel   // takes steps
	pipeline pipeline // of its launches
	rows     source
	job      job // what is the same for all launches
	ctas     int // of a launch: with their teams, the steps that this rank has in flight at once
	samples  bool
	rounds   averager
	replica  *replica // nil: steps are written where all see them
	buffers  blocks   // this process's own, apart from what its launches bring along

	pace    int                      // steps of a launch that takes as long as it should
	most    int                      // rows of a launch, at the most
	rate    func(seen int64) float64 // the learning rate
	begun   int64                    // steps in all launches so far
	steps   int64                    // in those that have ended
	flights []flight                 // launches that have not, the first one first
	last    time.Time                // when one ended
	opened  bool                     // the memory is the coordinator's

	// of a call of Train
	left    []plan.Chunk // not yet in a launch
	list    []int32      // rows of a launch
	lr      []float32    // of a launch
	part    plan.ChunkResult
	results []plan.ChunkResult // of chunks that have ended
	failed  error              // the first loss that is not finite
}

// newTrainerBy makes the trainer of a rank that reaches the weights in some way, and what it needs for that.
func newTrainerBy(w way, s *device.Setup, c *gpu, m *memory, rank int) (_ *trainer, err error) {
	if w == throughHost {
		if m.weights, err = m.mapped.register(); err != nil {
			return nil, err
		}
	}
	m.apart = w != direct && w != asPeer
	if w != direct && s.Job.Asked.PrivateState() {
		i := rank % len(s.States)
		if m.private, err = newPrivate(c, m.state(i), m.steps(i), len(s.States[i])); err != nil {
			return nil, err
		}
	}
	return newTrainer(s, c, m, rank)
}

func newTrainer(s *device.Setup, c *gpu, m *memory, rank int) (_ *trainer, err error) {
	t := &trainer{gpu: c, setup: s, memory: m, samples: s.Samples(),
		rows: source{s.Set, m.piece > 0, &m.layout.Scatter},
		pace: ceilDiv(s.Plan.Chunk, s.Job.Used.Batch), most: c.longest(), rate: s.Rate}
	defer func() {
		if err != nil {
			_ = t.free() // the error that counts is the first; what is freed may be so once more
		}
	}()
	if t.job, t.family, err = newJob(s, m); err != nil {
		return nil, err
	}
	t.job.MaxBatch = int64(s.Job.Used.Batch)
	step := t.family.stepOn(c, &t.job, &s.Job.Asked)
	if t.kernels, err = loadKernels(c, file(step), file(t.family.evaluate), "steps"); err != nil {
		return nil, err
	}
	t.step = t.kernels[step]
	t.setPointers(rank)
	t.setGrid()
	t.job.ScratchStride = t.family.scratch(&t.job)
	if err := t.makeBuffers(); err != nil {
		return nil, err
	}
	if m.apart {
		if err := t.makeReplica(); err != nil {
			return nil, err
		}
	}
	t.pipeline = pipeline{gpu: c, kernel: t.step, ended: t.complete}
	return t, t.pipeline.open(max(int(m.piece), t.stageSize(1, t.pace)), t.deviceSize(t.pace, s.Plan.Chunk))
}

// setPointers says what the launches read and write: the weights, in barrier mode this rank's
// replica or gradient, and the state that is this rank's.
func (t *trainer) setPointers(rank int) {
	cfg, m, j := t.setup.Job, t.memory, &t.job
	j.W, j.Out, j.Rank = uint64(m.weights), uint64(m.weights), int64(rank)
	switch {
	case cfg.Asked.AveragesGradients():
		j.Out, j.Gradient = uint64(m.slot(rank)), 1
	case cfg.Asked.Mode.Traits().Barrier:
		j.W = uint64(m.slot(rank))
		j.Out = j.W
	}
	j.Counts = uint64(m.weights) + uint64(m.layout.Counts)
	if i := rank % max(1, len(t.setup.States)); j.Gradient == 0 && cfg.Asked.Optimizer != config.SGD {
		j.First = uint64(m.state(i))
		j.Second = j.First + 4*uint64(m.layout.P) // where there is one
		j.Updates = uint64(m.steps(i))
	}
}

// setGrid makes the launches as large as this rank's part of the steps in flight: CTAs, and their teams. Few teams are
// spread over all multiprocessors, which issue and load for them at the same time. Those that share a local copy in
// their CTA are not: of more copies each would have to be merged more often.
func (t *trainer) setGrid() {
	mine, most := t.setup.Job.OfWorker(), int(t.job.Teams)
	if t.job.Locals == 0 {
		most = min(most, ceilDiv(mine, t.SMs))
	}
	t.job.Teams = int64(min(mine, most))
	t.ctas = min(max(1, mine/int(t.job.Teams)), t.step.most)
}

// makeBuffers allocates what all launches use.
func (t *trainer) makeBuffers() error {
	var scratch cu.DevicePtr
	floats := t.job.ScratchStride * int64(t.ctas)
	t.rounds = averager{gpu: t.gpu, setup: t.setup, memory: t.memory, rank: int(t.job.Rank)}
	err := t.rounds.open(&t.buffers)
	if err = keep(err, t.buffers.allocate(t.gpu, wanted{&scratch, 4 * floats, "activations"})); err != nil {
		return err
	}
	t.job.Scratch = uint64(scratch)
	// Kernels that sum up a gradient there begin with zeros (kernels/sparse_whole.h).
	return keep(zero(scratch, int(floats)), failed(cu.Synchronize(), "clearing scratch memory"))
}

// Average ends a round on this rank's slice of the weights.
func (t *trainer) Average(r plan.Round) error { return t.rounds.Average(r) }

// Train queues the steps of the chunks in launches, one behind the other, and returns what
// those that have ended came to; without chunks it waits for all. What is computed does not
// depend on where one launch ends and the next begins.
func (t *trainer) Train(cs []plan.Chunk) ([]plan.ChunkResult, error) {
	release, err := t.use()
	if err != nil {
		return nil, err
	}
	defer release()
	t.left, t.results = append(t.left[:0], cs...), t.results[:0]
	for each := t.each(); err == nil && len(t.left) > 0; {
		err = t.launch(t.cut(each))
	}
	if len(cs) == 0 {
		err = keep(t.pipeline.drain(), t.memory.private.renew())
	}
	return t.results, keep(err, t.failed)
}

// stageSize returns the bytes that a launch of some pieces needs in a stage, rows that stream left
// out; rates are its learning rates.
func (t *trainer) stageSize(pieces, rates int) int {
	return stageBytes(10, 2*(jobBytes+ticketBytes)+listingBytes+8*(partWords+sumWords)*pieces+4*rates+
		8*device.RecordWords)
}

// deviceSize returns the bytes that a launch needs on the GPU alone: the list of its steps, and their losses.
func (t *trainer) deviceSize(steps, rows int) int { return stageBytes(4, 4*rows+12*steps+4) }

// launch queues the kernels over the pieces; complete has what they came to when they have ended.
func (t *trainer) launch(pieces []piece) error {
	steps, rows, rates := 0, 0, 0
	for i := range pieces {
		p := &pieces[i]
		steps, rows, rates = steps+p.steps(), rows+p.Count, rates+t.ratesOf(p)
	}
	if n := len(t.flights); steps == 0 && n > 0 {
		t.flights[n-1].pieces = append(t.flights[n-1].pieces, pieces...)
		return nil
	} else if steps == 0 {
		t.ended(flight{pieces: pieces}, nil)
		return nil
	}
	if t.replica != nil {
		if err := fault.Point("gpu.push"); err != nil {
			return err
		}
	}
	bytes := t.stageSize(len(pieces), rates)
	if t.rows.streams {
		bytes += t.rows.stageSize(t.rowsOf(pieces, rows))
	}
	s, err := t.pipeline.begin(bytes, t.deviceSize(steps, rows))
	if err != nil {
		return err
	}
	j := t.job
	j.Steps, j.Taken, j.Epoch = int64(steps), t.begun, int64(pieces[0].Epoch)
	t.begun += j.Steps
	text, at := stageJob(s, &j)
	listText, listAt := reserve[byte](s, listingBytes)
	l := t.stagePieces(s, pieces)
	l.Rows, l.Start = reserveOnGPU[int32](s, rows), reserveOnGPU[int32](s, steps+1)
	l.LR, l.Loss = reserveOnGPU[float32](s, steps), reserveOnGPU[float32](s, steps)
	j.Rows, j.Start, j.LR, j.Loss = l.Rows, l.Start, l.LR, l.Loss
	if t.rows.streams {
		t.rows.put(s, &j, t.list)
	}
	seen, merge := &j, job{} // whose kernel looks at what others write
	var mergeText []byte
	var mergeAt uint64
	if t.replica != nil {
		merge = t.replica.job
		if t.replica.long && steps > t.replica.every {
			merge.LR += 4 // the share
		}
		merge.Steps, seen = j.Steps, &merge
		mergeText, mergeAt = stageJob(s, &merge)
	}
	s.comesBack()
	if t.samples {
		record, address := reserve[uint64](s, device.RecordWords)
		clear(record)
		seen.Record = address
	}
	s.loads()
	_, l.Sums = reserve[uint64](s, sumWords*int(l.Count))
	copy(text, encode(j))
	copy(listText, encode(l))
	list, sum := t.kernels["steps_list"], t.kernels["steps_sum"]
	grids := []grid{{t.step, min(t.ctas, ceilDiv(steps, int(t.job.Teams))), at}}
	if t.replica != nil {
		copy(mergeText, encode(merge))
		grids = append(grids, t.replica.grid(t.replica.ends, mergeAt))
		if len(t.flights) == 0 {
			err = t.begin()
		}
	}
	grids = append(grids, grid{sum, min(sum.most, ceilDiv(int(l.Count), warpsOfCTA)), listAt})
	t.flights = append(t.flights, flight{pieces, steps, time.Now()})
	return keep(err, t.pipeline.launch(s, grid{list, min(list.most, int(l.Count)), listAt}, grids...))
}

// complete takes in what the first launch in flight has brought back: samples, and sums.
func (t *trainer) complete(back []byte) {
	if t.samples {
		n := 8 * device.RecordWords
		t.setup.Mem.Records[t.job.Rank].Plus(numbers[uint64](back[:n]))
		back = back[roundUp(n, alignment):]
	}
	f := t.flights[0]
	t.flights = t.flights[:copy(t.flights, t.flights[1:])]
	t.ended(f, numbers[uint64](back))
	now, began := time.Now(), f.queued
	if t.last.After(began) {
		began = t.last
	}
	t.adapt(f.steps, now.Sub(began))
	if r := t.replica; r != nil && r.whole > 0 && config.Whole(t.setup.Job.Asked.MergeEvery) == 0 {
		r.judge(f.steps, now.Sub(began))
	}
	t.last = now
}

// Close gives back this process's part; the coordinator's memory stays.
func (t *trainer) Close() error {
	return t.within(func() error {
		err := t.free()
		if t.opened {
			err = keep(err, t.memory.close(), t.close())
		}
		return err
	})
}

// free gives back what it has made itself, its launches first.
func (t *trainer) free() error {
	err := keep(t.pipeline.close(), t.buffers.free(), t.memory.private.free())
	if t.family != nil {
		err = keep(err, t.family.freePlan(&t.job))
	}
	return err
}

// Pull starts a round: the replica becomes a copy of the weights, or the gradient
// zero.
func (t *trainer) Pull() error {
	return t.within(func() error { return keep(t.rounds.pull(), t.replica.pull()) })
}
