package elastic

import (
	"errors"
	"os"
	"time"

	"hogwild/hogwild/rundir"
)

// server takes requests from other processes, over the socket in the run folder, and hands them to
// the coordinator, which answers between its other events. A client that is slow, silent or wrong holds up only itself.
type server struct {
	// answer has the coordinator answer, or says that the run is ending
	answer   func(rundir.Request) rundir.Answer
	listener *rundir.Listener
	over     chan struct{} // closed when the run has ended
}

// mostClients are served at once; others are turned away.
const mostClients = 16

// open begins to listen in the run folder, and no longer in the one before, if that is gone. A run that cannot has no
// such requests, and goes on.
func (s *server) open(dir string) error {
	if s.listener != nil {
		_ = s.listener.Close()
		s.listener = nil
	}
	l, err := rundir.Listen(dir)
	if err != nil {
		return err
	}
	s.listener = l
	go s.serve(l)
	return nil
}

// serve accepts connections until the socket is closed.
func (s *server) serve(l *rundir.Listener) {
	clients := make(chan struct{}, mostClients)
	for {
		f, err := l.Accept()
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case err != nil: // too many open files, say
			select {
			case <-s.over:
				return
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		select {
		case clients <- struct{}{}:
			go func() {
				defer f.Close()
				s.serveOne(f)
				<-clients
			}()
		default:
			_ = f.Close()
		}
	}
}

// serveOne answers one request.
func (s *server) serveOne(f *os.File) {
	q, err := rundir.ReadRequest(f)
	if err != nil {
		_ = rundir.WriteAnswer(f, rundir.Answer{Error: "not a request: one line of JSON is expected"})
		return
	}
	if a := s.answer(q); rundir.WriteAnswer(f, a) == nil && q.Do == rundir.DoStop && a.Error == "" {
		<-s.over
	}
}

// close removes the socket.
func (s *server) close() {
	if s.listener != nil {
		_ = s.listener.Close()
	}
}
