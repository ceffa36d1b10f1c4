// Package run carries out a run: the coordinator trains nothing, and has workers do it, which are processes of the same
// program. Its parts, an evaluator that uses a finalSaver and a snapshotter, do not know it and work on the state of
// the run, package core; what a run can do besides training are abilities.
//
//	lend.go         data that are read once for many runs
//	run.go          Run, and the life of a run
//	finish.go       the end of a run
//	boundary.go     between two epochs
//	prepare.go      what is made before any process starts, in the order of the next four files
//	task.go         what is trained on what: data, model, settings
//	memory.go       what processes share
//	weights.go      the first weights, or those of a snapshot
//	folder.go       the run folder
//	coordinator.go  coordinator: its parts
//	abilities.go    the list of abilities
//	crew.go         crew: how workers start and end, and what answers the end of one
//	evaluate.go     evaluator: how good the weights are, and whether the run has diverged
//	keep.go         finalSaver: what is saved at the end
//	saver.go        snapshotter: the copy of the weights in host memory and in the run folder
//
// # The protocol
//
// Once the workers have started, an epoch is open whenever the coordinator waits for the next event, and the run is in
// one of these states:
//
//	training  workers take chunks
//	saving    they are to wait before their next chunk, so that the run can be saved within the epoch
//	paused    they are to wait, as a user asked
//	changing  they are to wait, since another number of workers needs another form of the weights
//	over      the run ends, and finish saves it
//
// Meanwhile an evaluation or a save may be under way, which uses the copy of the weights: busy. An event answered, the
// state is:
//
//	state     busy  event           becomes   busy  because
//	training  no    save due        saving    no    the copy is free
//	training  yes   save due        training  yes   the copy is in use: the run is saved when the epoch ends
//	training  no    epoch complete  training  yes   the copy is evaluated while the next epoch trains
//	training  yes   epoch complete  training  yes   it waits for the evaluation of the last epoch first
//	training  yes   evaluated       training  no    its result is told
//	training  no    target reached  over      no    with a target it waits for the evaluation of each epoch
//	training  yes   last complete   over      no    it waits for that evaluation too
//	training  no    pause           paused    no
//	training  no    scale           training  no    workers take the new number over as they go
//	training  yes   scale           training  yes   the evaluation reads the settings: the change is still to come
//	training  no    scale form      changing  no    the weights are to have another form
//	training  no    worker died     training  no    its chunk goes back, and it is started again
//	training  no    last one gone   over      no
//	training  no    not finite      over      no    a loss: rollback may carry on
//	training  no    time over       over      no
//	saving    no    one waits       saving    no    another one still trains
//	saving    no    all wait        training  yes   the copy is made and saved, and they go on
//	saving    no    epoch complete  saving    yes   the copy is in use now
//	saving    yes   all wait        training  yes   the run is saved when the epoch ends
//	saving    no    pause           paused    no
//	saving    no    worker died     saving    no    whoever takes its place waits too
//	paused    no    all wait        paused    no    the time from now on is none of training
//	paused    no    save due        paused    no    the copy is made when all wait
//	paused    no    scale           paused    no
//	paused    no    continue        training  no
//	changing  no    one waits       changing  no
//	changing  no    all wait        training  no    the weights take their new form
//	changing  no    epoch complete  training  no    it waits for the evaluation, and the next epoch has the new number
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
	"hogwild/shm"
)

// Options are the settings of one call.
type Options = core.Options

// Run trains c.Model on c.Data with c.Workers processes, which are this program
// started again: see workers.IsWorker. It returns when all epochs are done, a target is
// reached, ctx is cancelled or, with o.Signals, on Ctrl-C, SIGTERM and SIGHUP; then what was
// trained is saved, and the Result says what it came to. Errors match ErrUsage
// (before any process was started), ErrDiverged, ErrInterrupted, ErrTerminated or ErrHangup.
func Run(ctx context.Context, c config.Config, o Options) (rundir.Result, error) {
	r := newCoordinator(c, o)
	defer r.Peers.Abandon()
	anyNumber := c.Workers == 0 && !r.Several()
	c, err := r.Peers.Adopt(c) // first of all: the other nodes wait for it
	if err == nil {
		c, err = o.Settle(c)
	}
	if err = r.Peers.Agree(o.Given, cmp.Or(err, workers.CheckStart(c.Workers), workers.Ready())); err != nil {
		return rundir.Result{}, err
	}
	if o.Signals {
		defer config.OutlivePipes()()
	}
	r.Job.Asked, r.anyNumber = c, anyNumber
	if !r.Peers.First() {
		r.Report.OfNode(r.Peers.Name())
	}
	return r.guarded(ctx)
}

// guarded calls run. The data may be mapped from a file, which becomes shorter while this process looks at it.
func (r *coordinator) guarded(ctx context.Context) (res rundir.Result, err error) {
	fault := data.Guard(func() { res, err = r.run(ctx) }, func() error {
		if r.Task.Train == nil {
			return nil
		}
		return r.Task.Train.ReadError()
	})
	return res, errors.Join(err, fault)
}

// run does Run with a resolved configuration.
func (r *coordinator) run(ctx context.Context) (rundir.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.End.Interrupt = cancel
	if r.Options.Signals {
		// OnEpoch may take its time, so the next signal ends this process.
		if stop := config.OnSignal(r.signalled); !r.Options.Exits {
			defer stop()
		}
	}
	for ; ; r = r.next {
		result, err := r.attempt(ctx)
		if r.next == nil {
			return result, err
		}
	}
}

// signalled ends the run, so that it is saved; and a program at once while it reads data, which may take long: there is
// nothing to be saved yet, and nothing made but the lock of a folder that was there.
func (r *coordinator) signalled(s os.Signal) {
	r.early.Lock()
	defer r.early.Unlock()
	if r.Options.Exits && !r.making && !signal.Ignored(s) {
		r.Folder.Close()
		_ = unix.Kill(os.Getpid(), s.(unix.Signal))
		select {} // another thread may take it, in a moment
	}
	r.End.Interrupt(config.SignalError(s))
}

// attempt carries out a coordinator's life. Where an ability has the run begin again, next carries on.
func (r *coordinator) attempt(ctx context.Context) (rundir.Result, error) {
	defer r.close()
	if err := r.prepare(); err != nil {
		if r.Rollback != nil {
			err = fmt.Errorf("%w; no rollback: %v", r.Rollback.Cause, err)
		}
		return rundir.Result{}, err
	}
	r.Mem.Interrupted, r.End.Cause = ctx.Done(), func() error { return config.CauseOf(ctx) }
	r.Mem.Workers = workers.New(r.Job.Asked.Workers, r.Job.Asked.MaxRestarts)
	if !r.End.AlreadyTrained { // else only the report is missing
		if err := r.start(); err != nil {
			r.End.Err = err
			r.tellPeers() // they meet already
			r.crew.halt()
			r.Peers.Leave(func() {})
			return rundir.Result{}, err
		}
	}
	watched := false
	defer func() {
		if !watched { // OnEpoch panicked: no goroutine may use the memory that is about to be unmapped
			r.Rounds.Break()
			r.crew.halt()
		}
	}()
	r.End.Err = r.watch(ctx)
	watched = true
	if ctx.Err() == nil { // the report is written all the same
		defer context.AfterFunc(ctx,
			func() { r.Report.Warn("the run is ending already; another signal ends it at once") })()
	}
	return r.finish()
}

// start opens the first epoch and starts the workers into it.
func (r *coordinator) start() error {
	r.snapshots.saved = time.Now()
	if r.Position.Within {
		r.Mem.Block.Publish(r.Position.Epoch)
	} else {
		r.Mem.Block.Open(r.Position.Epoch)
	}
	if err := r.Notify(&core.Starts{}); err != nil {
		return err
	}
	r.Opened = control.Monotonic()
	r.Rounds.Open(r.Position.Epoch)
	for rank := range r.Job.Asked.Workers {
		if err := r.crew.add(rank); err != nil {
			return err
		}
	}
	return nil
}

// watch handles whatever happens first, until the run is over: it is most of the coordinator's life. It returns why it
// is, and nothing else ends it: what answers an event returns that.
func (r *coordinator) watch(ctx context.Context) (end error) {
	calls := r.listen()
	refresh := time.NewTicker(2 * time.Second)
	defer refresh.Stop()
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	save := make(<-chan time.Time)
	if _, every, _ := r.Job.Asked.SavePeriod(); every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		save = t.C
	}
	if r.End.AlreadyTrained {
		return core.ErrDone
	}
	for end == nil {
		select {
		case <-calls:
			end = r.called()
		case err := <-r.Rounds.Closed():
			end = r.closed(err)
		case e := <-r.Mem.Workers.Events():
			if dead, start := r.Mem.Workers.Take(e); dead != nil {
				end = r.crew.Died(dead)
			} else if start {
				end = r.crew.add(e.Rank)
			}
		case call := <-r.Inbox:
			end = call()
		case e := <-r.snapshots.evaluated:
			end = r.evaluator.record(e)
		case <-refresh.C:
			end = r.snapshots.refreshHost()
		case <-tick.C:
			end = r.tick()
		case <-save:
			r.snapshots.saveSoon()
		case <-ctx.Done():
			end = r.End.Cause()
		}
		if end == nil {
			end = r.ApplyChange()
		}
	}
	return end
}

// tick looks at what needs no event to change: the time, and all that abilities look at.
func (r *coordinator) tick() error {
	// Pauses and boundaries between epochs count.
	if limit := r.Job.Asked.StopAfter; limit > 0 && r.Wall()-r.EarlierWall >= limit.Seconds() {
		return r.Stop(fmt.Sprintf("stop after %v", limit))
	}
	return r.Notify(&core.Tick{})
}

// called answers a call: a worker has nothing to do, waits, or has failed. It returns why the run ends.
func (r *coordinator) called() error {
	if err := r.NotFinite(); err != nil {
		return err
	}
	if r.Paused(core.ToSave) && r.Mem.Quiet() {
		if err := r.evaluator.savePaused(); err != nil {
			return err
		}
	}
	if r.Rounds.Called() && r.Opened != 0 && r.Mem.Complete() {
		if end := r.endEpoch(); end != nil {
			return end
		}
	}
	r.NotePause()
	return nil
}

// listen turns the workers' calls into a channel, until the run stops, which calls
// for the last time. A call that is not heard yet stands for the ones after it.
func (r *coordinator) listen() <-chan struct{} {
	calls := make(chan struct{}, 1)
	word := &r.Mem.Block.Futexes[control.FutexCall]
	r.Mem.Background.Go(func() {
		for {
			seen := atomic.LoadUint32(word)
			select {
			case calls <- struct{}{}:
			default:
			}
			if r.Mem.Block.Stopped() || shm.Wait(word, seen, time.Second) != nil {
				return
			}
		}
	})
	return calls
}
