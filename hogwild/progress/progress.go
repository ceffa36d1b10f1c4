// Package progress is what people are told of a run while it goes on, and at its end: the display, the metrics of each
// second and each epoch, the report.
//
//	progress.go   the ability: what it hears
//	result.go     the report
//	status.go     what is about to be trained, and the run at a moment
package progress

import (
	"slices"
	"time"

	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/display"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
)

// New returns what tells people of a run.
func New() core.Ability { return &ability{} }

type ability struct {
	latest        rundir.Status   // as it was shown
	rates         []display.Speed // of each worker
	lastPoll      time.Time
	second        time.Time // when the last second was written
	reading       time.Time // since when the data are read
	trainingSince time.Time // since when the run is watched
	started       uint64    // monotonic: the first worker's exec
	first         int       // workers that the run began with
}

// showEvery is the time between two looks at the workers.
const showEvery = 190 * time.Millisecond

// Handle shows what happens, and writes it to the run folder.
func (a *ability) Handle(r *core.Run, e core.Event) error {
	switch e := e.(type) {
	case *core.Reading:
		a.reading = time.Now()
	case *core.Begins:
		r.Hooks.Status = func(now bool) rundir.Status { return a.shown(r, now) }
		a.trainingSince, a.lastPoll, a.rates = time.Now(), time.Now(), make([]display.Speed, r.Mem.Weights.Ranks)
	case *core.Starts:
		a.header(r)
		a.started, a.first = control.Monotonic(), r.Job.Asked.Workers
	case *core.Tick:
		if time.Since(a.lastPoll) >= showEvery {
			a.show(r)
		}
	case *core.Evaluated:
		r.Report.Epoch(*e.Epoch)
		r.Report.Wrote(r.Folder.Epoch(*e.Epoch, r.Mem.Instruments(), e.Weights))
	case *core.Reports:
		a.result(r, e.Result)
	}
	return nil
}

// shown returns the status as it was shown last, or at this moment.
func (a *ability) shown(r *core.Run, now bool) rundir.Status {
	if now || a.latest.Kind == "" {
		return a.status(r)
	}
	return a.latest
}

// show renews the display, and once a second the metrics.
func (a *ability) show(r *core.Run) {
	s := a.status(r)
	a.latest = s
	r.Report.Status(s)
	if time.Since(a.second) >= time.Second && stepped(r) { // programs may take long to start
		a.second = time.Now()
		lr := plan.NewSchedule(&r.Job.Asked, r.Job.Used.LR, r.Task.Train.Rows).At(s.Examples)
		r.Report.Wrote(r.Folder.Second(s, r.Mem.Instruments(), lr))
	}
}

// stepped reports whether a worker has taken a step.
func stepped(r *core.Run) bool {
	return slices.ContainsFunc(r.Mem.Workers.Running(),
		func(p *workers.Process) bool { return r.Mem.Block.Rank(p.Rank, control.RankFirst) != 0 })
}
