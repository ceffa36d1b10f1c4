package run

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/hang"
	"hogwild/hogwild/loops"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
)

// crew is the workers, as they start, die and are started again.
type crew struct {
	*view
	hang     *hang.Watch   // those that do not run
	after    []loopFailure // see afterloop.go
	replaced *time.Time    // when plain Go has replaced loops, after a worker had died in one; nil: they were not checked
}

func (r *crew) spawn(rank int) error {
	r.block.SetRank(rank, control.RankState, control.StateStarting)
	r.block.SetRank(rank, control.RankThread, 0)
	r.block.SetRank(rank, control.RankProgram, 0)
	if r.startsInside() {
		return r.spawnInside(rank)
	}
	p, err := r.workers.Start(rank, []*os.File{r.block.Seg.File(), r.mem.Seg.File(), r.train.File()}, r.programLog(rank))
	if err == nil {
		r.block.SetRank(rank, control.RankPID, uint64(p.PID()))
	}
	return err
}

// spawnInside starts a worker in this process. An error of its ends the run: a GPU that has
// failed is lost for the whole process, so that another worker here would fail too.
func (r *crew) spawnInside(rank int) error {
	d, err := askFor(r.shared, r.patient(), func() (device.Device, error) { return r.owner.Device(rank) })
	if err != nil {
		return onDevice(err)
	}
	w := worker.New(rank, r.block, d)
	profiles := &control.Header{CPUProfile: r.options.CPUProfile, Trace: r.options.Trace}
	r.aside.Go(func() {
		if err := worker.Profile(profiles, w.Life); err != nil {
			r.workers.Failed(rank, fmt.Errorf("worker %d: %w", rank, err))
		}
	})
	return nil
}

// add starts a worker of a run that is under way. If that fails, perhaps for a moment (too many open files or
// processes), it is tried again, as if the worker had died. It returns why the run ends.
func (r *crew) add(rank int) error {
	err := r.spawn(rank)
	if err == nil || r.startsInside() {
		return err
	}
	return r.replace(&workers.Exit{Rank: rank}, err.Error())
}

// died answers the end of a worker: its chunk goes back, and it alone is started
// again, while the others go on. It returns why the run ends.
func (r *crew) died(e *workers.Exit) error {
	_ = fault.Point("worker.died")
	r.release(e.Rank)
	if err := r.fatal(e); err != nil {
		return err
	}
	if e.Crash.AfterLoop {
		r.failedAfterLoop(fmt.Sprintf("worker %d", e.Rank), e.Crash.First)
	}
	if e.Left {
		if e.Rank < r.job.Asked.Workers { // there are more again: another one takes its place
			return r.add(e.Rank)
		}
		return nil
	}
	who := e.String()
	if path := e.Keep(r.dir); path != "" {
		who += " (full output: " + path + ")"
	}
	switch {
	case r.block.Rank(e.Rank, control.RankBegan) == 0 && !e.Crash.Signal && r.mayStartInside():
		r.report.Event("%s: it continues in the coordinator's process", who)
		return r.spawnInside(e.Rank)
	case r.block.Rank(e.Rank, control.RankBegan) == 0 && !e.Crash.Signal:
		return fmt.Errorf("%s: it cannot start", who)
	case e.Crash.InLoop():
		replaced, end := r.replacesLoops(e)
		if end != nil {
			return end
		}
		if replaced {
			return r.replace(e, who)
		}
	}
	if r.workers.Everywhere(e, r.block.Get(control.WordEpoch)) {
		return fmt.Errorf("every worker fails at the same place, %s: %s; the run up to then is saved in %s", e.Crash.Place, who, r.dir)
	}
	return r.replace(e, who)
}

// fatal is the error of an end that ends the run: of numbers that diverged, where whoever noticed has stopped all; of data
// that can no longer be read, as another worker would find; of the device.
func (r *crew) fatal(e *workers.Exit) error {
	if err := r.diverged(); err != nil {
		return err
	}
	err := r.train.Changed()
	if strings.Contains(e.How, "SIGBUS") { // a run maps them from a file
		err = r.train.Unread()
	}
	if err != nil {
		return fmt.Errorf("%w (%s)", err, r.lastGood())
	}
	return onDevice(e.Err)
}

// replacesLoops has the loops in assembly checked, once in a run, after a worker died in one of them, and plain Go replace
// those that are wrong. It returns whether they are replaced since this worker began, and why the run ends: an evaluation that ran them too
// comes to its end first.
func (r *crew) replacesLoops(e *workers.Exit) (replaced bool, end error) {
	if r.replaced == nil {
		r.replaced = &time.Time{}
		faulty, err := loops.Check()
		if err != nil {
			r.report.Event("the loops in assembly could not be checked: %v", err)
		}
		for _, note := range loops.Notes(faulty) {
			end = r.awaitEvaluation()
			loops.Replace(faulty)
			*r.replaced = time.Now()
			r.report.Event("%s", note)
		}
	}
	return time.Now().Add(-e.Lived).Before(*r.replaced), end
}

// replace starts a worker again that has died, within the limit. When no worker is left, it returns why the run ends.
func (r *crew) replace(e *workers.Exit, who string) error {
	if n := r.workers.Restart(e, r.block.Rank(e.Rank, control.RankExamples)); n > 0 {
		r.position.Restarts++
		r.report.Event("%s: restarted, %d of %d", who, n, r.job.Asked.MaxRestarts)
		r.block.SetRank(e.Rank, control.RankState, control.StateRestarting)
		return nil
	}
	r.block.SetRank(e.Rank, control.RankState, control.StateGone)
	switch {
	case !r.workers.AllGone():
		r.report.Event("%s: not restarted, it has had its %d restarts; the other workers continue", who, r.job.Asked.MaxRestarts)
		return r.carry(e.Rank)
	case r.block.Rank(e.Rank, control.RankBegan) == 0:
		return fmt.Errorf("%s: no worker is left; this one has died in each of its %d starts", who, r.job.Asked.MaxRestarts+1)
	}
	return fmt.Errorf("%s: no worker is left (raise --max-restarts %d)", who, r.job.Asked.MaxRestarts)
}

// carry does what a rank that is gone would leave undone: in barrier mode the
// coordinator meets and averages in its place. What only it may train is lost.
func (r *crew) carry(rank int) error {
	r.block.GiveUp(rank)
	if !r.block.Plan.Barrier {
		return nil
	}
	d, err := askFor(r.shared, r.patient(), func() (device.Device, error) { return r.owner.Device(rank) })
	if err != nil {
		return onDevice(err)
	}
	w := worker.New(rank, r.block, d)
	r.aside.Go(func() {
		if w.StandIn() != nil {
			r.block.Stop() // without this rank the others would wait for ever
		}
	})
	return nil
}

// halt stops the workers kindly, and those that do not stop in time not. When it
// returns nobody but the caller looks at the shared memory any more, if the GPU is not silent.
func (r *crew) halt() {
	_ = fault.Point("workers.halt")
	r.block.Stop()
	if r.job.Asked.Program != "" {
		r.killStarting()
	}
	if r.job.Asked.Program != "" && (r.ended == nil || errors.Is(r.ended, errDone)) {
		r.awaitPrograms()
	}
	ended := func(e *workers.Exit) { r.release(e.Rank) }
	if limit := r.patience / hurry; !r.workers.AwaitEnd(limit, ended) {
		r.kill(r.workers.Running()...)
		if !r.workers.AwaitEnd(limit, ended) { // a killed process goes on in a call of the driver's until that returns
			holder := "GPU driver"
			if r.job.Asked.GPU == "" {
				holder = "kernel"
			}
			for _, p := range r.workers.Running() {
				r.report.Event("%v was killed but does not exit: the %s still holds it", p, holder)
			}
		}
	}
	if err := r.ask(r.patience, func() error { r.aside.Wait(); return nil }); err != nil {
		r.failed(onDevice(err))
	}
}

// killStarting ends workers that have not begun: a program takes seconds to start.
func (r *crew) killStarting() {
	for _, p := range r.workers.Running() {
		if r.block.Rank(p.Rank, control.RankState) == control.StateStarting {
			p.Kill()
		}
	}
}

// kill ends processes at once. The owner may have to see to it first that others survive it, by
// a service that may take seconds for each: so it is asked for all of them at the same time.
func (r *crew) kill(processes ...*workers.Process) {
	abandon := func(int) error { return nil }
	if o, ok := r.owner.(interface{ Abandon(pid int) error }); ok {
		abandon = o.Abandon
	}
	var all sync.WaitGroup
	errs := make([]error, len(processes))
	for i, p := range processes {
		all.Go(func() {
			errs[i] = abandon(p.PID())
			if program := r.programOf(p.Rank); program != 0 {
				errs[i] = errors.Join(errs[i], abandon(program))
			}
			p.Kill()
		})
	}
	all.Wait()
	for i, p := range processes {
		if errs[i] != nil {
			r.report.Event("%v is killed with its steps in flight: %v", p, errs[i])
		}
	}
}
