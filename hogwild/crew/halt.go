package crew

import (
	"errors"
	"sync"

	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
)

// Halt stops the workers kindly, and those that do not stop in time not. When it
// returns nobody but the caller looks at the shared memory any more, if the GPU is not silent.
func (r *Crew) Halt() {
	_ = fault.Point("workers.halt")
	r.Block.Stop()
	if p := r.Hooks.Program; p != nil {
		p.Stop()
	}
	ended := func(e *workers.Exit) { r.Release(e.Rank) }
	if limit := r.Patience / core.Hurry; !r.Workers.AwaitEnd(limit, ended) {
		r.Kill(r.Workers.Running()...)
		if !r.Workers.AwaitEnd(limit, ended) { // a killed process goes on in a call of the driver's until that returns
			holder := "kernel"
			if r.Traits.Driver {
				holder = "GPU driver"
			}
			for _, p := range r.Workers.Running() {
				r.Report.Event("%v was killed but does not exit: the %s still holds it", p, holder)
			}
		}
	}
	if err := r.Ask(r.Patience, func() error { r.Background.Wait(); return nil }); err != nil {
		r.Failed(core.OnDevice(err))
	}
}

// Kill ends processes at once. The owner may have to see to it first that others survive it, by
// a service that may take seconds for each: so it is asked for all of them at the same time.
func (r *Crew) Kill(processes ...*workers.Process) {
	var all sync.WaitGroup
	errs := make([]error, len(processes))
	for i, p := range processes {
		all.Go(func() {
			errs[i] = r.Owner.Abandon(p.PID())
			if program := r.ProgramOf(p.Rank); program != 0 {
				errs[i] = errors.Join(errs[i], r.Owner.Abandon(program))
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

// FinishRound takes the average of a round whose chunks were all done when the
// workers stopped: some had averaged their slice, others not.
func (r *Crew) FinishRound() error {
	if !r.Block.Plan.Barrier {
		return nil
	}
	r.Within()
	round := r.Position.Round
	if round == r.Block.Plan.Rounds {
		return nil
	}
	for rank := range r.Job.Asked.Workers {
		from, to := r.Block.Plan.Round(rank, round)
		for i := from; i < to; i++ {
			if state, _ := r.Block.Chunk(i); state != control.ChunkDone && state != control.ChunkLost {
				return nil
			}
		}
	}
	_, averaged := r.Block.Tickets(r.Position.Epoch, round)
	for rank := range r.Job.Asked.Workers {
		if r.Block.Barrier.Arrived(rank) >= averaged {
			continue
		}
		if err := r.Ask(r.Patient(), func() error {
			d, err := r.Owner.Device(rank)
			if err == nil {
				err = d.Average(r.Block.Round(r.Position.Epoch, round))
			}
			return err
		}); err != nil {
			return core.OnDevice(err)
		}
		r.Block.Barrier.Arrive(rank, averaged)
	}
	return nil
}
