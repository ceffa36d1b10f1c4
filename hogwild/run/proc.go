package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/internal/self"
	"hogwild/internal/vec"
)

// process is one worker process as the coordinator sees it.
type process struct {
	rank    int
	cmd     *exec.Cmd
	started time.Time
	stderr  *head
}

// exit is the end of a worker process.
type exit struct {
	rank   int
	pid    int
	lived  time.Duration
	killed bool   // by a signal
	how    string // "was killed by SIGKILL", "exited with status 1: ..."
	err    error  // of one in the coordinator's process
}

// launcher starts worker processes. Linux tells a child of its parent's death when
// the *thread* that started it ends, so all are started from one thread that lives
// as long as the run.
type launcher struct {
	jobs  chan func()
	exits chan exit
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func()), exits: make(chan exit, 64)}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		for job := range l.jobs {
			job()
		}
	}()
	return l
}

// close ends the thread. Workers that still run are killed by the kernel.
func (l *launcher) close() { close(l.jobs) }

// start runs this same binary again as the worker of a rank, and sends to exits
// when it ends, however it ends.
func (l *launcher) start(rank int, files []*os.File) (*process, error) {
	p := &process{rank: rank, stderr: &head{}}
	p.cmd = self.Command(context.Background(), "worker", fmt.Sprint(rank))
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", rankVariable, rank), "GOMAXPROCS=1",
		vec.OffVariable+"="+strings.Join(vec.Off(), ","))
	p.cmd.ExtraFiles = files
	p.cmd.Stderr = p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.started = time.Now()
	result := make(chan error)
	l.jobs <- func() { result <- p.cmd.Start() }
	if err := <-result; err != nil {
		return nil, fmt.Errorf("starting worker %d: %w", rank, err)
	}
	go func() {
		_ = p.cmd.Wait() // through a pidfd: returns the moment the process is gone
		how, killed := p.how()
		l.exits <- exit{rank: rank, pid: p.pid(), lived: time.Since(p.started), killed: killed, how: how}
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process at once.
func (p *process) kill() { _ = p.cmd.Process.Kill() } // an error means that it has ended

// how says in words how a process that has ended came to its end.
func (p *process) how() (text string, killed bool) {
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return "was killed by " + unix.SignalName(status.Signal()), true
	}
	text = fmt.Sprintf("exited with status %d", status.ExitStatus())
	if said := p.stderr.String(); said != "" {
		text += ": " + said
	}
	return text, false
}

// head keeps the first lines that a worker writes to its standard error: of a
// crash, those that say what it was.
type head struct {
	mu   sync.Mutex
	text []byte
}

const headLimit = 600

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, b[:min(len(b), headLimit-len(h.text))]...)
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.TrimSpace(string(h.text))
}
