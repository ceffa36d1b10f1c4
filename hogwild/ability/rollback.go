package ability

import (
	"errors"
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// mostRollbacks is how often one call of Run goes back at most.
const mostRollbacks = 3

// Rollback has a run that diverges go back to its last good snapshot, or to the first weights while there is none, and
// continue with half the learning rate. Another coordinator does that, in the same folder and on the same data, as it
// would resume a run that was killed: on every device all that processes share is made anew, the states of optimizers
// included.
func Rollback() core.Ability { return rollback{} }

type rollback struct{}

// Handle has a run begin again, and reports it when it has.
func (rollback) Handle(r *core.Run, e core.Event) error {
	switch e.(type) {
	case *core.Begins:
		r.Hooks.Rollback = func(trained int64) *core.Rollback { return goBack(r, trained) }
	case *core.Starts:
		if r.Rollback != nil {
			tellRollback(r)
		}
	}
	return nil
}

// goBack returns how a run that diverged continues. If it may not, its error says how often it did before.
func goBack(r *core.Run, trained int64) *core.Rollback {
	if goesBack(r) {
		return restart(r, trained)
	}
	if n := r.Rollback.Attempts(); n > 0 && errors.Is(r.End.Err, config.ErrDiverged) {
		r.End.Err = fmt.Errorf("%w; it has been rolled back %s", r.End.Err, human.Plural(n, "time"))
	}
	return nil
}

// goesBack reports whether the run diverged and may go back.
func goesBack(r *core.Run) bool {
	select {
	case <-r.Mem.Interrupted: // it is not to go on
		return false
	default:
	}
	return errors.Is(r.End.Err, config.ErrDiverged) && r.Job.Asked.OnDivergence == config.Rollback &&
		r.Rollback.Attempts() < mostRollbacks && len(r.Mem.Workers.Running()) == 0 && r.Mem.Hung.Err() == nil
}

// restart returns how the run continues from the last good snapshot, after it has trained this many examples.
func restart(r *core.Run, trained int64) *core.Rollback {
	c := r.Job.Asked
	lr := r.Job.Used.LR / 2
	c.LR, c.LRMin, c.AverageLR = lr, c.LRMin*lr/c.LR, config.Same // each replica's, not one to be scaled
	if c.Batch == 0 && c.GlobalBatch == 0 {
		c.Batch = r.Job.Used.Batch
	}
	if saved, err := rundir.SavedConfig(r.Dir); err == nil && (r.Mem.Block.Plan.Barrier || r.Mem.Block.Plan.Shares ||
		c.PrivateState()) {
		// the number may have changed since, and an epoch and the optimizers' states belong to one
		c.Workers = saved.Workers
	}
	b := &core.Rollback{Config: c, Attempt: r.Rollback.Attempts() + 1, Cause: r.End.Err, Snapshot: c.Resume,
		Auto: r.Job.Used.Auto, Examples: trained, Workers: r.Job.Asked.Workers, Position: r.Position}
	if rundir.HasSnapshot(r.Dir) {
		b.Snapshot = r.Dir
	}
	return b
}

// tell counts what was trained in vain, says that the run has gone back, and saves it with its new
// learning rate: should it be killed now, it is resumed with that.
func tellRollback(r *core.Run) {
	p, was := &r.Position, &r.Rollback.Position
	vain := r.Rollback.Examples - r.Examples()
	p.Seconds, p.Restarts, p.Rollbacks, p.Discarded = was.Seconds, was.Restarts, was.Rollbacks+1, was.Discarded+vain
	r.EarlierWall = was.Wall
	if r.Rollback.Workers == r.Job.Asked.Workers { // else their number is the snapshot's again
		p.Scales = was.Scales
	}
	what, where := r.Rollback.Cause, "the snapshot of epoch "+fmt.Sprint(p.Epoch-1)
	if d := (core.Divergence{}); errors.As(what, &d) {
		what = d.What
	}
	switch {
	case p.Within:
		where = fmt.Sprintf("the snapshot within epoch %d", p.Epoch)
	case p.Epoch == 1:
		where = "the first weights"
	}
	r.Report.Event("training diverged: %v; rollback %d of %d: it continues from %s with learning rate %g, and %s are "+
		"discarded",
		what, r.Rollback.Attempt, mostRollbacks, where, r.Job.Used.LR, human.Plural(int(vain), "example"))
	r.Saver.SaveNow()
}
