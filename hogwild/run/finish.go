package run

import (
	"errors"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
)

// finish ends a run: the workers, a round that was under way, the last snapshot,
// the report. What was trained is saved, unless the numbers diverged.
func (r *coordinator) finish() (res rundir.Result, err error) {
	close(r.End.Begun)
	r.tellPeers()
	r.Position.Seconds, r.Position.Wall = r.Seconds(control.Monotonic()), r.Wall()
	within := r.Opened != 0
	r.Opened = 0
	r.final.age = time.Since(r.snapshots.copied)
	r.crew.halt()
	_ = r.evaluator.awaitEvaluation() // whatever it says
	if nan := r.NotFinite(); nan != nil {
		r.End.Err = nan
	} else if errors.Is(r.End.Err, core.ErrDone) {
		r.End.Err = nil
	}
	r.Failed(r.snapshots.lostPeers(r.snapshots.lastRound()))
	r.Peers.Leave(func() { res, err = r.conclude(within) })
	if !r.Peers.First() && config.Interruption(err) != nil {
		err = config.Reported{Err: err} // node 0 says it
	}
	return res, err
}

// conclude saves what is to be saved, and reports.
func (r *coordinator) conclude(within bool) (rundir.Result, error) {
	good := !errors.Is(r.End.Err, config.ErrDiverged)
	switch {
	case within && good && r.Several():
		r.final.saveLast()
	case within && good && !errors.Is(r.End.Err, data.ErrUnreadable): // who knows what was trained on
		r.Failed(r.evaluator.saveWithin())
	default:
		if r.final.finalCopy = good; good && (r.snapshots.savePending || !r.snapshots.whole) {
			r.Failed(r.final.saveBetween())
		}
	}
	r.Report.Close()
	if back := r.Hooks.Rollback; back != nil {
		trained := r.Position.Examples
		if _, done, _, _ := r.Progress(); within {
			trained += int64(done)
		}
		if begin := back(trained); begin != nil {
			r.next = r.successor(begin)
			return rundir.Result{}, r.End.Err
		}
	}
	var result rundir.Result
	_ = r.Notify(&core.Reports{Result: &result})
	if r.Peers.First() {
		r.Failed(r.Notify(&core.Reported{Result: &result}))
		r.Failed(r.final.saveResult(&result))
	}
	return result, errors.Join(r.End.Err, r.final.elsewhere)
}

// successor returns the coordinator that carries on from this one, whose data it takes over.
func (r *coordinator) successor(b *core.Rollback) *coordinator {
	o := r.Options
	o.Dashboard = "" // its address has been shown
	next := newCoordinator(b.Config, o)
	next.Task.Sets, next.Task.Borrowed, next.Rollback = r.Task.Sets, r.Task.Borrowed, b
	next.End.Interrupt, r.Task.Borrowed = r.End.Interrupt, true
	next.Report.Keep(r.Report.Events()...)
	return next
}

// close gives back whatever was made.
func (r *coordinator) close() {
	defer close(r.End.Done)
	defer r.Folder.Close()
	r.Mem.Interrupted = nil       // the run has ended: this is no time for hurry
	_ = r.Notify(&core.Closing{}) // while the folder is locked
	unkillable := r.Mem.Workers != nil && !r.Mem.Workers.Close(r.Mem.DeviceTimeout/core.ShortenedBy)
	if r.Mem.Owner != nil && !unkillable {
		// after the last use: there is nothing left to lose
		_ = r.Mem.CallDevice(r.Mem.DeviceTimeout, r.Mem.Owner.Close)
	}
	if r.Mem.Hung.Err() != nil || unkillable {
		return // who does not return may yet use the shared memory: it goes when this process ends
	}
	if r.Mem.Block != nil {
		_ = r.Mem.Block.Seg.Close()
	}
	if r.Mem.Weights != nil {
		_ = r.Mem.Weights.Seg.Close()
	}
	for _, s := range []*data.Set{r.Task.Train, r.Task.Validation, r.Task.Test} {
		if s != nil && !r.Task.Borrowed {
			_ = s.Close()
		}
	}
}
