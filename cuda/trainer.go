//go:build cuda

package cuda

import (
	"math"
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild"
)

// trainer is the Device of one rank: hogwild.Device over GPU memory. What it writes
// to the weights, others are writing too; see kernels/dev.h for the racy line.
type trainer struct {
	*gpu
	setup   *hogwild.Setup
	memory  *memory
	kernels kernels
	rank    int
	job     job
	ctas    int // steps that this rank has under way at once
	private buffers

	chunks  int // Appetite
	tallies []hogwild.Tally
	steps   int64
	opened  bool // the memory is the coordinator's

	// of the launch under way
	rows  []int32
	start []int32
	lr    []float32
	loss  []float32
}

// buffers is this process's own device memory.
type buffers struct {
	job, rows, start, lr, loss, ticket, taken, scratch, share cu.DevicePtr
	nRows, nSteps                                             int // capacity
}

// A launch is to take from 2 to 10 ms: long against its overhead, short against the
// patience of who waits for a turn on the GPU, or for a stop.
const (
	launchTime = 5 * time.Millisecond
	mostChunks = 4096
)

func newTrainer(s *hogwild.Setup, c *gpu, m *memory, rank int) (*trainer, error) {
	t := &trainer{gpu: c, setup: s, memory: m, rank: rank, chunks: 1}
	var err error
	if t.kernels, err = loadKernels(c); err != nil {
		return nil, err
	}
	if t.job, err = newJob(s, m); err != nil {
		return nil, err
	}
	cfg := s.Config
	t.ctas = max(1, cfg.InFlight/cfg.Workers)
	t.ctas = min(t.ctas, t.kernels[t.job.kernelName()].most)
	w := uint64(m.weights)
	t.job.W, t.job.Out = w, w
	switch {
	case cfg.Mode == "sync" && cfg.Average == "gradients":
		t.job.Out, t.job.Gradient = uint64(m.slot(rank)), 1
	case cfg.Mode == "sync":
		t.job.W = uint64(m.slot(rank))
		t.job.Out = t.job.W
	}
	if cfg.Optimizer == "momentum" && t.job.Gradient == 0 {
		t.job.Velocity = uint64(m.state(rank % len(s.States)))
	}
	t.job.MaxBatch = int64(cfg.Batch)
	t.job.ScratchStride = scratchFloats(&t.job)
	if err := t.grow(s.ChunkRows(), ceilDiv(s.ChunkRows(), cfg.Batch)); err != nil {
		return nil, err
	}
	return t, t.once()
}

// once makes the buffers whose size does not change.
func (t *trainer) once() (err error) {
	b := &t.private
	ranks := t.setup.Config.Workers
	for _, a := range []struct {
		p     *cu.DevicePtr
		bytes int64
		what  string
	}{
		{&b.job, int64(len(encode(t.job))), "a job"}, {&b.ticket, 8, "a ticket"}, {&b.taken, 8, "a counter"},
		{&b.scratch, 4 * t.job.ScratchStride * int64(t.ctas), "activations"}, {&b.share, 4 * int64(ranks), "shares"},
	} {
		if *a.p, err = t.allocate(max(a.bytes, 4), a.what); err != nil {
			return err
		}
	}
	t.job.Ticket, t.job.Taken, t.job.Scratch = uint64(b.ticket), uint64(b.taken), uint64(b.scratch)
	return nil
}

// grow makes room for launches of that many rows and steps.
func (t *trainer) grow(rows, steps int) (err error) {
	b := &t.private
	if rows <= b.nRows && steps <= b.nSteps {
		return nil
	}
	for _, p := range []cu.DevicePtr{b.rows, b.start, b.lr, b.loss} {
		if p != 0 {
			if err := failed(cu.MemFree(p), "freeing a buffer"); err != nil {
				return err
			}
		}
	}
	b.nRows, b.nSteps = max(rows, 2*b.nRows), max(steps, 2*b.nSteps)
	for _, a := range []struct {
		p     *cu.DevicePtr
		words int
	}{{&b.rows, b.nRows}, {&b.start, b.nSteps + 1}, {&b.lr, b.nSteps}, {&b.loss, b.nSteps}} {
		if *a.p, err = t.allocate(4*int64(a.words), "a launch's rows and losses"); err != nil {
			return err
		}
	}
	t.job.Rows, t.job.Start, t.job.LR, t.job.Loss = uint64(b.rows), uint64(b.start), uint64(b.lr), uint64(b.loss)
	return nil
}

// Appetite is the number of chunks that make a launch of a few milliseconds.
func (t *trainer) Appetite() int { return t.chunks }

// Train runs the steps of the chunks as one launch.
func (t *trainer) Train(cs []hogwild.Chunk) ([]hogwild.Tally, error) {
	release, err := t.use()
	if err != nil {
		return nil, err
	}
	defer release()
	t.list(cs)
	if len(t.rows) == 0 {
		return t.tally(cs)
	}
	if err := t.grow(len(t.rows), len(t.lr)); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := t.step(); err != nil {
		return nil, err
	}
	t.adapt(len(cs), time.Since(began))
	return t.tally(cs)
}

// list writes down the rows of each step, in the order in which a CPU takes them.
func (t *trainer) list(cs []hogwild.Chunk) {
	t.rows, t.start, t.lr = t.rows[:0], append(t.start[:0], 0), t.lr[:0]
	for _, c := range cs {
		order, seen := t.setup.Order(c.Rank), c.Seen
		for first, left := c.First, c.Count; left > 0; first += c.Stride {
			n := min(c.Batch, left)
			at := len(t.rows)
			t.rows = append(t.rows, make([]int32, n)...)
			order.Fill(t.rows[at:], c.Epoch, first)
			t.start = append(t.start, int32(len(t.rows)))
			t.lr = append(t.lr, float32(t.setup.Rate(seen)))
			seen += int64(n * c.Weight)
			left -= n
		}
	}
}

// step launches the kernel over the steps listed, and fetches their losses.
func (t *trainer) step() error {
	b := &t.private
	t.job.Steps = int64(len(t.lr))
	for _, err := range []error{upload(b.rows, t.rows), upload(b.start, t.start), upload(b.lr, t.lr),
		zero(b.ticket, 2), zero(b.taken, 2), upload(b.job, encode(t.job))} {
		if err != nil {
			return err
		}
	}
	k := t.kernels[t.job.kernelName()]
	if err := k.run(min(t.ctas, len(t.lr)), b.job); err != nil {
		return err
	}
	t.loss = append(t.loss[:0], t.lr...)
	return download(t.loss, b.loss)
}

// tally shares the losses out among the chunks.
func (t *trainer) tally(cs []hogwild.Chunk) ([]hogwild.Tally, error) {
	t.tallies = t.tallies[:0]
	step := 0
	for _, c := range cs {
		y := hogwild.Tally{Examples: c.Count}
		for left := c.Count; left > 0; left -= c.Batch {
			loss := float64(t.loss[step])
			t.steps++
			if math.IsNaN(loss) || math.IsInf(loss, 0) {
				return nil, hogwild.NotFinite(t.steps, loss, float64(t.lr[step]))
			}
			y.Loss += loss
			y.Steps++
			step++
		}
		t.tallies = append(t.tallies, y)
	}
	return t.tallies, nil
}

// adapt aims the next launch at launchTime, at most doubling or halving it.
func (t *trainer) adapt(chunks int, took time.Duration) {
	want := float64(chunks) * float64(launchTime) / float64(max(took, time.Microsecond))
	want = min(max(want, float64(t.chunks)/2), float64(t.chunks)*2)
	t.chunks = min(max(1, int(want)), mostChunks)
}

// Close gives back this process's part; the coordinator's memory stays.
func (t *trainer) Close() error {
	release, err := t.use()
	if err != nil {
		return err
	}
	defer release()
	b := &t.private
	for _, p := range []cu.DevicePtr{b.job, b.rows, b.start, b.lr, b.loss, b.ticket, b.taken, b.scratch, b.share} {
		if p != 0 {
			err = keep(err, failed(cu.MemFree(p), "freeing a buffer"))
		}
	}
	if t.opened {
		err = keep(err, closeMemory(t.memory.weights))
		err = keep(err, closeMemory(t.memory.data))
		err = keep(err, t.close())
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
