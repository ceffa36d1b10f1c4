package run

import (
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
)

// obey carries out a request.
func (r *elastic) obey(q rundir.Request) rundir.Answer {
	says, err := "", error(nil)
	if r.several() && (q.Do == rundir.DoScale || q.Do == rundir.DoPause || q.Do == rundir.DoContinue) {
		return rundir.Answer{Error: "not possible for a job on several nodes: only top, stop"}
	}
	switch q.Do {
	case rundir.DoStatus:
		s := r.shown.latest
		if s.Kind == "" { // nothing was shown yet
			s = r.status()
		}
		s.Workers = r.withChunks(s.Workers)
		s.Paused = r.halted.asked
		return rundir.Answer{Status: &s, Chunks: r.block.Plan.Chunks()}
	case rundir.DoScale:
		says, err = r.scale(q.Workers)
	case rundir.DoPause:
		says, err = r.suspend()
	case rundir.DoContinue:
		says, err = r.resume()
	case rundir.DoStop:
		r.cancel(config.ErrTerminated)
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
func (r *elastic) withChunks(workers []rundir.WorkerStatus) []rundir.WorkerStatus {
	chunks := r.block.InHand(r.mem.Ranks)
	all := append([]rundir.WorkerStatus(nil), workers...)
	for i := range all {
		all[i].Chunk = chunks[all[i].Rank]
	}
	return all
}

// suspend has the workers wait.
func (r *elastic) suspend() (string, error) {
	if r.halted.asked {
		return "paused already", nil
	}
	r.halted.asked = true
	r.hold()
	r.report.Keep("paused")
	r.report.Say("paused; resume with: hogwild continue")
	return "paused: each worker finishes its chunk", nil
}

// resume lets them train again.
func (r *elastic) resume() (string, error) {
	if !r.halted.asked {
		return "not paused", nil
	}
	if since := r.halted.since; since != 0 {
		r.halted.lasted += control.Monotonic() - since
	}
	r.halted.asked, r.halted.since = false, 0
	r.letGo()
	r.report.Tell("continued")
	return "continued", nil
}
