// Package run carries out a run: the coordinator, which trains nothing, and its workers, which
// are processes of the same program.
//
//	run.go        Run, the coordinator's life
//	prepare.go    what is made before any process starts
//	proc.go       worker processes
//	worker.go     a worker's life
//	gate.go       between two epochs
//	mirror.go     the copy of the weights in host memory
//	finish.go     the end, and the report
//	display.go    progress
//	evaluate.go   eval
//	tune.go       short runs that find the learning rate
//	loopcheck.go  the loops in assembly are right on this processor
package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/shm"
)

// coordinator runs one job: it makes the shared memory, starts the workers,
// watches them, and collects. It trains nothing itself.
type coordinator struct {
	cfg         tuning.Job
	train, test *data.Set
	lent        bool          // the sets are the caller's
	owner       device.Owner  // of the device memory
	first       model.Model   // makes the first weights
	params      []model.Param // of the model that the run leaves behind
	trained     []model.Param // of the model as it trains it: they differ by centring
	world       *control.Block
	mem         *control.Weights
	dir         string

	launch   *launcher
	procs    []*process // nil: gone, or between two lives
	restarts []int
	gone     []bool
	respawn  chan int       // ranks whose back-off is over
	aside    sync.WaitGroup // goroutines that look into shared memory: all end before it is unmapped
	started  uint64         // monotonic: the first worker's exec

	loadTime time.Duration
	watched  time.Time // since when the workers are watched

	display *display
	metrics *rundir.MetricsFile
	board   *rundir.EventFile
	rates   []int64 // examples of each worker at the last look
	looked  time.Time
	second  time.Time

	pos       rundir.Position
	opened    uint64 // monotonic: when the epoch was opened, 0 between epochs
	snap      rundir.Snapshot
	mirrored  time.Time       // when the weights were last copied to host memory
	age       time.Duration   // of that copy when the run ended
	evaluated chan evaluation // at most one evaluation is under way
	busy      bool
	holding   bool
	due       bool // a save that found the copy in use, and is left to the next gate
	last      *rundir.EpochResult
	late      float64 // mean loss of the second half of the last epoch

	events  []string
	ended   error // why the run is over; nil while it goes on
	stopped string
}

// errDone ends a run that came to its end.
var errDone = errors.New("done")

// Run trains c.Model on c.Data with c.Workers processes, which are this program
// started again: see IsWorker. It returns when all epochs are done, a target is
// reached, ctx is cancelled or, with c.Signals, on Ctrl-C and SIGTERM; then what was
// trained is saved, and the Result says what it came to. Errors match ErrUsage
// (before any process was started), ErrDiverged, ErrInterrupted or ErrTerminated.
func Run(ctx context.Context, c config.Config) (rundir.Result, error) {
	if err := c.Validate(); err != nil {
		return rundir.Result{}, err
	}
	if err := errors.Join(mayStart(), ready()); err != nil {
		return rundir.Result{}, err
	}
	return newCoordinator(c).run(ctx)
}

// run is Run of a valid configuration.
func (r *coordinator) run(ctx context.Context) (rundir.Result, error) {
	defer r.close()
	if err := r.prepare(); err != nil {
		return rundir.Result{}, err
	}
	signals := make(chan os.Signal, 1)
	if r.cfg.Signals {
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
		defer signal.Stop(signals)
	}
	if err := r.start(); err != nil {
		r.halt()
		return rundir.Result{}, err
	}
	r.watched, r.looked = time.Now(), time.Now()
	r.watch(ctx, signals)
	// From here on a signal does what it does by default: it ends this process at
	// once, and the kernel the workers.
	signal.Stop(signals)
	return r.finish()
}

// start opens the first epoch and starts the workers into it.
func (r *coordinator) start() error {
	if r.cfg.Dashboard != "" { // quiet or not: nobody can guess the port
		r.display.warn("dashboard " + r.cfg.Dashboard)
	}
	r.display.start(r.header()...)
	law := &r.cfg.Tuning
	lines := law.Header(&r.cfg)
	if text := r.cfg.MergeText(); text != "" && r.cfg.Workers > 1 {
		lines = append([]string{text}, lines...)
	}
	for _, line := range append(lines, law.Changes(&r.cfg)...) {
		r.display.event(line)
	}
	if r.pos.Within {
		r.world.Publish(r.pos.Epoch, r.pos.Round)
	} else {
		r.world.Open(r.pos.Epoch)
	}
	r.started = control.Monotonic()
	r.opened = r.started
	for rank := range r.cfg.Workers {
		if err := r.spawn(rank); err != nil {
			return err
		}
	}
	return nil
}

func (r *coordinator) spawn(rank int) error {
	r.world.SetRank(rank, control.RankState, control.StateStarting)
	p, err := r.launch.start(rank, []*os.File{r.world.Seg.File(), r.mem.Seg.File(), r.train.File()})
	if err == nil {
		r.procs[rank] = p
		r.world.SetRank(rank, control.RankPID, uint64(p.pid()))
	}
	return err
}

// watch is the coordinator's life: whatever happens first, until the run is over.
func (r *coordinator) watch(ctx context.Context, signals <-chan os.Signal) {
	bell := r.listen()
	refresh := time.NewTicker(2 * time.Second)
	defer refresh.Stop()
	show := time.NewTicker(200 * time.Millisecond)
	defer show.Stop()
	save := make(<-chan time.Time)
	if _, every, _ := r.cfg.SavePeriod(); every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		save = t.C
	}
	for r.ended == nil {
		select {
		case <-bell:
			r.look()
		case e := <-r.launch.exits:
			r.died(e)
		case rank := <-r.respawn:
			if err := r.spawn(rank); err != nil {
				r.ended = err
			}
		case e := <-r.evaluated:
			r.record(e)
		case <-refresh.C:
			if err := r.refresh(); err != nil {
				r.ended = err
			}
		case <-show.C:
			r.show()
		case <-save:
			r.hold()
		case <-ctx.Done():
			r.ended = fmt.Errorf("%w: %w", config.ErrInterrupted, context.Cause(ctx))
		case s := <-signals:
			r.ended = interruption(s)
		}
	}
}

// interruption is the error of a run that a signal ended.
func interruption(s os.Signal) error {
	if s == syscall.SIGTERM {
		return config.ErrTerminated
	}
	return config.ErrInterrupted
}

// listen turns the workers' bell into a channel, until the run stops, which rings
// for the last time. A ring that nobody has heard yet stands for those after it.
func (r *coordinator) listen() <-chan struct{} {
	bell := make(chan struct{}, 1)
	word := &r.world.Futexes[control.FutexCall]
	r.aside.Go(func() {
		for {
			seen := atomic.LoadUint32(word)
			select {
			case bell <- struct{}{}:
			default:
			}
			if r.world.Stopped() || shm.Wait(word, seen, time.Second) != nil {
				return
			}
		}
	})
	return bell
}

// look answers the bell: a worker has nothing to do, waits, or has failed.
func (r *coordinator) look() {
	if err := r.diverged(); err != nil {
		r.ended = err
		return
	}
	if r.holding && r.quiet() {
		r.saveHeld()
	}
	if r.opened != 0 && r.complete() {
		r.gate()
	}
}

// diverged is the error of the first rank whose loss was not finite.
func (r *coordinator) diverged() error {
	for rank := range r.cfg.Workers {
		if step := r.world.Rank(rank, control.RankFailStep); step != 0 {
			e := &device.NotFiniteError{Step: int64(step), Loss: floatOf(r.world.Rank(rank, control.RankFailLoss)),
				LR: floatOf(r.world.Rank(rank, control.RankFailRate))}
			return fmt.Errorf("%w: worker %d: %w; try a lower --lr (%s)", config.ErrDiverged, rank, e, r.lastGood())
		}
	}
	return nil
}

// lastGood says what is left after the numbers diverged.
func (r *coordinator) lastGood() string {
	if _, err := os.Stat(r.dir + "/" + rundir.SnapshotFile); err != nil {
		return "nothing was saved before"
	}
	return "the last good snapshot is kept in " + r.dir
}

// complete tells whether the open epoch is: every chunk done or lost, and in
// barrier mode the last average taken.
func (r *coordinator) complete() bool {
	if left, _, _, _ := r.world.Progress(); left > 0 {
		return false
	}
	return !r.world.Plan.Barrier || r.roundDone(r.world.Plan.Rounds-1)
}

// died answers the end of a worker: its chunk goes back, and it alone is started
// again, while the others go on.
func (r *coordinator) died(e exit) {
	r.procs[e.rank] = nil
	r.release(e.rank)
	if r.ended = r.diverged(); r.ended != nil {
		return // whoever noticed has stopped all
	}
	who := fmt.Sprintf("worker %d (pid %d) %s", e.rank, e.pid, e.how)
	if r.world.Rank(e.rank, control.RankBegan) == 0 && !e.killed {
		r.ended = fmt.Errorf("%s: it cannot start", who)
		return
	}
	if r.restarts[e.rank] < r.cfg.MaxRestarts {
		r.restarts[e.rank]++
		r.pos.Restarts++
		r.event("%s: restarted, %d of %d", who, r.restarts[e.rank], r.cfg.MaxRestarts)
		r.world.SetRank(e.rank, control.RankState, control.StateRestarting)
		wait := backOff(r.restarts[e.rank], e.lived)
		time.AfterFunc(wait, func() { r.respawn <- e.rank })
		return
	}
	r.gone[e.rank] = true
	r.world.SetRank(e.rank, control.RankState, control.StateGone)
	for _, gone := range r.gone {
		if !gone {
			r.event("%s: not restarted, its limit of %d is reached; the others go on", who, r.cfg.MaxRestarts)
			r.carry(e.rank)
			return
		}
	}
	r.ended = fmt.Errorf("%s, as all others did: no worker is left (raise --max-restarts %d)", who, r.cfg.MaxRestarts)
}

// backOff is the wait before a worker's n-th restart: none at first, and longer and
// longer for one that dies as soon as it lives.
func backOff(n int, lived time.Duration) time.Duration {
	if n == 1 || lived > time.Second {
		return 0
	}
	return min(20*time.Millisecond<<min(n, 10), 2*time.Second)
}

// carry does what a rank that is gone would leave undone: in barrier mode the
// coordinator meets and averages in its place. What only it may train is lost.
func (r *coordinator) carry(rank int) {
	r.world.GiveUp(rank)
	if !r.world.Plan.Barrier {
		return
	}
	d, err := r.owner.Device(rank)
	if err != nil {
		r.ended = err
		return
	}
	standIn := &worker{rank: rank, world: r.world, device: d, idle: true}
	r.aside.Go(func() {
		if err := standIn.rounds(); !errors.Is(err, control.ErrStopped) {
			r.world.Stop() // without this rank the others would wait for ever
		}
	})
}

func (r *coordinator) event(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.events = append(r.events, line)
	r.display.warn(line)
}

// halt stops the workers kindly, and those that do not stop in time not. When it
// returns nobody but the caller looks at the shared memory any more.
func (r *coordinator) halt() {
	defer r.aside.Wait()
	r.world.Stop()
	deadline := time.After(10 * time.Second)
	for slices.ContainsFunc(r.procs, func(p *process) bool { return p != nil }) {
		select {
		case e := <-r.launch.exits:
			r.procs[e.rank] = nil
			r.release(e.rank)
		case <-deadline:
			for _, p := range r.procs {
				if p != nil {
					p.kill()
				}
			}
		}
	}
}

// backend is the one that the configuration asks for.
func backend(c *config.Config) (device.Backend, error) {
	if c.GPU == "" {
		return cpu.Backend{}, nil
	}
	if b := device.Registered("cuda"); b != nil {
		return b, nil
	}
	return nil, config.Usage("gpu %s: this program was built without CUDA; build bin/hogwild-cuda with make cuda", c.GPU)
}
