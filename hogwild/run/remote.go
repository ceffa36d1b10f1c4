package run

import (
	"errors"
	"os"
	"time"

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
		r.report.Event("no hogwild scale, top, pause or stop for this run: %v", err)
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
