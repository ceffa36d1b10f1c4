package run

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/tuning"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
)

// crew is the workers of a run.
type crew struct {
	*core.Run
}

// Change gives the run another job and, if that has another number of workers, starts or ends some. It returns why the
// run ends.
func (r *crew) Change(to tuning.Job, start control.Start) error {
	from := r.Job.Asked.Workers
	r.Job = to
	if err := r.Renew(); err != nil {
		return err
	}
	r.startStates(from)
	_ = fault.Point("scale.announce")
	r.Mem.Announced.Job, r.Mem.Announced.Start = r.Job, start
	if err := r.Mem.Block.Announce(r.Mem.Announced); err != nil {
		return err
	}
	r.Resume(core.ToChange)
	if err := fault.Point("scale.announced"); err != nil || from == r.Job.Asked.Workers {
		return err
	}
	for _, rank := range r.Mem.Workers.Scale(r.Job.Asked.Workers) {
		if err := r.add(rank); err != nil {
			return err
		}
	}
	return nil
}

// add starts a worker. If that fails, perhaps for a moment (too many open files or
// processes), it is tried again, as if the worker had died. It returns why the run ends.
func (r *crew) add(rank int) error {
	err := r.spawn(rank)
	if err == nil || r.Mem.Traits.Inside {
		return err
	}
	return r.replace(&workers.Exit{Rank: rank}, err.Error())
}

// Died answers the end of a worker: its chunk goes back, and it alone is started
// again, while the others go on. It returns why the run ends.
func (r *crew) Died(e *workers.Exit) error {
	_ = fault.Point("worker.died")
	r.Mem.Release(e.Rank)
	if err := r.fatal(e); err != nil {
		return err
	}
	if p := r.Hooks.Program; p != nil {
		p.Died(e)
	}
	if e.Left {
		if e.Rank < r.Job.Asked.Workers { // there are more again: another one takes its place
			return r.add(e.Rank)
		}
		return nil
	}
	who := e.String()
	if path := e.Keep(r.Dir); path != "" {
		who += " (full output: " + path + ")"
	}
	if e.Crash.InLoop() {
		who += " (hogwild doctor checks the loops in assembly)"
	}
	switch {
	case r.Mem.Block.Rank(e.Rank, control.RankBegan) == 0 && !e.Crash.Signal && r.mayStartInside():
		r.Report.Event("%s: it continues in the coordinator's process", who)
		return r.spawnInside(e.Rank)
	case r.Mem.Block.Rank(e.Rank, control.RankBegan) == 0 && !e.Crash.Signal:
		return fmt.Errorf("%s: it cannot start", who)
	}
	if r.Mem.Workers.SameCrashOnAll(e, r.Mem.Block.Get(control.WordEpoch)) {
		return fmt.Errorf("every worker fails at the same place, %s: %s; the run up to then is saved in %s",
			e.Crash.Place, who, r.Dir)
	}
	return r.replace(e, who)
}

// fatal returns the error of an end that ends the run: of numbers that diverged, where the worker that noticed has
// stopped all; of data that can no longer be read, as another worker would find; of the device.
func (r *crew) fatal(e *workers.Exit) error {
	if err := r.NotFinite(); err != nil {
		return err
	}
	err := r.Task.Train.CheckUnchanged()
	if strings.Contains(e.How, "SIGBUS") { // a run maps them from a file
		err = r.Task.Train.ReadError()
	}
	if err != nil {
		return fmt.Errorf("%w (%s)", err, r.LastGood())
	}
	return core.OnDevice(e.Err)
}

// replace starts a worker again that has died, within the limit. When no worker is left, it returns why the run ends.
func (r *crew) replace(e *workers.Exit, who string) error {
	if n := r.Mem.Workers.Restart(e, r.Mem.Block.Rank(e.Rank, control.RankExamples)); n > 0 {
		r.Position.Restarts++
		r.Report.Event("%s: restarted, %d of %d", who, n, r.Job.Asked.MaxRestarts)
		r.Mem.Block.SetRank(e.Rank, control.RankState, control.StateRestarting)
		return nil
	}
	r.Mem.Block.SetRank(e.Rank, control.RankState, control.StateGone)
	switch {
	case !r.Mem.Workers.AllGone():
		r.Report.Event("%s: not restarted, it has had its %d restarts; the other workers continue", who,
			r.Job.Asked.MaxRestarts)
		return r.carry(e.Rank)
	case e.PID == 0:
		return fmt.Errorf("%s: no worker is left; this one could not be started in %d tries", who,
			r.Job.Asked.MaxRestarts+1)
	case r.Mem.Block.Rank(e.Rank, control.RankBegan) == 0:
		return fmt.Errorf("%s: no worker is left; this one has died in each of its %d starts", who,
			r.Job.Asked.MaxRestarts+1)
	}
	return fmt.Errorf("%s: no worker is left (raise --max-restarts %d)", who, r.Job.Asked.MaxRestarts)
}

// carry does what a rank that is gone would leave undone: in barrier mode the
// coordinator meets and averages in its place. What only it may train is lost.
func (r *crew) carry(rank int) error {
	r.Mem.Block.GiveUp(rank)
	if !r.Mem.Block.Plan.Barrier {
		return nil
	}
	d, err := r.Mem.Device(rank)
	if err != nil {
		return err
	}
	w := worker.New(rank, r.Mem.Block, d)
	r.Mem.Background.Go(func() {
		if w.StandIn() != nil {
			r.Mem.Block.Stop() // without this rank the others would wait for ever
		}
	})
	return nil
}

// spawn starts the worker of a rank.
func (r *crew) spawn(rank int) error {
	r.Mem.Block.SetRank(rank, control.RankState, control.StateStarting)
	r.Mem.Block.SetRank(rank, control.RankThread, 0)
	r.Mem.Block.SetRank(rank, control.RankProgram, 0)
	if r.Mem.Traits.Inside {
		return r.spawnInside(rank)
	}
	var log *workers.Log
	if p := r.Hooks.Program; p != nil {
		log = p.Log(rank)
	}
	files := []*os.File{r.Mem.Block.Seg.File(), r.Mem.Weights.Seg.File(), r.Task.Train.File()}
	if f := r.Mem.Traits.File; f != nil {
		files = append(files, f)
	}
	p, err := r.Mem.Workers.Start(rank, files, log)
	if err == nil {
		r.Mem.Block.SetRank(rank, control.RankPID, uint64(p.PID()))
	}
	return err
}

// spawnInside starts a worker in this process. An error of its ends the run: a GPU that has
// failed is lost for the whole process, so that another worker here would fail too.
func (r *crew) spawnInside(rank int) error {
	d, err := r.Mem.Device(rank)
	if err != nil {
		return err
	}
	w := worker.New(rank, r.Mem.Block, d)
	profiles := &control.Header{CPUProfile: r.Options.CPUProfile, Trace: r.Options.Trace}
	r.Mem.Background.Go(func() {
		if err := worker.Profile(profiles, w.Run); err != nil {
			r.Mem.Workers.Failed(rank, fmt.Errorf("worker %d: %w", rank, err))
		}
	})
	return nil
}

// startStates gives each new worker an optimizer's state. In sync mode, where all are at rest,
// it is worker 0's: it has seen as much as the weights have. In async it begins with none.
func (r *crew) startStates(from int) {
	if !r.Job.Asked.PrivateState() {
		return
	}
	for rank := from; rank < r.Job.Asked.Workers; rank++ {
		o := r.Mem.Weights.Optimizers[rank]
		*o.Steps = 0
		if r.Mem.Block.Plan.Barrier {
			*o.Steps = *r.Mem.Weights.Optimizers[0].Steps
		}
		for i := range o.Slots {
			clear(o.Slots[i])
			if r.Mem.Block.Plan.Barrier {
				copy(o.Slots[i], r.Mem.Weights.Optimizers[0].Slots[i])
			}
		}
	}
}

// mayStartInside reports whether the rank of a worker that cannot start may be tried here. A program is another process
// in any case.
func (r *crew) mayStartInside() bool {
	return r.Mem.Traits.Driver && r.Job.Asked.Workers == 1 && r.Job.Asked.Program == ""
}

// halt stops the workers kindly, and those that do not stop in time not. When it returns no one but the caller looks at
// the shared memory any more, if the GPU is not silent.
func (r *crew) halt() {
	_ = fault.Point("workers.halt")
	r.Mem.Block.Stop()
	if p := r.Hooks.Program; p != nil {
		p.Stop()
	}
	ended := func(e *workers.Exit) { r.Mem.Release(e.Rank) }
	if limit := r.Mem.DeviceTimeout / core.ShortenedBy; !r.Mem.Workers.AwaitEnd(limit, ended) {
		r.Kill(r.Mem.Workers.Running()...)
		// a killed process goes on in a call of the driver's until that returns
		if !r.Mem.Workers.AwaitEnd(limit, ended) {
			holder := "kernel"
			if r.Mem.Traits.Driver {
				holder = "GPU driver"
			}
			for _, p := range r.Mem.Workers.Running() {
				r.Report.Event("%v was killed but does not exit: the %s still holds it", p, holder)
			}
		}
	}
	r.Failed(r.Mem.CallDevice(r.Mem.DeviceTimeout, func() error { r.Mem.Background.Wait(); return nil }))
}

// Kill ends processes at once. The owner may have to see to it first that others survive it, by
// a service that may take seconds for each: so it is asked for all of them at the same time.
func (r *crew) Kill(processes ...*workers.Process) {
	var all sync.WaitGroup
	errs := make([]error, len(processes))
	for i, p := range processes {
		all.Go(func() {
			errs[i] = r.Mem.Owner.Abandon(p.PID())
			if program := r.Mem.ProgramOf(p.Rank); program != 0 {
				errs[i] = errors.Join(errs[i], r.Mem.Owner.Abandon(program))
			}
			p.Kill()
		})
	}
	all.Wait()
	for i, p := range processes {
		if errs[i] != nil {
			r.Report.Event("%v is killed with its steps in flight: %v", p, errs[i])
		}
	}
}
