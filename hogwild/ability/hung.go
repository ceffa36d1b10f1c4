package ability

import (
	"fmt"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/workers"
)

// Hung replaces workers that neither run nor end.
func Hung() core.Ability { return &hung{} }

type hung struct {
	watch  *workers.Watch
	looked time.Time
}

// Handle warns of workers that do not run, and kills those that have not run for the timeout. What they had goes to
// others.
func (a *hung) Handle(r *core.Run, e core.Event) error {
	switch e.(type) {
	case *core.Starts:
		a.watch = workers.NewWatch(r.Job.Asked.HangTimeout)
		r.Every = min(r.Every, a.watch.Every())
	case *core.Tick:
		if every := a.watch.Every(); time.Since(a.looked) > every*3/4 { // ticks are not exact
			a.looked = time.Now()
			return a.look(r)
		}
	}
	return nil
}

func (a *hung) look(r *core.Run) error {
	running := r.Mem.Workers.Running()
	seen := make([]workers.Watched, len(running))
	for i, p := range running {
		seen[i] = workers.Watched{PID: p.PID(), Thread: int(r.Mem.Block.Rank(p.Rank, control.RankThread)),
			Program: r.Mem.ProgramOf(p.Rank), OnDevice: r.Mem.Traits.Driver}
	}
	for i, f := range a.watch.Look(seen) {
		switch p := running[i]; f.State {
		case workers.Moves:
			r.Report.Event("%v moves again", p)
		case workers.Warning:
			r.Report.Event("%v has not moved for %v, state %s; %s", p, f.For, f.Kernel,
				outlook(&f, r.Mem.Block.Stopped()))
		case workers.Hung:
			p.Hung = fmt.Sprintf("was killed: it had not moved for %v, state %s", f.For, f.Kernel)
			r.Crew.Kill(p)
		case workers.Held:
			// it executes no instruction any more: others may have its chunks and locks
			if !r.Mem.Traits.Driver && !r.Mem.Block.Stopped() {
				p.Hung += "; the kernel still holds it"
				if end := r.Crew.Died(r.Mem.Workers.MarkLost(p)); end != nil {
					return end
				}
			}
		}
	}
	return nil
}

// outlook says what becomes of a worker that does not move; ends: the run does.
func outlook(f *workers.Finding, ends bool) string {
	switch {
	case f.Limit == 0:
		return "it is not replaced, because of --hang-timeout 0"
	case ends:
		return fmt.Sprintf("it is killed after %v (--hang-timeout)", f.Limit)
	}
	return fmt.Sprintf("it is replaced after %v (--hang-timeout)", f.Limit)
}
