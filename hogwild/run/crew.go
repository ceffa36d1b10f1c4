package run

import (
	"fmt"
	"strings"

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
	if r.Mem.Workers.Everywhere(e, r.Mem.Block.Get(control.WordEpoch)) {
		return fmt.Errorf("every worker fails at the same place, %s: %s; the run up to then is saved in %s",
			e.Crash.Place, who, r.Dir)
	}
	return r.replace(e, who)
}

// fatal is the error of an end that ends the run: of numbers that diverged, where whoever noticed has stopped all; of
// data that can no longer be read, as another worker would find; of the device.
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
