package elastic

import (
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/rundir"
)

// New returns what carries out requests for a run.
func New() core.Ability {
	return &ability{stopped: make(chan struct{}), server: server{over: make(chan struct{})}}
}

type ability struct {
	pending   *change       // another form of the job, still to come
	recounted bool          // the steps in flight
	stopped   chan struct{} // closed when the run takes no more requests
	server
}

// On changes the job as soon as it may be.
func (a *ability) On(r *core.Run, e core.Event) error {
	switch e := e.(type) {
	case core.Folder:
		if a.answer == nil {
			a.answer = func(q rundir.Request) rundir.Answer { return a.ask(r, q) }
		}
		if err := a.open(r.Dir); err != nil {
			r.Report.Event("no hogwild scale, top, pause or stop for this run: %v", err)
		}
	case core.Tick:
		a.recount(r, manySamples)
	case core.Handled:
		return a.applyPending(r)
	case core.Completes:
		if !e.Last {
			a.recount(r, fewSamples)
		}
	case *core.Completed:
		e.Await = e.Await || a.pending != nil // an evaluation reads the settings
	case core.Opens:
		if epoch := r.Position.Epoch; a.pending != nil {
			return a.carryOut(r, control.Start{Epoch: epoch, Rounds: r.Block.Before(epoch)})
		}
	case core.Reports:
		if f := flightOf(r, r.Instruments()); f != nil {
			e.Result.InFlight, e.Result.InFlightSeen = f.Expected, f.Seen
		}
	case core.Ends:
		close(a.stopped)
	case core.Closes:
		a.close()
	case core.Closed:
		close(a.over)
	}
	return nil
}

// ask has the coordinator answer a request of another process. Any goroutine may call it.
func (a *ability) ask(r *core.Run, q rundir.Request) (answer rundir.Answer) {
	done := make(chan struct{})
	select {
	case r.Inbox <- func() error {
		defer close(done)
		answer = a.reply(r, q)
		return a.applyPending(r) // before the answer, if it can be
	}:
		<-done
	case <-a.stopped:
		answer.Error = "the run is ending"
	case <-a.over: // it has ended before it began
		answer.Error = "the run is ending"
	}
	return answer
}
