package run

import (
	"errors"
	"sync"

	"hogwild/hogwild/core"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
)

// halt stops the workers kindly, and those that do not stop in time not. When it
// returns nobody but the caller looks at the shared memory any more, if the GPU is not silent.
func (r *crew) halt() {
	_ = fault.Point("workers.halt")
	r.Mem.Block.Stop()
	if p := r.Hooks.Program; p != nil {
		p.Stop()
	}
	ended := func(e *workers.Exit) { r.Mem.Release(e.Rank) }
	if limit := r.Mem.DeviceTimeout / core.ShortenedBy; !r.Mem.Workers.AwaitEnd(limit, ended) {
		r.Kill(r.Mem.Workers.Running()...)
		if !r.Mem.Workers.AwaitEnd(limit, ended) { // a killed process goes on in a call of the driver's until that returns
			holder := "kernel"
			if r.Mem.Traits.Driver {
				holder = "GPU driver"
			}
			for _, p := range r.Mem.Workers.Running() {
				r.Report.Event("%v was killed but does not exit: the %s still holds it", p, holder)
			}
		}
	}
	if err := r.Mem.CallDevice(r.Mem.DeviceTimeout, func() error { r.Mem.Background.Wait(); return nil }); err != nil {
		r.Failed(core.OnDevice(err))
	}
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
