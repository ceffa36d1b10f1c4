// Package run carries out a run: the coordinator, which trains nothing, and its workers, which
// are processes of the same program. The coordinator consists of layers. Each embeds the one below it and knows nothing of those above:
// coordinator, elastic, crew, view, scorer, saver, epochs, shared, task.
//
//	lend.go       data that are read once for many runs
//	run.go        Run, and the life of a run
//	finish.go     its end
//	rollback.go   back to the last good snapshot after divergence
//	boundary.go   between two epochs
//	prepare.go    coordinator: what is made before any process starts
//	requests.go   what other processes ask of a run
//	inflight.go   the steps in flight as they are
//	scale.go      elastic: another number of workers
//	hang.go       workers that do not run
//	supervise.go  crew: workers that start, die and are started again
//	afterloop.go  what programs do after their loops
//	report.go     view: what people are told
//	evaluate.go   scorer: how good the weights are, and whether the run has diverged
//	curvature.go  the limit of steps in flight, again while the run trains
//	program.go    models that a program computes
//	keep.go       what is saved at the end
//	saver.go      saver: the copy of the weights in host memory and in the run folder
//	nodes.go      what a run does as one node of a job
//	given.go      the first weights from a file
//	epochs.go     epochs: how far the run is, and why its workers wait
//	patience.go   a device that fails, or does not answer
//	shared.go     shared: the memory that processes share, and the processes
//	folder.go     the run folder
//	task.go       task: what is to be trained on what, and where the run is kept
//	remote.go     the socket for requests
//	options.go    Options
//	peers.go      Peers, the other nodes of a job
//
// # The protocol
//
// Once the workers have started, an epoch is open whenever the coordinator waits for the next event, and the run is in one of these states:
//
//	training  workers take chunks
//	saving    they are to wait before their next chunk, so that the run can be saved within the epoch
//	paused    they are to wait, as a user asked
//	changing  they are to wait, since another number of workers needs another form of the weights
//	over      the run ends, and finish saves it
//
// Beside it an evaluation or a save may be under way, which uses the copy of the weights: busy. An event answered, the state is:
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
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/display"
	"hogwild/hogwild/hang"
	"hogwild/hogwild/loops"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
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
		r.report.OfNode(peers.Name())
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
	r.workers, r.hang = workers.New(r.job.Asked.Workers, r.job.Asked.MaxRestarts), hang.New(r.job.Asked.HangTimeout)
	r.shown.rates = make([]display.Speed, r.mem.Ranks)
	r.takeRequests()
	r.shown.watched, r.shown.looked = time.Now(), time.Now()
	if !r.unreported { // else only the report is missing
		if err := r.start(); err != nil {
			r.ended = err
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
	r.ended = r.watch(ctx)
	watched = true
	if ctx.Err() == nil { // the report is written all the same
		defer context.AfterFunc(ctx, func() { r.report.Warn("the run is ending already; another signal ends it at once") })()
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
		r.report.Warn("dashboard " + r.options.Dashboard)
	}
	r.report.Start(r.header()...)
	lines := r.job.Header()
	if text := r.job.MergeText(); text != "" && r.job.Asked.Workers > 1 {
		lines = append([]string{text}, lines...)
	}
	for _, line := range append(lines, r.job.Changes()...) {
		r.report.Say(line)
	}
	r.saved = time.Now()
	if err := r.watchTensors(); err != nil {
		return err
	}
	if r.position.Within {
		r.block.Publish(r.position.Epoch)
	} else {
		r.block.Open(r.position.Epoch)
	}
	if r.back != nil {
		r.wentBack()
	}
	r.shown.started, r.shown.first = control.Monotonic(), r.job.Asked.Workers
	r.opened = r.shown.started
	r.rounds.Open(r.position.Epoch)
	for rank := range r.job.Asked.Workers {
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
	if _, every, _ := r.job.Asked.SavePeriod(); every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		save = t.C
	}
	if r.unreported {
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
		case e := <-r.evaluated:
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
	limit := r.job.Asked.StopAfter
	if limit == 0 || r.wall()-r.before < limit.Seconds() {
		return nil
	}
	r.stopped = fmt.Sprintf("stop after %v", limit)
	return errDone
}

// look answers a call: a worker has nothing to do, waits, or has failed. It returns why the run ends.
func (r *coordinator) look() error {
	if err := r.diverged(); err != nil {
		return err
	}
	if r.pausing && r.quiet() {
		if err := r.savePaused(); err != nil {
			return err
		}
	}
	if r.several() {
		r.rounds.Called()
	} else if r.opened != 0 && r.complete() {
		if end := r.endEpoch(); end != nil {
			return end
		}
	}
	r.notePause()
	return nil
}
