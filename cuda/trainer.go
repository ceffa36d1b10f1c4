//go:build cuda

package cuda

import (
	"math"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
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
	rank     int
	job      job // what is the same for all launches
	ctas     int // of a launch: with their teams, the steps that this rank has in flight at once
	samples  bool
	rounds   averager
	own      blocks // this process's own, beside what its launches bring along

	chunks  int // PreferredChunks
	results []plan.ChunkResult
	steps   int64
	begun   int64 // steps in all launches so far
	opened  bool  // the memory is the coordinator's

	// of a call of Train
	left  []plan.Chunk // not yet listed
	list  []int32      // rows of a launch, step after step
	start []int32      // of each step in list, and its end
	lr    []float32    // of all steps
	loss  []float32
}

// A call of Train is to take 10 ms: long against its overhead, short against the patience
// of who waits for a turn on the GPU, or for a stop. It is cut into four launches, so that
// the rows of one are listed and copied while another runs.
const (
	trainTime  = 10 * time.Millisecond
	launches   = 4
	mostChunks = 4096
)

func newTrainer(s *device.Setup, c *gpu, m *memory, rank int) (*trainer, error) {
	t := &trainer{gpu: c, setup: s, memory: m, rank: rank, chunks: 1, samples: s.Samples(), rows: source{s.Set, m.piece > 0}}
	var err error
	if t.job, t.family, err = newJob(s, m); err != nil {
		return nil, err
	}
	t.job.MaxBatch = int64(s.Job.Tuning.Batch)
	step := t.family.step(&t.job)
	if t.kernels, err = loadKernels(c, file(step), file(t.family.evaluate)); err != nil {
		return nil, err
	}
	t.step = t.kernels[step]
	t.aim()
	t.share()
	t.job.ScratchStride = t.family.scratch(&t.job)
	if err := t.once(); err != nil {
		return nil, err
	}
	t.pipeline = pipeline{gpu: c, kernel: t.step, ended: t.took}
	return t, t.pipeline.open(max(int(m.piece), t.room(s.ChunkRows(), ceilDiv(s.ChunkRows(), s.Job.Tuning.Batch))))
}

// aim says what the launches read and write: the weights, in barrier mode this rank's
// replica or gradient, and the state that is this rank's.
func (t *trainer) aim() {
	cfg, m, j := t.setup.Job, t.memory, &t.job
	j.W, j.Out, j.Rank = uint64(m.weights), uint64(m.weights), int64(t.rank)
	switch {
	case cfg.AveragesGradients():
		j.Out, j.Gradient = uint64(m.slot(t.rank)), 1
	case cfg.Mode.Kind == config.Sync:
		j.W = uint64(m.slot(t.rank))
		j.Out = j.W
	}
	j.Counts = uint64(m.weights) + uint64(m.layout.Counts)
	if i := t.rank % max(1, len(t.setup.States)); j.Gradient == 0 && cfg.Optimizer != config.SGD {
		j.First = uint64(m.state(i))
		j.Second = j.First + 4*uint64(m.layout.P) // where there is one
		j.Updates = uint64(m.steps(i))
	}
}

// share is this rank's part of the steps in flight: so many CTAs, with so many teams.
func (t *trainer) share() {
	cfg := t.setup.Job
	mine := max(1, cfg.Tuning.InFlight/(cfg.Workers-cfg.CPUWorkers))
	t.job.Teams = min(int64(mine), t.job.Teams)
	t.ctas = min(max(1, mine/int(t.job.Teams)), t.step.most)
}

// once makes the buffers.
func (t *trainer) once() error {
	var scratch cu.DevicePtr
	floats := t.job.ScratchStride * int64(t.ctas)
	t.rounds = averager{gpu: t.gpu, setup: t.setup, memory: t.memory, rank: t.rank}
	err := t.rounds.open(&t.own)
	if err = keep(err, t.own.allocate(t.gpu, wanted{&scratch, 4 * floats, "activations"})); err != nil {
		return err
	}
	t.job.Scratch = uint64(scratch)
	// Kernels that sum up a gradient there begin with zeros (kernels/sparse_whole.h).
	return keep(zero(scratch, int(floats)), failed(cu.Synchronize(), "clearing scratch memory"))
}

// Average ends a round on this rank's slice of the weights.
func (t *trainer) Average(r plan.Round) error { return t.rounds.Average(r) }

// PreferredChunks is the number of chunks that make a call of Train as long as it should be.
func (t *trainer) PreferredChunks() int { return t.chunks }

// Train runs the steps of the chunks in launches, one behind the other. What it computes
// does not depend on where one ends and the next begins.
func (t *trainer) Train(cs []plan.Chunk) ([]plan.ChunkResult, error) {
	release, err := t.use()
	if err != nil {
		return nil, err
	}
	defer release()
	began := time.Now()
	t.left, t.lr, t.loss = append(t.left[:0], cs...), t.lr[:0], t.loss[:0]
	t.job.Epoch = int64(cs[0].Epoch)
	for each := t.each(); err == nil && len(t.left) > 0; {
		if listed := len(t.lr); t.take(each) {
			err = t.launch(t.list, t.start, t.lr[listed:])
		}
	}
	if err = keep(err, t.pipeline.drain()); err != nil {
		return nil, err
	}
	if len(t.lr) > 0 {
		t.adapt(len(cs), time.Since(began))
	}
	return t.sumLosses(cs)
}

// room is what a launch of that many rows and steps needs in a stage, without the rows
// themselves.
func (t *trainer) room(rows, steps int) int {
	return room(8, jobBytes+ticketBytes+4*rows+12*steps+4+8*device.RecordWords)
}

const (
	ticketBytes = 256 // two lines: the ticket, and kernels/guard.h
	jobBytes    = int(unsafe.Sizeof(job{}))
)

// launch queues the kernel over the steps; took has their losses when it has ended. The
// rows of step i are rows[start[i]:start[i+1]].
func (t *trainer) launch(rows, start []int32, lr []float32) error {
	s, err := t.pipeline.begin(t.room(0, len(lr)) + t.rows.room(rows))
	if err != nil {
		return err
	}
	j := t.job
	j.Steps, j.Taken = int64(len(lr)), t.begun
	t.begun += j.Steps
	text, at := stageJob(s, &j)
	j.Start, j.LR = stageArray(s, start), stageArray(s, lr)
	t.rows.put(s, &j, rows)
	s.comesBack()
	if t.samples {
		record, address := reserve[uint64](s, device.RecordWords)
		clear(record)
		j.Record = address
	}
	s.loads()
	_, j.Loss = reserve[float32](s, len(lr))
	copy(text, encode(j))
	return t.pipeline.launch(s, min(t.ctas, ceilDiv(len(lr), int(t.job.Teams))), at)
}

// took takes in what a launch has brought back: samples, and the losses of its steps.
func (t *trainer) took(back []byte) {
	if t.samples {
		n := 8 * device.RecordWords
		t.setup.Sampled(t.rank, numbers[uint64](back[:n]))
		back = back[roundUp(n, alignment):]
	}
	t.loss = append(t.loss, numbers[float32](back)...)
}

// sumLosses shares the losses out among the chunks.
func (t *trainer) sumLosses(cs []plan.Chunk) ([]plan.ChunkResult, error) {
	t.results = t.results[:0]
	step := 0
	for _, c := range cs {
		y := plan.ChunkResult{Examples: c.Count}
		for left := c.Count; left > 0; left -= c.Batch {
			loss := float64(t.loss[step])
			t.steps++
			if math.IsNaN(loss) || math.IsInf(loss, 0) {
				return nil, device.NotFinite(t.steps, loss, float64(t.lr[step]))
			}
			y.Loss += loss
			y.Steps++
			step++
		}
		t.results = append(t.results, y)
	}
	return t.results, nil
}

// adapt aims the next call at trainTime, at most doubling or halving it.
func (t *trainer) adapt(chunks int, took time.Duration) {
	want := float64(chunks) * float64(trainTime) / float64(max(took, time.Microsecond))
	want = min(max(want, float64(t.chunks)/2), float64(t.chunks)*2)
	t.chunks = min(max(1, int(want)), mostChunks)
}

// Close gives back this process's part; the coordinator's memory stays.
func (t *trainer) Close() error {
	return t.within(func() error {
		err := t.free()
		if t.opened {
			err = keep(err, closeMemory(t.memory.weights))
			err = keep(err, closeMemory(t.memory.data))
			err = keep(err, t.close())
		}
		return err
	})
}

// free gives back what it has made itself, its launches first.
func (t *trainer) free() error {
	err := keep(t.pipeline.close(), t.own.free())
	if t.family != nil {
		err = keep(err, t.family.freePlan(&t.job))
	}
	return err
}

// keep is the first error of two.
func keep(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
