package run

import (
	"errors"
	"fmt"
	"os"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
)

// remote takes requests from other processes, over the socket in the run folder, and hands them to
// the coordinator, which answers between its other events. A client that is slow, silent or wrong
// holds up nobody but itself.
type remote struct {
	listener *rundir.Listener
	orders   chan order
	deaf     chan struct{} // closed when the coordinator takes no more orders
	over     chan struct{} // closed when the run has ended
}

// order is a request that the coordinator is to answer.
type order struct {
	rundir.Request
	answer chan<- rundir.Answer // with room for one
}

func newRemote() remote {
	return remote{orders: make(chan order), deaf: make(chan struct{}), over: make(chan struct{})}
}

// mostClients are served at once; others are turned away.
const mostClients = 16

// takeRequests opens the socket in the run folder.
func (r *task) takeRequests() {
	if !r.peers.First() {
		return
	}
	if err := r.remote.open(r.dir); err != nil {
		r.report.event("no hogwild scale, top, pause or stop for this run: %v", err)
	}
}

// open begins to listen in the run folder, and no longer in the one before, if that is gone. A run that cannot has no
// such requests, and goes on.
func (m *remote) open(dir string) error {
	if m.listener != nil {
		_ = m.listener.Close()
		m.listener = nil
	}
	l, err := rundir.Listen(dir)
	if err != nil {
		return err
	}
	m.listener = l
	go m.serve(l)
	return nil
}

// serve accepts connections until the socket is closed.
func (m *remote) serve(l *rundir.Listener) {
	room := make(chan struct{}, mostClients)
	for {
		f, err := l.Accept()
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case err != nil: // too many open files, say
			select {
			case <-m.over:
				return
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		select {
		case room <- struct{}{}:
			go func() {
				defer f.Close()
				m.talk(f)
				<-room
			}()
		default:
			_ = f.Close()
		}
	}
}

// talk answers one request.
func (m *remote) talk(f *os.File) {
	q, err := rundir.ReadRequest(f)
	if err != nil {
		_ = rundir.WriteAnswer(f, rundir.Answer{Error: "not a request: one line of JSON is expected"})
		return
	}
	answer := make(chan rundir.Answer, 1)
	select {
	case m.orders <- order{q, answer}:
	case <-m.deaf:
		_ = rundir.WriteAnswer(f, rundir.Answer{Error: "the run is ending"})
		return
	case <-m.over:
		return
	}
	a := <-answer
	if rundir.WriteAnswer(f, a) == nil && q.Do == rundir.DoStop && a.Error == "" {
		<-m.over
	}
}

// close removes the socket.
func (m *remote) close() {
	if m.listener != nil {
		_ = m.listener.Close()
	}
}

// obey carries out a request.
func (r *elastic) obey(q rundir.Request) rundir.Answer {
	says, err := "", error(nil)
	if r.several() && (q.Do == rundir.DoScale || q.Do == rundir.DoPause || q.Do == rundir.DoContinue) {
		return rundir.Answer{Error: "not possible for a job on several nodes: only top, stop"}
	}
	switch q.Do {
	case rundir.DoStatus:
		s := r.report.latest
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
	r.report.note("paused")
	r.report.display.event("paused; resume with: hogwild continue")
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
	r.report.note("continued")
	r.report.display.event("continued")
	return "continued", nil
}
