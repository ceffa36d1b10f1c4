package run

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/plan"
	"hogwild/internal/fault"
	"hogwild/shm"
)

// WorkerMain is a worker process's main. It returns the exit status.
func WorkerMain() int {
	if first := os.Getenv(checkVariable); first != "" {
		return checkLoops(first)
	}
	// Ctrl-C on a terminal, and its end, reach the whole process group; the coordinator decides.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	w, header, err := joinRun()
	if errors.Is(err, errLeft) {
		return 0
	}
	if err == nil && w.rank == 0 {
		err = profile(header, w.live)
	} else if err == nil {
		err = w.live()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "hogwild worker %s: %v\n", os.Getenv(rankVariable), err)
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
	rank, err := strconv.Atoi(os.Getenv(rankVariable))
	if err != nil {
		return nil, nil, fmt.Errorf("%s=%q: workers are started by hogwild train", rankVariable, os.Getenv(rankVariable))
	}
	if err := fault.Point("worker.join"); err != nil {
		return nil, nil, err
	}
	seg, err := mapInherited(controlFD, "control", true)
	if err != nil {
		return nil, nil, err
	}
	block, header, err := control.Open(seg)
	if err != nil {
		return nil, nil, err
	}
	if rank < 0 || rank >= header.Job.Workers {
		return nil, nil, errLeft
	}
	runtime.LockOSThread()
	block.SetRank(rank, control.RankThread, uint64(unix.Gettid()))
	if seg, err = mapInherited(weightsFD, "weights", true); err != nil {
		return nil, nil, err
	}
	if sum, err := seg.Checksum(); err != nil || sum != header.Weights {
		return nil, nil, fmt.Errorf("the weights' layout has checksum %016x, the coordinator's %016x (%v)", sum, header.Weights, err)
	}
	set, err := data.Map(os.NewFile(dataFD, "data"))
	if err != nil {
		return nil, nil, err
	}
	if set.Rows != header.Rows || set.Checksum != header.Data {
		return nil, nil, fmt.Errorf("the data set is %d rows, checksum %s; the coordinator's is %d, %s", set.Rows, set.Checksum, header.Rows, header.Data)
	}
	if err := fault.Point("worker.joined"); err != nil {
		return nil, nil, err
	}
	w := &worker{rank: rank, block: block, delayed: header.Job.Mode.Kind == config.Delayed}
	w.join = func(h *control.Header) (device.Device, error) {
		m, err := control.OpenWeights(seg, &h.Job)
		if err != nil {
			return nil, err
		}
		return joinDevice(h, rank, m, set)
	}
	w.device, err = w.join(&header)
	return w, &header, err
}

// joinDevice makes the device of a rank, where the configuration says.
func joinDevice(h *control.Header, rank int, m *control.Weights, set *data.Set) (device.Device, error) {
	setup, err := device.NewSetup(&h.Job, m, set)
	if err != nil {
		return nil, err
	}
	b, err := backend(&h.Job.Config)
	if err != nil {
		return nil, err
	}
	return b.Join(setup, rank, h.Device)
}

// profile runs f with the profiles that were asked for. One worker is like another:
// worker 0 stands for all.
func profile(h *control.Header, f func() error) error {
	if h.CPUProfile != "" {
		file, err := os.Create(h.CPUProfile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if h.Trace != "" {
		file, err := os.Create(h.Trace)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := trace.Start(file); err != nil {
			return err
		}
		defer trace.Stop()
	}
	return f()
}

func mapInherited(fd uintptr, name string, write bool) (*shm.Segment, error) {
	f := os.NewFile(fd, name)
	if f == nil {
		return nil, fmt.Errorf("descriptor %d (%s) is not open: workers are started by hogwild train", fd, name)
	}
	return shm.Map(f, write)
}

// live is a worker process's life.
func (w *worker) live() error {
	cpu.Pin(w.rank, w.block.Plan.Workers)
	err := w.life()
	if err == nil {
		err = fault.Point("worker.end")
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
	case w.rank >= h.Job.Workers:
		return errLeft
	}
	if err := w.device.Close(); err != nil {
		return err
	}
	cpu.Pin(w.rank, h.Job.Workers)
	w.device, err = w.join(&h)
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

// report tells what chunks came to: the first of those that the device has.
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

// rounds is barrier mode: all ranks in step, epoch after epoch.
func (w *worker) rounds() error {
	for done := uint64(0); ; {
		tick := atomic.LoadUint32(&w.block.Futexes[control.FutexTick])
		if err := w.block.MayRun(w.rank); err != nil {
			return err
		}
		epoch := w.block.Get(control.WordEpoch)
		if epoch == done || epoch < w.block.Start().Epoch {
			w.block.Await(w.rank, tick)
			continue
		}
		w.block.Cut(epoch)
		for r := w.block.First(epoch); r < w.block.Plan.Rounds; r++ {
			if err := w.round(epoch, r); err != nil {
				return err
			}
			if w.block.Held(epoch, r) {
				break
			}
		}
		done = epoch
	}
}

// round is one round of barrier mode. A worker that takes the place of a dead one
// comes through here too: what that one has done already is skipped. Copying the
// replica and averaging weights can be done twice without harm. Only a death within
// the average can leave a trace: a common step of gradients, or an average of
// optimizer states, is then taken twice on a part of one slice.
func (w *worker) round(epoch uint64, round int) error {
	trained, averaged := w.block.Tickets(epoch, round)
	if w.block.Barrier.Arrived(w.rank) < trained && !w.idle {
		if err := w.trainRound(epoch, round); err != nil {
			return err
		}
	}
	if err := w.meet(trained); err != nil {
		return err
	}
	if w.block.Barrier.Arrived(w.rank) < averaged {
		err := fault.Point("round.average")
		if err == nil {
			err = w.device.Average(w.block.Round(epoch, round))
		}
		if err == nil {
			err = fault.Point("round.averaged")
		}
		if err != nil {
			return err
		}
		if w.rank == 0 {
			w.block.Decide(epoch, round)
		}
	}
	return w.meet(averaged)
}

// trainRound trains this rank's chunks of a round.
func (w *worker) trainRound(epoch uint64, round int) error {
	from, to := w.block.Plan.Round(w.rank, round)
	if state, _ := w.block.Chunk(from); state != control.ChunkDone {
		if err := w.device.Pull(); err != nil {
			return err
		}
	}
	for i := from; i < to; {
		if !w.block.Running() {
			err := w.settle()
			if err == nil {
				err = w.block.MayRun(w.rank)
			}
			if err != nil {
				return err
			}
		}
		w.chunks = w.chunks[:0]
		for ; i < to && len(w.chunks) < w.device.PreferredChunks(); i++ {
			if w.block.Claim(w.rank, epoch, i) {
				w.chunks = append(w.chunks, w.block.Plan.At(int(epoch-1), i))
			}
		}
		if len(w.chunks) == 0 {
			continue
		}
		if err := w.train(w.chunks); err != nil {
			return err
		}
	}
	return w.settle()
}

// meet waits for all ranks; stopping ends the wait.
func (w *worker) meet(ticket uint64) error {
	if err := fault.Point("barrier.meet"); err != nil {
		return err
	}
	defer w.block.Spent(w.rank, control.RankWaited, control.Monotonic())
	w.block.SetRank(w.rank, control.RankState, control.StateWaiting)
	err := w.block.Barrier.Meet(w.rank, ticket, func(int) error {
		if w.block.Stopped() {
			return control.ErrStopped
		}
		return nil
	})
	w.block.SetRank(w.rank, control.RankState, control.StateTraining)
	if err == nil {
		err = fault.Point("barrier.met")
	}
	return err
}
