package elastic

import (
	"hogwild/hogwild/core"
	"hogwild/hogwild/rundir"
)

// New returns what carries out requests for a run.
func New() core.Ability {
	return &ability{}
}

type ability struct {
	recounted bool // the steps in flight
	server
}

// Handle changes the job as soon as it may be.
func (a *ability) Handle(r *core.Run, e core.Event) error {
	switch e := e.(type) {
	case *core.Folder:
		if a.answer == nil {
			a.over = r.End.Done
			a.answer = func(q rundir.Request) rundir.Answer { return a.ask(r, q) }
		}
		if err := a.open(r.Dir); err != nil {
			r.Report.Event("no hogwild scale, top, pause or stop for this run: %v", err)
		}
	case *core.Tick:
		a.recount(r, manySamples)
	case *core.Completes:
		if !e.Last {
			a.recount(r, fewSamples)
		}
	case *core.Reports:
		if f := flightOf(r, r.Mem.Instruments()); f != nil {
			e.Result.InFlight, e.Result.InFlightSeen = f.Expected, f.Seen
		}
	case *core.Closing:
		a.close()
	}
	return nil
}

// ask has the coordinator answer a request of another process. Any goroutine may call it.
func (a *ability) ask(r *core.Run, q rundir.Request) (answer rundir.Answer) {
	done := make(chan struct{})
	select {
	case r.Inbox <- func() error {
		defer close(done)
		answer = reply(r, q)
		return r.ApplyChange() // before the answer, if it can be
	}:
		<-done
	case <-r.End.Begun:
		answer.Error = "the run is ending"
	case <-r.End.Done: // it has ended before it began
		answer.Error = "the run is ending"
	}
	return answer
}
