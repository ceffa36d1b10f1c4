package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"syscall"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/loops"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/program"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
	"hogwild/shm"
)

// WorkerMain is a worker process's main. It returns the exit status.
func WorkerMain() int {
	if first := os.Getenv(workers.CheckVariable); first != "" {
		return loops.CheckFrom(first)
	}
	// Ctrl-C on a terminal, and its end, reach the whole process group; the coordinator decides.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	w, header, err := joinRun()
	if err == nil && header.Job.Asked.Nodes > 1 { // a launcher sends it to the whole process group, too
		signal.Ignore(syscall.SIGTERM)
	}
	if errors.Is(err, errLeft) {
		return 0
	}
	if err == nil {
		live := func() error { return w.live(&header.Job.Asked) }
		if w.rank == 0 {
			err = profile(header, live)
		} else {
			err = live()
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "hogwild worker %s: %v\n", os.Getenv(workers.RankVariable), err)
		return 1
	}
	return 0
}

// worker is one rank of a run: it takes chunks, trains them on its device, and
// reports. It does not know where the weights are.
type worker struct {
	rank    int
	block   *control.Block
	device  device.Device
	chunks  []plan.Chunk     // taken for the next call of Train
	queued  []plan.Chunk     // the device has them, and has not told what they came to
	begun   plan.ChunkResult // the first step, which was timed by itself: of the first chunk
	delayed bool             // updates are kept back
	idle    bool             // meets and averages in the place of a rank that is gone; trains nothing

	join func(*control.Header) (device.Device, error) // makes the device
}

// joinRun maps what the coordinator made and checks that both mean the same by it.
func joinRun() (*worker, *control.Header, error) {
	rank, err := workers.Rank()
	if err != nil {
		return nil, nil, err
	}
	if err := fault.Point("worker.join"); err != nil {
		return nil, nil, err
	}
	seg, err := shm.Map(workers.Inherited(0, "control"), true)
	if err != nil {
		return nil, nil, err
	}
	block, header, err := control.Open(seg)
	if err != nil {
		return nil, nil, err
	}
	if rank < 0 || rank >= header.Job.Asked.Workers {
		return nil, nil, errLeft
	}
	runtime.LockOSThread()
	block.SetRank(rank, control.RankThread, uint64(unix.Gettid()))
	if seg, err = shm.Map(workers.Inherited(1, "weights"), true); err != nil {
		return nil, nil, err
	}
	if sum, err := seg.Checksum(); err != nil || sum != header.Weights {
		return nil, nil, fmt.Errorf("the weights' layout has checksum %016x, the coordinator's %016x (%v)", sum, header.Weights, err)
	}
	set, err := data.Map(workers.Inherited(2, "data"))
	if err != nil {
		return nil, nil, err
	}
	if set.Rows != header.Rows || set.Checksum != header.Data {
		return nil, nil, fmt.Errorf("the data set is %d rows, checksum %s; the coordinator's is %d, %s", set.Rows, set.Checksum, header.Rows, header.Data)
	}
	if err := fault.Point("worker.joined"); err != nil {
		return nil, nil, err
	}
	w := &worker{rank: rank, block: block, delayed: header.Job.Asked.Mode.Kind == config.Delayed}
	w.join = func(h *control.Header) (device.Device, error) {
		m, err := control.OpenWeights(seg, &h.Job)
		if err != nil {
			return nil, err
		}
		return joinDevice(h, rank, block, m, set)
	}
	w.device, err = w.join(&header)
	return w, &header, err
}

// joinDevice makes the device of a rank, where the configuration says.
func joinDevice(h *control.Header, rank int, block *control.Block, m *control.Weights, set *data.Set) (device.Device, error) {
	setup, err := device.NewSetup(&h.Job, m, set)
	if err != nil {
		return nil, err
	}
	b, err := backend(&h.Job.Asked)
	if err != nil {
		return nil, err
	}
	d, err := b.Join(setup, rank, h.Device)
	if err == nil && h.Job.Asked.Program != "" {
		return joinProgram(h, rank, block, setup, d)
	}
	return d, err
}

// joinProgram gives a worker's device to a program that takes the steps.
func joinProgram(h *control.Header, rank int, block *control.Block, s *device.Setup, inner device.Device) (device.Device, error) {
	c := &h.Job.Asked
	awaits := func(p program.Awaited) { // the coordinator looks whether it hangs
		pid := 0
		if p != nil {
			pid = p.PID()
		}
		block.SetRank(rank, control.RankProgram, uint64(pid))
	}
	p, err := program.Start(context.Background(), program.Command{Line: c.Program, Workers: c.Workers, Seed: c.Seed, Rank: rank, Stderr: os.Stderr, Awaits: awaits})
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return program.Join(s, rank, inner, p)
}

// profile runs f with the profiles that were asked for. One worker is like another:
// worker 0 stands for all.
func profile(h *control.Header, f func() error) error {
	for _, p := range []struct {
		path  string
		start func(io.Writer) error
		stop  func()
	}{{h.CPUProfile, pprof.StartCPUProfile, pprof.StopCPUProfile}, {h.Trace, trace.Start, trace.Stop}} {
		if p.path == "" {
			continue
		}
		file, err := os.Create(p.path)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := p.start(file); err != nil {
			return err
		}
		defer p.stop()
	}
	return f()
}

// live is a worker process's life.
func (w *worker) live(c *config.Config) error {
	cpu.Pin(c, w.rank)
	err := w.life()
	if err == nil {
		err = fault.Point("worker.end")
	}
	if w.device == nil { // it could not be made anew: see rejoin
		return err
	}
	if e := w.device.Close(); err == nil { // of a device that failed the first error counts
		err = e
	}
	return err
}

// life is a worker's: until the run stops or its numbers diverge.
func (w *worker) life() error {
	w.block.SetRank(w.rank, control.RankPID, uint64(os.Getpid()))
	if w.block.Rank(w.rank, control.RankBegan) == 0 {
		w.block.SetRank(w.rank, control.RankBegan, control.Monotonic())
	}
	w.block.SetRank(w.rank, control.RankState, control.StateTraining)
	work := w.free
	if w.block.Plan.Barrier {
		work = w.rounds
	}
	err := work()
	for errors.Is(err, control.ErrScaled) && w.join != nil {
		if err = w.rejoin(); err == nil {
			err = work()
		}
	}
	var nan *device.NotFiniteError
	switch {
	case errors.As(err, &nan):
		w.block.Fail(w.rank, nan.Step, nan.Loss, nan.LR)
		err = nil
	case errors.Is(err, control.ErrStopped), errors.Is(err, errLeft):
		err = nil
	}
	return err
}

// errLeft ends a worker that the run no longer needs.
var errLeft = errors.New("there are fewer workers now")

// rejoin takes over another number of workers: with what follows from it, as the learning rate
// and how often copies are merged, the device is made anew. The worker has no chunk.
func (w *worker) rejoin() error {
	h, err := w.block.Renew()
	switch {
	case err != nil:
		return err
	case w.rank >= h.Job.Asked.Workers:
		return errLeft
	}
	if err := w.device.Close(); err != nil {
		return err
	}
	w.device = nil
	cpu.Pin(&h.Job.Asked, w.rank)
	d, err := w.join(&h)
	if err == nil {
		w.device = d
	}
	return err
}

// free is async mode: chunk after chunk, without waiting for anybody.
func (w *worker) free() error {
	for {
		c, ok := w.block.Next(w.rank)
		if !ok {
			w.drain()
			err := w.settle()
			if err == nil {
				c, err = w.block.Take(w.rank)
			}
			if err != nil {
				return err
			}
		}
		w.chunks = append(w.chunks[:0], c)
		for fair := w.fair(); len(w.chunks) < min(fair, w.device.PreferredChunks()); {
			i := w.block.Find(w.rank, uint64(c.Epoch+1))
			if i < 0 {
				break
			}
			w.chunks = append(w.chunks, w.block.Plan.At(c.Epoch, i))
		}
		if err := w.train(w.chunks); err != nil {
			return err
		}
	}
}

// fair is how many of the chunks that are left this worker may take. However much a device
// wants at once, the others shall find something too, and all be done at about the same time:
// what two calls of Train have in hand is this worker's part. One alone takes them all.
func (w *worker) fair() int {
	left, workers := 1+w.block.Ahead(), w.block.Plan.Workers
	if workers == 1 {
		return left
	}
	return left / (2 * workers)
}

// train gives chunks to the device. A worker's first step is timed.
func (w *worker) train(cs []plan.Chunk) error {
	defer w.block.Spent(w.rank, control.RankTrained, control.Monotonic())
	if err := fault.Point("chunk.taken"); err != nil {
		return err
	}
	if w.block.Rank(w.rank, control.RankFirst) == 0 && cs[0].Count > 0 {
		step, rest := cs[0].Split(1)
		ys, err := device.Complete(w.device, []plan.Chunk{step})
		if err != nil {
			return err
		}
		w.block.SetRank(w.rank, control.RankFirst, control.Monotonic())
		w.begun, cs[0] = ys[0], rest
	}
	w.queued = append(w.queued, cs...)
	return w.report(w.device.Train(cs))
}

// settle waits for what the device still has: before this worker waits for anybody.
func (w *worker) settle() error {
	if len(w.queued) == 0 {
		return nil
	}
	defer w.block.Spent(w.rank, control.RankTrained, control.Monotonic())
	return w.report(w.device.Train(nil))
}

// report writes what chunks came to: the first of those that the device has.
func (w *worker) report(ys []plan.ChunkResult, err error) error {
	if err != nil || len(ys) == 0 {
		return err
	}
	if err := fault.Point("chunk.report"); err != nil {
		return err
	}
	done := w.queued[:len(ys)]
	if w.delayed && w.block.Last(done[len(done)-1]) {
		w.drain() // before the coordinator copies the weights
	}
	w.block.SetRank(w.rank, control.RankDone, control.Monotonic())
	for i, c := range done {
		w.block.Finish(w.rank, c, w.begun.Plus(ys[i]))
		w.begun = plan.ChunkResult{}
	}
	w.queued = w.queued[:copy(w.queued, w.queued[len(ys):])]
	return nil
}

// drainer is a device that keeps updates back, or whose workers wait for each other's steps: delayed and ordered mode.
type drainer interface{ Drain() }

// drain has all updates written that the device keeps back: before this worker waits,
// and when an epoch is complete.
func (w *worker) drain() {
	if d, ok := w.device.(drainer); ok {
		d.Drain()
	}
}
