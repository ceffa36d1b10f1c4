package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/program"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
	"hogwild/internal/human"
)

// What a script does after its loop, as a last test or an export, is part of the run: one that is complete waits for it
// as long as it does not hang, and fails where it does; once interrupted, as long as for a score. Of a run that was
// interrupted before, or failed, the programs have as long as workers have to end.

// loopFailure is how programs have failed after their loops.
type loopFailure struct {
	why string
	who []string
}

// failedAfterLoop notes that one has.
func (r *crew) failedAfterLoop(who, why string) {
	why = strings.TrimPrefix(why, program.AfterLoop)
	for i := range r.after {
		if r.after[i].why == why {
			r.after[i].who = append(r.after[i].who, who)
			return
		}
	}
	r.after = append(r.after, loopFailure{why, []string{who}})
}

// awaitPrograms waits until the workers of a run that is complete have ended, but for those that hang.
func (r *crew) awaitPrograms() {
	look := time.NewTicker(r.hang.Every())
	defer look.Stop()
	defer r.tellOfLoops("the workers").Stop()
	interrupted, late, over := r.interrupted, (<-chan time.Time)(nil), false
	for !over && slices.ContainsFunc(r.workers.Running(), func(p *workers.Process) bool { return p.Hung == "" }) {
		select {
		case event := <-r.workers.Events():
			e, _ := r.workers.Take(event)
			if e == nil {
				continue
			}
			starting := r.block.Rank(e.Rank, control.RankState) == control.StateStarting // and not needed any more
			r.release(e.Rank)
			if why := e.How; !e.Clean && !starting {
				if e.Crash.AfterLoop {
					why = e.Crash.First
				}
				r.failedAfterLoop(fmt.Sprintf("worker %d", e.Rank), why)
			}
		case <-look.C:
			_ = r.lookForHung() // the run has ended
		case <-interrupted:
			interrupted, late = nil, time.After(lastScore)
		case <-late:
			over = true
		}
	}
	for _, p := range r.workers.Running() {
		why := p.Hung
		if why == "" {
			why = "it was still busy when the run was interrupted"
		}
		r.failedAfterLoop(fmt.Sprintf("worker %d", p.Rank), why)
	}
}

// tellOfLoops tells people after a while what the run waits for.
func (r *crew) tellOfLoops(who string) *time.Timer {
	return time.AfterFunc(10*time.Second, func() {
		r.report.Say("what follows the loop over job.batches() takes long in " + who + ": the run waits for it")
	})
}

// leaveLoops ends the evaluator of a run that is complete, and tells of all programs that have failed after their loops.
func (r *crew) leaveLoops(res *rundir.Result) error {
	if r.evaluator == nil || r.ended != nil {
		return nil
	}
	telling, late := r.tellOfLoops("the evaluator"), r.killLate()
	if err := r.evaluator.Close(); err != nil {
		why := err.Error()
		if ended := (*program.EndError)(nil); errors.As(err, &ended) {
			why = workers.ReadProgram(ended.Said, "the program "+ended.How).First
		}
		r.failedAfterLoop("the evaluator", why)
	}
	r.evaluator = nil
	telling.Stop()
	late()
	for _, f := range r.after {
		slices.Sort(f.who)
		r.report.Event("after the loop over job.batches(), in %s: %s", strings.Join(f.who, ", "), human.Brief(f.why))
	}
	if res.Events = r.report.Events(); r.after == nil {
		return nil
	}
	res.Error = fmt.Sprintf("%v: %s", config.ErrAfterLoop, r.after[0].why)
	return fmt.Errorf("%w; the run is complete, and saved in %s", config.ErrAfterLoop, r.dir)
}
