package elastic

import (
	"fmt"

	"hogwild/hogwild/config"
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

// reply carries out a request.
func reply(r *core.Run, q rundir.Request) rundir.Answer {
	says, err := "", error(nil)
	if r.Several() && (q.Do == rundir.DoScale || q.Do == rundir.DoPause || q.Do == rundir.DoContinue) {
		return rundir.Answer{Error: "not possible for a job on several nodes: only top, stop"}
	}
	switch q.Do {
	case rundir.DoStatus:
		s := r.Status(false)
		s.Workers = withChunks(r, s.Workers)
		s.Paused = r.Paused(core.ToPause)
		return rundir.Answer{Status: &s, Chunks: r.Mem.Block.Plan.Chunks()}
	case rundir.DoScale:
		says, err = scale(r, q.Workers)
	case rundir.DoPause:
		says, err = pause(r)
	case rundir.DoContinue:
		says, err = resume(r)
	case rundir.DoStop:
		r.End.Interrupt(config.ErrTerminated)
		says = "stopping: the run is saved"
	default:
		err = fmt.Errorf("%q is no request that this version knows", q.Do)
	}
	if err != nil {
		return rundir.Answer{Error: err.Error()}
	}
	return rundir.Answer{Says: says}
}

// withChunks adds to each worker which chunk it has in hand.
func withChunks(r *core.Run, workers []rundir.WorkerStatus) []rundir.WorkerStatus {
	chunks := r.Mem.Block.InHand(r.Mem.Weights.Ranks)
	all := append([]rundir.WorkerStatus(nil), workers...)
	for i := range all {
		all[i].Chunk = chunks[all[i].Rank]
	}
	return all
}

// pause has the workers wait.
func pause(r *core.Run) (string, error) {
	if r.Paused(core.ToPause) {
		return "paused already", nil
	}
	r.Pause(core.ToPause)
	r.Report.Keep("paused")
	r.Report.Say("paused; resume with: hogwild continue")
	return "paused: each worker finishes its chunk", nil
}

// resume lets them train again.
func resume(r *core.Run) (string, error) {
	if !r.Paused(core.ToPause) {
		return "not paused", nil
	}
	r.Resume(core.ToPause)
	r.Report.Tell("continued")
	return "continued", nil
}
