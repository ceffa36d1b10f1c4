package program

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/internal/lastwords"
	"hogwild/internal/traceback"
)

const (
	pipeWithin = time.Second     // processes that it has left behind may hold its standard error
	exitWithin = 5 * time.Second // after a traceback: a context on a GPU takes a second to end
	killWithin = 5 * time.Second // a killed process that is still there is left to the kernel
)

// end returns the error of a program that has closed its socket: it ends, or is made to.
func (p *Process) end() error {
	if !p.hasEnded(exitWithin) {
		p.Kill(p.protocolError("it has closed its socket, and runs on"))
		p.hasEnded(killWithin)
	}
	if why := p.killedBy(); why != nil {
		return why
	}
	return p.ending()
}

// ending returns the error of a program that has ended.
func (p *Process) ending() error {
	return &EndError{How: p.how(), Said: p.Said(), Killed: p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled()}
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

// protocolError returns the error of a program that does not keep to the protocol.
func (p *Process) protocolError(format string, a ...any) error {
	return fmt.Errorf("program %s: "+format, append([]any{p.command.Line}, a...)...)
}

// EndError is the error of a program that has ended before it was told to.
type EndError struct {
	How    string // "exited with status 1", "was killed by SIGKILL"
	Said   string // the end of what it printed; "" where that went to a file
	Killed bool   // by a signal, of whomever
}

// Error says how it ended, and why: its exception, or else the last line that it printed.
func (e *EndError) Error() string {
	text := "the program " + e.How
	if t, found := traceback.Find(e.Said); found && (t.Fatal || !strings.HasPrefix(e.How, "was killed")) {
		return text + ": " + t.String()
	}
	if last := strings.TrimSpace(e.Said[strings.LastIndexByte(e.Said, '\n')+1:]); last != "" {
		text += ": " + last
	}
	return text
}

// how says how the process ended.
func (p *Process) how() string {
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled() || status.ExitStatus() != 0:
	case len(p.Layout.Tensors) == 0:
		return "exited with status 0 before it was told to: it has not called hogwild.join"
	case !p.asked:
		return "exited with status 0 before it was told to: keep iterating over job.batches()"
	}
	return lastwords.Ended(status)
}

// PID returns the id of the process that computes: the one that was started, unless its hello named another.
func (p *Process) PID() int { return cmp.Or(p.watched, p.cmd.Process.Pid) }

// Said returns the end of what the program has printed; "" where that goes to a file.
func (p *Process) Said() string {
	if p.said == nil {
		return ""
	}
	return p.said.String()
}

// Kill ends the program at once. Calls that wait for it return the error why. Any goroutine may call it.
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

// errClosed is why a program that is no longer needed was killed.
var errClosed = errors.New("the program was not needed any more")

// Close tells the program to leave, and waits until it has ended: what follows its loop takes as long as it takes,
// unless it is killed because it hangs.
func (p *Process) Close() error {
	p.asked = true
	if err := p.line.Send(request{Leave: true}); err != nil {
		_ = p.end() // it was about to
	} else {
		_ = p.await(func() error { <-p.ended; return nil })
	}
	p.shut()
	if why := p.killedBy(); why != nil {
		return why
	}
	if !p.cmd.ProcessState.Success() {
		return p.ending()
	}
	return nil
}

// shut closes the socket.
func (p *Process) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		_ = unix.Close(p.line.FD)
		p.open, p.line.FD = false, -1
	}
}

// await waits for a program, and tells the command meanwhile.
func (p *Process) await(wait func() error) error {
	if awaits := p.command.Awaits; awaits != nil {
		awaits(p)
		defer awaits(nil)
	}
	return wait()
}
