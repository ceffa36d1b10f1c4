package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/model"
)

// Process is a program that runs and has said hello. One goroutine at a time uses it, but for Kill.
type Process struct {
	Layout   model.Layout // as it said hello
	Language string

	command Command
	cmd     *exec.Cmd
	line    line
	said    *tail         // nil: what it prints goes to a file
	ended   chan struct{} // closed when the process has ended
	asked   bool          // told to leave

	mu   sync.Mutex
	open bool  // the socket
	why  error // it was killed
}

const (
	leaveWithin = 5 * time.Second // what a program does after its batches must be done by then
	pipeWithin  = time.Second     // processes that it has left behind may hold its standard error
	killWithin  = 5 * time.Second // a killed process that is still there is left to the kernel
)

// Start starts a program and waits for its hello. When ctx is done before that, the program is killed and the
// error is ctx's cause. The program is killed, too, when this process ends, however it ends.
func Start(ctx context.Context, c Command) (*Process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("program: a pair of sockets: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	p := &Process{command: c, line: line{fd: pair[0]}, ended: make(chan struct{}), open: true}
	if _, ok := c.Stderr.(*os.File); !ok {
		p.said = &tail{next: c.Stderr}
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
			_ = unix.Shutdown(p.line.fd, unix.SHUT_RDWR)
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
		return p.broke("it speaks version %d of the protocol, and this hogwild version %d", h.Hello, protocol)
	}
	if err := checkLayout(&h.Layout); err != nil {
		return p.broke("%w", err)
	}
	p.Layout, p.Language = h.Layout, h.Language
	return nil
}

// welcome answers hello, and waits until the program is ready. It tells whether it evaluates.
func (p *Process) welcome(w welcome, files []*os.File) (evaluates bool, err error) {
	if err := p.send(w, files...); err != nil {
		return false, err
	}
	var r reply
	if err := p.receive(&r); err != nil {
		return false, err
	}
	if !r.Ready {
		return false, p.broke("its answer to welcome is not ready")
	}
	return r.Evaluates, nil
}

// ask sends a request and waits for the reply.
func (p *Process) ask(q request) (r reply, err error) {
	if err := p.send(q); err != nil {
		return r, err
	}
	return r, p.receive(&r)
}

func (p *Process) send(message any, files ...*os.File) error {
	err := p.line.send(message, files...)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return p.end()
	}
	return err
}

func (p *Process) receive(message any) error {
	err := p.line.receive(message)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return p.end()
	}
	return p.broke("%w", err)
}

// end is the error of a program that has closed its socket: it ends, or is made to.
func (p *Process) end() error {
	if !p.hasEnded(pipeWithin) {
		p.Kill(p.broke("it has closed its socket, and runs on"))
		p.hasEnded(killWithin)
	}
	if why := p.killedBy(); why != nil {
		return why
	}
	return &EndError{How: p.how(), Said: p.Said()}
}

// hasEnded waits for the end of the process.
func (p *Process) hasEnded(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.ended:
		return true
	case <-t.C:
		return false
	}
}

// finish ends the process and what belongs to it.
func (p *Process) finish(why error) {
	p.Kill(why)
	p.hasEnded(killWithin)
	p.shut()
}

// broke is the error of a program that does not keep to the protocol.
func (p *Process) broke(format string, a ...any) error {
	return fmt.Errorf("program %s: "+format, append([]any{p.command.Line}, a...)...)
}

// EndError is the error of a program that has ended before it was told to.
type EndError struct {
	How  string // "exited with status 1", "was killed by SIGKILL"
	Said string // the end of what it printed; "" where that went to a file
}

// Error says how it ended, and the last line that it printed.
func (e *EndError) Error() string {
	text := "the program " + e.How
	if e.Said != "" {
		text += ": " + strings.TrimSpace(e.Said[strings.LastIndexByte(e.Said, '\n')+1:])
	}
	return text
}

// how says how the process ended.
func (p *Process) how() string {
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Signal() == syscall.SIGKILL:
		return "was killed by SIGKILL"
	case status.Signaled():
		return fmt.Sprintf("was killed by %s (%v)", unix.SignalName(status.Signal()), status.Signal())
	case status.ExitStatus() == 0 && !p.asked:
		return "exited with status 0 before it was told to: keep iterating over job.batches()"
	}
	return fmt.Sprintf("exited with status %d", status.ExitStatus())
}

// PID is the process's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Said is the end of what the program has printed; "" where that goes to a file.
func (p *Process) Said() string {
	if p.said == nil {
		return ""
	}
	return p.said.String()
}

// Kill ends the program at once. Whoever waits for it gets the error why. Any goroutine may call it.
func (p *Process) Kill(why error) {
	p.mu.Lock()
	if p.why == nil {
		p.why = why
	}
	p.mu.Unlock()
	_ = p.cmd.Process.Kill() // an error means that it has ended
}

func (p *Process) killedBy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// errClosed is why a program was killed that should have left.
var errClosed = errors.New("the program did not leave in time")

// Close tells the program to leave, and waits until it has ended. One that takes too long is killed.
func (p *Process) Close() error {
	p.asked = true
	if err := p.line.send(request{Leave: true}); err == nil {
		p.hasEnded(leaveWithin)
	}
	select {
	case <-p.ended:
		p.shut()
	default:
		p.finish(fmt.Errorf("%w: %v after it was told to, it was killed", errClosed, leaveWithin))
	}
	if why := p.killedBy(); why != nil {
		return why
	}
	if !p.cmd.ProcessState.Success() {
		return &EndError{How: p.how(), Said: p.Said()}
	}
	return nil
}

// shut closes the socket.
func (p *Process) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		_ = unix.Close(p.line.fd)
		p.open, p.line.fd = false, -1
	}
}

// tail keeps the end of what is written, and passes it on.
type tail struct {
	next io.Writer // nil: nobody else wants it
	mu   sync.Mutex
	text []byte
}

const tailLimit = 16 << 10 // bytes

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailLimit; over > 0 {
		t.text = t.text[:copy(t.text, t.text[over:])]
	}
	t.mu.Unlock()
	if t.next == nil {
		return len(b), nil
	}
	return t.next.Write(b)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
