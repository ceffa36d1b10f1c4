package programs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
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
func (a *ability) failedAfterLoop(who, why string) {
	why = strings.TrimPrefix(why, program.AfterLoop)
	for i := range a.after {
		if a.after[i].why == why {
			a.after[i].who = append(a.after[i].who, who)
			return
		}
	}
	a.after = append(a.after, loopFailure{why, []string{who}})
}

// Died takes note of a worker whose program failed after its loop.
func (a *ability) Died(e *workers.Exit) {
	if e.Crash.AfterLoop {
		a.failedAfterLoop(fmt.Sprintf("worker %d", e.Rank), e.Crash.First)
	}
}

// Stop ends programs that have not begun and, where the run is complete, waits for those that have.
func (a *ability) Stop() {
	a.killStarting(a.run)
	if end := a.run.End.Err; end == nil || errors.Is(end, core.ErrDone) {
		a.awaitPrograms(a.run)
	}
}

// awaitPrograms waits until the workers of a run that is complete have ended, but for those that hang.
func (a *ability) awaitPrograms(r *core.Run) {
	look := time.NewTicker(r.Every)
	defer look.Stop()
	defer tellOfLoops(r, "the workers").Stop()
	interrupted, late, over := r.Mem.Interrupted, (<-chan time.Time)(nil), false
	for !over && slices.ContainsFunc(r.Mem.Workers.Running(), func(p *workers.Process) bool { return p.Hung == "" }) {
		select {
		case event := <-r.Mem.Workers.Events():
			e, _ := r.Mem.Workers.Take(event)
			if e == nil {
				continue
			}
			starting := r.Mem.Block.Rank(e.Rank, control.RankState) == control.StateStarting // and not needed any more
			r.Mem.Release(e.Rank)
			if why := e.How; !e.Clean && !starting {
				if e.Crash.AfterLoop {
					why = e.Crash.First
				}
				a.failedAfterLoop(fmt.Sprintf("worker %d", e.Rank), why)
			}
		case <-look.C:
			_ = r.Notify(&core.Tick{}) // the run has ended
		case <-interrupted:
			interrupted, late = nil, time.After(LastScore)
		case <-late:
			over = true
		}
	}
	for _, p := range r.Mem.Workers.Running() {
		why := p.Hung
		if why == "" {
			why = "it was still busy when the run was interrupted"
		}
		a.failedAfterLoop(fmt.Sprintf("worker %d", p.Rank), why)
	}
}

// killStarting ends workers that have not begun: a program takes seconds to start.
func (a *ability) killStarting(r *core.Run) {
	for _, p := range r.Mem.Workers.Running() {
		if r.Mem.Block.Rank(p.Rank, control.RankState) == control.StateStarting {
			p.Kill()
		}
	}
}

// tellOfLoops tells people after a while what the run waits for.
func tellOfLoops(r *core.Run, who string) *time.Timer {
	return time.AfterFunc(10*time.Second, func() {
		r.Report.Say("the run waits for " + who + ": what follows job.batches(), or Python's exit, takes long")
	})
}

// leaveLoops ends the evaluator of a run that is complete, and reports all programs that have failed after their loops.
func (a *ability) leaveLoops(r *core.Run, res *rundir.Result) error {
	if a.evaluator == nil || r.End.Err != nil {
		return nil
	}
	telling, late := tellOfLoops(r, "the evaluator"), a.killLate()
	if err := a.evaluator.Close(); err != nil {
		why := err.Error()
		if ended := (*program.EndError)(nil); errors.As(err, &ended) {
			why = workers.ReadProgram(ended.Said, "the program "+ended.How).First
		}
		a.failedAfterLoop("the evaluator", why)
	}
	a.evaluator = nil
	telling.Stop()
	late()
	for _, f := range a.after {
		slices.Sort(f.who)
		r.Report.Event("after the loop over job.batches(), in %s: %s", strings.Join(f.who, ", "), human.Brief(f.why))
	}
	if res.Events = r.Report.Events(); a.after == nil {
		return nil
	}
	res.Error = fmt.Sprintf("%v: %s", config.ErrAfterLoop, a.after[0].why)
	return fmt.Errorf("%w; the run is complete, and saved in %s", config.ErrAfterLoop, r.Dir)
}
