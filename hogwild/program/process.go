package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/model"
	"hogwild/internal/lastwords"
	"hogwild/internal/wire"
)

// Process is a program that runs and has said hello. One goroutine at a time uses it, but for Kill.
type Process struct {
	Layout   model.Layout // as it said hello
	Language string

	command Command
	cmd     *exec.Cmd
	line    wire.Line
	said    *lastwords.Tail // nil: what it prints goes to a file
	ended   chan struct{}   // closed when the process has ended
	asked   bool            // told to leave
	watched int             // the process that computes, by its hello; 0: cmd's

	mu   sync.Mutex
	open bool  // the socket
	why  error // it was killed
}

// Start starts a program and waits for its hello. When ctx is done before that, the program is killed and the
// error is ctx's cause. The program is killed, too, when this process ends, however it ends.
func Start(ctx context.Context, c Command) (*Process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("program: a pair of sockets: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	p := &Process{command: c, line: wire.Line{FD: pair[0]}, ended: make(chan struct{}), open: true}
	if _, ok := c.Stderr.(*os.File); !ok {
		p.said = &lastwords.Tail{Next: c.Stderr}
		c.Stderr = p.said
	}
	if p.cmd, err = c.command(theirs); err == nil {
		err = p.launch()
	}
	if err != nil {
		p.shut()
		return nil, err
	}
	theirs.Close() // else there is no end of file
	stop := context.AfterFunc(ctx, func() { p.Kill(context.Cause(ctx)) })
	defer stop()
	if err := p.greet(); err != nil {
		p.finish(err)
		return nil, err
	}
	return p, nil
}

// launch starts the process. Linux tells a child of its parent's death when the thread that started it
// ends: this one ends after the child.
func (p *Process) launch() error {
	p.cmd.WaitDelay = pipeWithin
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = p.cmd.Wait() // its state says how it ended
		// Processes that the program has started may hold its end of the socket.
		p.mu.Lock()
		if p.open {
			_ = unix.Shutdown(p.line.FD, unix.SHUT_RDWR)
		}
		p.mu.Unlock()
		close(p.ended)
	}()
	err := <-started
	if err != nil {
		err = fmt.Errorf("program %s: %w", p.command.Line, err)
	}
	return err
}

// greet reads the hello.
func (p *Process) greet() error {
	var h hello
	if err := p.receive(&h); err != nil {
		return err
	}
	if h.Hello != protocol {
		return p.protocolError("it speaks version %d of the protocol, and this hogwild version %d", h.Hello, protocol)
	}
	if err := checkLayout(&h.Layout); err != nil {
		return p.protocolError("%w", err)
	}
	p.Layout, p.Language, p.watched = h.Layout, h.Language, max(0, h.PID)
	return nil
}

// welcome answers hello, and waits until the program is ready.
func (p *Process) welcome(w welcome, files []*os.File) (r reply, err error) {
	if err = p.send(w, files...); err == nil {
		err = p.receive(&r)
	}
	if err == nil && !r.Ready {
		err = p.protocolError("its answer to welcome is not ready")
	}
	return r, err
}

// ask sends a request and waits for the reply.
func (p *Process) ask(q request) (r reply, err error) {
	if err := p.send(q); err != nil {
		return r, err
	}
	return r, p.receive(&r)
}

func (p *Process) send(message any, files ...*os.File) error {
	err := p.line.Send(message, files...)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return p.end()
	}
	return err
}

func (p *Process) receive(message any) error {
	err := p.await(func() error { return p.line.Receive(message) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return p.end()
	}
	return p.protocolError("%w", err)
}
