package run

import (
	"errors"
	"fmt"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// finish ends a run: the workers, a round that was under way, the last snapshot,
// the report. What was trained is saved, unless the numbers diverged.
func (r *coordinator) finish() (res rundir.Result, err error) {
	r.tellPeers()
	r.position.Seconds, r.position.Wall = r.seconds(control.Monotonic()), r.wall()
	within := r.opened != 0
	r.opened = 0
	r.age = time.Since(r.copied)
	r.halt()
	_ = r.awaitEvaluation() // whatever it says
	if nan := r.diverged(); nan != nil {
		r.ended = nan
	} else if errors.Is(r.ended, errDone) {
		r.ended = nil
	}
	r.failed(r.lostPeers(r.lastRound()))
	r.peers.Leave(func() { res, err = r.conclude(within) })
	if !r.peers.First() && config.Interruption(err) != nil {
		err = config.Reported{Err: err} // node 0 says it
	}
	return res, err
}

// conclude saves what is to be saved, and reports.
func (r *coordinator) conclude(within bool) (rundir.Result, error) {
	good := !errors.Is(r.ended, config.ErrDiverged)
	if within && good && r.several() {
		r.saveLast()
	} else if within && good && !errors.Is(r.ended, data.ErrUnreadable) { // who knows what was trained on
		r.failed(r.saveWithin())
	} else if r.good = good; good && (r.due || !r.whole) {
		r.failed(r.saveBetween())
	}
	r.report.Close()
	if r.goesBack() {
		trained := r.position.Examples
		if within {
			_, done, _, _ := r.progress()
			trained += int64(done)
		}
		r.next = r.followed(trained)
		return rundir.Result{}, r.ended
	}
	if n := r.rollbacks(); n > 0 && errors.Is(r.ended, config.ErrDiverged) {
		r.ended = fmt.Errorf("%w; it has been rolled back %s", r.ended, human.Plural(n, "time"))
	}
	result := r.result()
	if r.peers.First() {
		r.failed(r.testEnd(&result))
		r.failed(r.leaveLoops(&result))
		r.failed(r.saveResult(&result))
	}
	return result, errors.Join(r.ended, r.elsewhere)
}
