package run

import (
	"fmt"

	"hogwild/hogwild/control"
	"hogwild/hogwild/hang"
)

// lookForHung warns of workers that do not run, and kills those that have not run for the timeout. It returns why the run ends.
func (r *crew) lookForHung() error {
	running := r.workers.Running()
	seen := make([]hang.Process, len(running))
	for i, p := range running {
		seen[i] = hang.Process{PID: p.PID(), Thread: int(r.block.Rank(p.Rank, control.RankThread)), Program: r.programOf(p.Rank), OnDevice: !r.job.Asked.OnHost(p.Rank)}
	}
	for i, f := range r.hang.Look(seen) {
		switch p := running[i]; f.State {
		case hang.Moves:
			r.report.Event("%v moves again", p)
		case hang.Warning:
			r.report.Event("%v has not moved for %v, state %s; %s", p, f.For, f.Kernel, r.whenHung(&f))
		case hang.Hung:
			p.Hung = fmt.Sprintf("was killed: it had not moved for %v, state %s", f.For, f.Kernel)
			r.kill(p)
		case hang.Held:
			if r.job.Asked.OnHost(p.Rank) && !r.block.Stopped() { // it executes no instruction any more: others may have its chunks and locks
				p.Hung += "; the kernel still holds it"
				if end := r.died(r.workers.Lost(p)); end != nil {
					return end
				}
			}
		}
	}
	return nil
}

// whenHung says what becomes of a worker that does not move.
func (r *crew) whenHung(f *hang.Finding) string {
	switch {
	case f.Limit == 0:
		return "it is not replaced, because of --hang-timeout 0"
	case r.block.Stopped():
		return fmt.Sprintf("it is killed after %v (--hang-timeout)", f.Limit)
	}
	return fmt.Sprintf("it is replaced after %v (--hang-timeout)", f.Limit)
}
