package run

import (
	"errors"
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// With --on-divergence rollback a run that diverges goes back to its last good snapshot, or to the
// first weights while there is none, and continues with half the learning rate. Another coordinator
// does that, in the same folder and on the same data, as it would resume a run that was killed: on
// every device all that processes share is made anew, the states of optimizers included.

// mostRollbacks is how often one call of Run goes back.
const mostRollbacks = 3

// goesBack reports whether the run diverged and may go back.
func (r *coordinator) goesBack() bool {
	select {
	case <-r.interrupted: // nobody wants more of it
		return false
	default:
	}
	return errors.Is(r.ended, config.ErrDiverged) && r.job.Asked.OnDivergence == config.Rollback &&
		r.rollbacks() < mostRollbacks && len(r.workers.Running()) == 0 && r.silenced.Err() == nil
}

// rollbacks is how often this call of Run has gone back.
func (r *coordinator) rollbacks() int {
	if r.back == nil {
		return 0
	}
	return r.back.n
}

// followed is the coordinator that carries on from the last good snapshot. It takes over the data.
func (r *coordinator) followed(examples int64) *coordinator {
	c, o := r.job.Asked, r.options
	lr := r.job.Used.LR / 2
	c.LR, c.LRMin, c.AverageLR = lr, c.LRMin*lr/c.LR, "same" // that of each replica, not one to be scaled
	if c.Batch == 0 && c.GlobalBatch == 0 {
		c.Batch = r.job.Used.Batch
	}
	if saved, err := rundir.SavedConfig(r.dir); err == nil && (r.block.Plan.Barrier || r.block.Plan.Shares || c.PrivateState()) {
		c.Workers = saved.Workers // the number may have changed since, and an epoch and the optimizers' states belong to one
	}
	o.Dashboard = "" // its address has been shown
	next := newCoordinator(c, o)
	next.train, next.validation, next.test, next.lent = r.train, r.validation, r.test, r.lent
	r.lent = true
	next.report.Keep(r.report.Events()...)
	next.back = &rollback{n: r.rollbacks() + 1, why: r.ended, from: c.Resume, auto: r.job.Used.Auto,
		examples: examples, workers: r.job.Asked.Workers, position: r.position}
	if rundir.HasSnapshot(r.dir) {
		next.back.from = r.dir
	}
	return next
}

// wentBack counts what was trained in vain, says that the run has gone back, and saves it with its new
// learning rate: should it be killed now, it is resumed with that.
func (r *coordinator) wentBack() {
	p, was := &r.position, &r.back.position
	now := p.Examples
	if p.Within {
		_, done, _, _ := r.progress()
		now += int64(done)
	}
	vain := r.back.examples - now
	p.Seconds, p.Restarts, p.Rollbacks, p.Discarded = was.Seconds, was.Restarts, was.Rollbacks+1, was.Discarded+vain
	r.before = was.Wall
	if r.back.workers == r.job.Asked.Workers { // else their number is that of the snapshot again
		p.Scales = was.Scales
	}
	what, where := r.back.why, "the snapshot of epoch "+fmt.Sprint(p.Epoch-1)
	if d := (divergence{}); errors.As(what, &d) {
		what = d.what
	}
	switch {
	case p.Within:
		where = fmt.Sprintf("the snapshot within epoch %d", p.Epoch)
	case p.Epoch == 1:
		where = "the first weights"
	}
	r.report.Event("training diverged: %v; rollback %d of %d: it continues from %s with learning rate %g, and %s are discarded",
		what, r.back.n, mostRollbacks, where, r.job.Used.LR, human.Plural(int(vain), "example"))
	r.capture(true, false)
	r.noteSave(r.saving()())
}
