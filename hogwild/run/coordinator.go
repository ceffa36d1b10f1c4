package run

import (
	"sync"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
)

// coordinator is the life of a run. It and its parts embed the run that they are of, and nothing else: a name with a
// capital letter is the run's, all others are their own.
type coordinator struct {
	*core.Run
	crew       *crew
	snapshots  *snapshotter
	final      *finalSaver
	evaluator  *evaluator
	anyNumber  bool         // the user named no number of workers
	secondHalf float64      // mean loss of the second half of the last epoch
	next       *coordinator // carries on from this one
	early      sync.Mutex   // of the lock on the folder, until the run has begun to make it
	making     bool         // it has
}

func newCoordinator(c config.Config, o core.Options) *coordinator {
	run := core.New(c, o, abilities())
	r := &coordinator{Run: run, crew: &crew{Run: run}}
	r.snapshots = &snapshotter{Run: run, evaluated: make(chan evaluation, 1)}
	r.final = &finalSaver{Run: run, snapshots: r.snapshots}
	r.evaluator = &evaluator{Run: run, snapshots: r.snapshots, final: r.final}
	if o.Sets != nil {
		run.Task.Sets, run.Task.Borrowed = *o.Sets, true
	}
	run.Crew, run.Saver = r.crew, r.snapshots
	return r
}
