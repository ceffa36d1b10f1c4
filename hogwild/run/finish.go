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
	close(r.Ending)
	r.tellPeers()
	r.Position.Seconds, r.Position.Wall = r.Seconds(control.Monotonic()), r.Wall()
	within := r.Opened != 0
	r.Opened = 0
	r.age = time.Since(r.copied)
	r.Halt()
	_ = r.AwaitEvaluation() // whatever it says
	if nan := r.NotFinite(); nan != nil {
		r.Ended = nan
	} else if errors.Is(r.Ended, core.ErrDone) {
		r.Ended = nil
	}
	r.Failed(r.lostPeers(r.lastRound()))
	r.Peers.Leave(func() { res, err = r.conclude(within) })
	if !r.Peers.First() && config.Interruption(err) != nil {
		err = config.Reported{Err: err} // node 0 says it
	}
	return res, err
}

// conclude saves what is to be saved, and reports.
func (r *coordinator) conclude(within bool) (rundir.Result, error) {
	good := !errors.Is(r.Ended, config.ErrDiverged)
	switch {
	case within && good && r.Several():
		r.saveLast()
	case within && good && !errors.Is(r.Ended, data.ErrUnreadable): // who knows what was trained on
		r.Failed(r.saveWithin())
	default:
		if r.finalCopy = good; good && (r.savePending || !r.whole) {
			r.Failed(r.saveBetween())
		}
	}
	r.Report.Close()
	if back := r.Hooks.Rollback; back != nil {
		trained := r.Position.Examples
		if _, done, _, _ := r.Progress(); within {
			trained += int64(done)
		}
		if begin := back(trained); begin != nil {
			r.next = r.followed(begin)
			return rundir.Result{}, r.Ended
		}
	}
	var result rundir.Result
	_ = r.Tell(&core.Reports{Result: &result})
	if r.Peers.First() {
		r.Failed(r.Tell(&core.Reported{Result: &result}))
		r.Failed(r.saveResult(&result))
	}
	return result, errors.Join(r.Ended, r.elsewhere)
}

// followed returns the coordinator that carries on from this one, whose data it takes over.
func (r *coordinator) followed(b *core.Begin) *coordinator {
	o := r.Options
	o.Dashboard = "" // its address has been shown
	next := newCoordinator(b.Config, o)
	next.Sets, next.Borrowed, next.Begin = r.Sets, r.Borrowed, b
	r.Borrowed = true
	next.Report.Keep(r.Report.Events()...)
	return next
}
