// Package run carries out a run: the coordinator, which trains nothing, and its workers, which
// are processes of the same program.
//
//	run.go          Run, and the coordinator's life
//	lend.go         data that are read once for many runs
//	prepare.go      what is made before any process starts
//	given.go        the first weights from a file
//	folder.go       the run folder
//	epochs.go       between two epochs
//	curvature.go    the limit of steps in flight, again while the run trains
//	evaluate.go     how good the weights are, and whether the run has diverged
//	finish.go       the end of a run
//	keep.go         what is saved at the end
//	rollback.go     back to the last good snapshot after divergence
//	saver.go        the copy of the weights, and what is saved within an epoch
//	nodes.go        what a run does as one node of a job
//	remote.go       what other processes ask of a run
//	inflight.go     the steps in flight as they are
//	scale.go        another number of workers
//	supervise.go    workers that start, die and are started again
//	hang.go         workers that do not run
//	inside.go       a worker in the coordinator's process
//	report.go       what people are told
//	patience.go     a device that fails, or does not answer
//	afterloop.go    what programs do after their loops
//	program.go      models that a program computes
//	coordinator.go  the parts of the coordinator
//	display.go      progress
//	rounds.go       barrier mode
//	worker.go       a worker's life
//	loopcheck.go    the loops in assembly are right on this processor
//	options.go      Options
//	peers.go        Peers, the other nodes of a job
//	backend.go      where the weights are
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/hang"
	"hogwild/hogwild/loops"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
	"hogwild/shm"
)

// Run trains c.Model on c.Data with c.Workers processes, which are this program
// started again: see workers.IsWorker. It returns when all epochs are done, a target is
// reached, ctx is cancelled or, with o.Signals, on Ctrl-C, SIGTERM and SIGHUP; then what was
// trained is saved, and the Result says what it came to. Errors match ErrUsage
// (before any process was started), ErrDiverged, ErrInterrupted, ErrTerminated or ErrHangup.
func Run(ctx context.Context, c config.Config, o Options) (rundir.Result, error) {
	peers := o.Peers
	if peers == nil {
		peers = alone{}
	}
	defer peers.Desert()
	anyNumber := c.Workers == 0 && peers.Name() == ""
	c, err := peers.Adopt(c) // first of all: the other nodes wait for it
	if err == nil {
		c, err = o.Settle(c)
	}
	if err = peers.Agree(o.Given, cmp.Or(err, workers.CheckStart(), loops.Ready())); err != nil {
		return rundir.Result{}, err
	}
	if o.Signals {
		defer config.OutlivePipes()()
	}
	r := newCoordinator(c, o)
	r.peers, r.anyNumber = peers, anyNumber
	if !peers.First() {
		r.report.display.quiet, r.report.display.from = true, peers.Name()+": "
	}
	return r.guarded(ctx)
}

// guarded is run. The data may be mapped from a file, which becomes shorter while this process looks at it.
func (r *coordinator) guarded(ctx context.Context) (res rundir.Result, err error) {
	fault := data.Guard(func() { res, err = r.run(ctx) }, func() error {
		if r.train == nil {
			return nil
		}
		return r.train.Unread()
	})
	return res, errors.Join(err, fault)
}

// run is Run of a resolved configuration.
func (r *coordinator) run(ctx context.Context) (rundir.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.cancel = cancel
	unheed := func() {}
	defer func() { unheed() }()
	r.heed = func() {
		stop := config.OnSignal(func(s os.Signal) { cancel(config.SignalError(s)) }) // OnEpoch may take its time: the next one ends this process
		if !r.options.Exits {
			unheed = stop
		}
	}
	for {
		result, err := r.attempt(ctx)
		if r.next == nil {
			return result, err
		}
		r = r.next
	}
}

// attempt is a coordinator's life. If the numbers diverge and may be rolled back, next carries on.
func (r *coordinator) attempt(ctx context.Context) (rundir.Result, error) {
	defer r.close()
	if err := r.prepare(); err != nil {
		if r.back != nil {
			err = fmt.Errorf("%w; no rollback: %v", r.back.why, err)
		}
		return rundir.Result{}, err
	}
	r.interrupted, r.cause = ctx.Done(), func() error { return config.CauseOf(ctx) }
	if r.options.Signals && r.back == nil { // else it does already
		r.heed()
	}
	r.workers, r.hang = workers.New(r.job.Workers, r.job.MaxRestarts), hang.New(r.job.HangTimeout)
	r.report.rates = make([]speed, r.mem.Ranks)
	r.takeRequests()
	r.report.watched, r.report.looked = time.Now(), time.Now()
	if !r.epochs.trained { // else only the report is missing
		if err := r.start(); err != nil {
			r.epochs.ended = err
			r.tellPeers() // they meet already
			r.halt()
			r.peers.Leave(func() {})
			return rundir.Result{}, err
		}
	}
	watched := false
	defer func() {
		if !watched { // OnEpoch panicked: nobody may use the memory that is about to be unmapped
			r.rounds.Break()
			r.halt()
		}
	}()
	r.epochs.ended = r.watch(ctx)
	watched = true
	if ctx.Err() == nil { // the report is written all the same
		defer context.AfterFunc(ctx, func() { r.report.display.warn("the run is ending already; another signal ends it at once") })()
	}
	result, err := r.finish()
	if r.next != nil {
		r.next.cancel = r.cancel
	}
	return result, err
}

// start opens the first epoch and starts the workers into it.
func (r *coordinator) start() error {
	if r.options.Dashboard != "" { // quiet or not: nobody can guess the port
		r.report.display.warn("dashboard " + r.options.Dashboard)
	}
	r.report.display.start(r.header()...)
	lines := r.job.Header()
	if text := r.job.MergeText(); text != "" && r.job.Workers > 1 {
		lines = append([]string{text}, lines...)
	}
	for _, line := range append(lines, r.job.Changes()...) {
		r.report.display.event(line)
	}
	r.saver.saved = time.Now()
	if err := r.watchTensors(); err != nil {
		return err
	}
	if r.epochs.position.Within {
		r.block.Publish(r.epochs.position.Epoch)
	} else {
		r.block.Open(r.epochs.position.Epoch)
	}
	if r.back != nil {
		r.wentBack()
	}
	r.report.started, r.report.first = control.Monotonic(), r.job.Workers
	r.epochs.opened = r.report.started
	r.rounds.Open(r.epochs.position.Epoch)
	for rank := range r.job.Workers {
		if err := r.spawn(rank); err != nil {
			return err
		}
	}
	return nil
}

// watch is the coordinator's life: whatever happens first, until the run is over. It returns why it is, and nothing else ends it:
// what answers an event returns that.
func (r *coordinator) watch(ctx context.Context) (end error) {
	defer close(r.remote.deaf)
	calls := r.listen()
	refresh := time.NewTicker(2 * time.Second)
	defer refresh.Stop()
	show := time.NewTicker(200 * time.Millisecond)
	defer show.Stop()
	look := time.NewTicker(r.hang.Every())
	defer look.Stop()
	save := make(<-chan time.Time)
	if _, every, _ := r.job.SavePeriod(); every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		save = t.C
	}
	if r.epochs.trained {
		return errDone
	}
	for end == nil {
		select {
		case <-calls:
			end = r.look()
		case err := <-r.rounds.Closed():
			end = r.closed(err)
		case e := <-r.workers.Events():
			if dead, start := r.workers.Take(e); dead != nil {
				end = r.died(dead)
			} else if start {
				end = r.add(e.Rank)
			}
		case o := <-r.remote.orders:
			answer := r.obey(o.Request)
			end = r.mayRescale() // before the answer, if it can be
			o.answer <- answer
		case e := <-r.saver.evaluated:
			end = r.record(e)
		case <-refresh.C:
			end = r.refresh()
		case <-show.C:
			r.recount(manySamples)
			r.show()
			end = r.stopInTime()
		case <-look.C:
			end = r.lookForHung()
		case <-save:
			r.pause()
		case <-ctx.Done():
			end = r.cause()
		}
		if end == nil {
			end = r.mayRescale()
		}
	}
	return end
}

// stopInTime ends the run once its time is over, pauses and boundaries between epochs counted in.
func (r *coordinator) stopInTime() error {
	limit := r.job.StopAfter
	if limit == 0 || r.wall()-r.epochs.before < limit.Seconds() {
		return nil
	}
	r.epochs.stopped = fmt.Sprintf("stop after %v", limit)
	return errDone
}

// listen turns the workers' calls into a channel, until the run stops, which calls
// for the last time. A call that nobody has heard yet stands for those after it.
func (r *coordinator) listen() <-chan struct{} {
	calls := make(chan struct{}, 1)
	word := &r.block.Futexes[control.FutexCall]
	r.aside.Go(func() {
		for {
			seen := atomic.LoadUint32(word)
			select {
			case calls <- struct{}{}:
			default:
			}
			if r.block.Stopped() || shm.Wait(word, seen, time.Second) != nil {
				return
			}
		}
	})
	return calls
}

// look answers a call: a worker has nothing to do, waits, or has failed. It returns why the run ends.
func (r *coordinator) look() error {
	if err := r.diverged(); err != nil {
		return err
	}
	if r.saver.paused && r.quiet() {
		if err := r.savePaused(); err != nil {
			return err
		}
	}
	if r.several() {
		r.rounds.Called()
	} else if r.epochs.opened != 0 && r.complete() {
		if end := r.endEpoch(); end != nil {
			return end
		}
	}
	r.notePause()
	return nil
}

// diverged is the error of the first rank whose loss was not finite.
func (r *coordinator) diverged() error {
	for rank := range r.workers.Most() {
		if step := r.block.Rank(rank, control.RankFailStep); step != 0 {
			e := &device.NotFiniteError{Step: int64(step), Loss: floatOf(r.block.Rank(rank, control.RankFailLoss)),
				LR: floatOf(r.block.Rank(rank, control.RankFailRate))}
			return divergence{fmt.Errorf("worker %d: %w", rank, e), r.lowerRate()}
		}
	}
	return nil
}

// complete tells whether the open epoch is: every chunk done or lost, and in
// barrier mode the last average taken.
func (r *task) complete() bool {
	if left, _, _, _ := r.block.Progress(); left > 0 {
		return false
	}
	return !r.block.Plan.Barrier || r.roundDone(r.block.Plan.Rounds-1)
}

// wrote takes in the outcome of a line of metrics or an event. A run does not end because one fails.
func (r *reporter) wrote(err error) {
	was := r.behind
	r.behind = err != nil
	switch {
	case err != nil && !was:
		r.event("%v; training continues, and the lines of epochs are written later", err)
	case err == nil && was:
		r.event("metrics are written again")
	}
}

func (r *reporter) event(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.note(line)
	r.display.warn(line)
}

// note keeps a line for the report.
func (r *reporter) note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, line)
}
