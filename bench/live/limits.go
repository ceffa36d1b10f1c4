package live

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// The server is part of a process that trains and saves. However many look at it, and however they
// behave, enough file descriptors must remain for the run.
const (
	mostStreams     = 64       // of events; each is a browser's window
	mostConnections = 128      // at once; others wait in the kernel, where they take nothing of this process
	mostHeader      = 16 << 10 // bytes of a request's
)

// connections is how many connections this process can afford: a quarter of its descriptors at most.
func connections() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return mostConnections
	}
	return int(max(1, min(mostConnections, files.Cur/4)))
}

// limited is a listener that accepts a connection when there is room for it.
type limited struct {
	net.Listener
	room   chan struct{}
	closed chan struct{}
	close  func() error
}

func limit(l net.Listener, connections int) *limited {
	closed := make(chan struct{})
	return &limited{l, make(chan struct{}, connections), closed, sync.OnceValue(func() error {
		close(closed)
		return l.Close()
	})}
}

// Accept waits for room, then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &counted{c, sync.OnceFunc(func() { <-l.room })}, nil
}

// Close ends the wait for room, too.
func (l *limited) Close() error { return l.close() }

// counted is a connection that makes room when it is closed.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
