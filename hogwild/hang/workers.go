package hang

import (
	"fmt"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
)

// Workers returns what looks at the workers of a run.
func Workers() core.Ability { return &workers{} }

type workers struct {
	watch  *Watch
	looked time.Time
}

// On warns of workers that do not run, and kills those that have not run for the timeout. What they had goes to others.
func (w *workers) On(r *core.Run, e core.Event) error {
	switch e.(type) {
	case core.Starts:
		w.watch = New(r.Job.Asked.HangTimeout)
		r.Every = min(r.Every, w.watch.Every())
	case core.Tick:
		if every := w.watch.Every(); time.Since(w.looked) > every*3/4 { // ticks are not exact
			w.looked = time.Now()
			return w.look(r)
		}
	}
	return nil
}

func (w *workers) look(r *core.Run) error {
	running := r.Workers.Running()
	seen := make([]Process, len(running))
	for i, p := range running {
		seen[i] = Process{PID: p.PID(), Thread: int(r.Block.Rank(p.Rank, control.RankThread)), Program: r.ProgramOf(p.Rank), OnDevice: !r.Job.Asked.OnHost(p.Rank)}
	}
	for i, f := range w.watch.Look(seen) {
		switch p := running[i]; f.State {
		case Moves:
			r.Report.Event("%v moves again", p)
		case Warning:
			r.Report.Event("%v has not moved for %v, state %s; %s", p, f.For, f.Kernel, f.outlook(r.Block.Stopped()))
		case Hung:
			p.Hung = fmt.Sprintf("was killed: it had not moved for %v, state %s", f.For, f.Kernel)
			r.Do.Kill(p)
		case Held:
			if r.Job.Asked.OnHost(p.Rank) && !r.Block.Stopped() { // it executes no instruction any more: others may have its chunks and locks
				p.Hung += "; the kernel still holds it"
				if end := r.Do.Died(r.Workers.Lost(p)); end != nil {
					return end
				}
			}
		}
	}
	return nil
}

// outlook says what becomes of a worker that does not move; ends: the run does.
func (f *Finding) outlook(ends bool) string {
	switch {
	case f.Limit == 0:
		return "it is not replaced, because of --hang-timeout 0"
	case ends:
		return fmt.Sprintf("it is killed after %v (--hang-timeout)", f.Limit)
	}
	return fmt.Sprintf("it is replaced after %v (--hang-timeout)", f.Limit)
}
