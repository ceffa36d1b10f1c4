package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"hogwild/internal/fault"
	"hogwild/internal/lastwords"
	"hogwild/internal/self"
	"hogwild/internal/vec"
)

// Process is a worker process.
type Process struct {
	Rank    int
	Hung    string // how it ended, if it is killed because it hung; "": it is not
	cmd     *exec.Cmd
	started time.Time
	stderr  lastwords.Tail
}

// PID returns the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends it at once.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() } // an error means that it has ended

// String names the process.
func (p *Process) String() string { return fmt.Sprintf("worker %d (pid %d)", p.Rank, p.PID()) }

// Exit is the end of a worker.
type Exit struct {
	Rank  int
	PID   int // 0: it could not be started
	Lived time.Duration
	How   string // "was killed by SIGKILL", "exited with status 1: ..."
	Crash Crash
	Clean bool  // with status 0
	Left  bool  // there are fewer workers now
	Err   error // of one in this process
}

// String says who ended, and how.
func (e *Exit) String() string { return fmt.Sprintf("worker %d (pid %d) %s", e.Rank, e.PID, e.How) }

// Keep writes a crash of more than one line to a file in the folder, which it names, or
// returns "" if there is nothing to keep. A second crash of the rank is added to the first.
func (e *Exit) Keep(dir string) string {
	if dir == "" || !strings.Contains(e.Crash.all, "\n") {
		return ""
	}
	path := filepath.Join(dir, fmt.Sprintf("worker-%d.log", e.Rank))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return "" // the line has the reason
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s: %v\n\n%s\n\n", time.Now().Format(time.DateTime), e, e.Crash.all); err != nil {
		return ""
	}
	return path
}

// leftOver is how long processes that a worker's program has left behind may keep the end of the worker
// from being heard of: they have its standard error open.
const leftOver = time.Second

// launcher starts processes. Linux tells a child of its parent's death when the *thread* that started it ends, so all
// are started from the thread of one goroutine, which runs what it is sent.
type launcher chan func()

func newLauncher() launcher {
	l := make(launcher)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		for job := range l {
			job()
		}
	}()
	return l
}

// start starts the worker of a rank, again or for the first time, and calls ended, from another goroutine, however it
// ends.
func (l launcher) start(rank int, again bool, files []*os.File, log *Log, ended func(*Exit)) (*Process, error) {
	if err := fault.Point("worker.start"); err != nil {
		return nil, startError(rank, err)
	}
	p := &Process{Rank: rank, cmd: self.Command(context.Background(), "worker", fmt.Sprint(rank))}
	if log != nil {
		p.stderr.Next = log
	}
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", RankVariable, rank), "GOMAXPROCS=1",
		vec.OffVariable+"="+strings.Join(vec.Off(), ","), fault.Variable+"="+fault.ForWorker(rank, again))
	p.cmd.ExtraFiles = files
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = leftOver
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.started = time.Now()
	result := make(chan error)
	l <- func() { result <- p.cmd.Start() }
	if err := <-result; err != nil {
		return nil, startError(rank, err)
	}
	go func() {
		_ = p.cmd.Wait() // through a pidfd: returns the moment the process is gone
		if log != nil {
			log.Close()
		}
		e := &Exit{Rank: rank, PID: p.PID(), Lived: time.Since(p.started), Crash: ReadCrash(p.stderr.String()),
			Clean: p.cmd.ProcessState.Success()}
		e.How = howEnded(p.cmd.ProcessState.Sys().(syscall.WaitStatus), &e.Crash)
		ended(e)
	}()
	return p, nil
}

// cures are what to do about limits that keep a process from starting.
var cures = map[syscall.Errno]string{syscall.EMFILE: " (raise ulimit -n)",
	syscall.EAGAIN: " (as many processes as ulimit -u, or the container, allows: raise that)"}

func startError(rank int, err error) error {
	var number syscall.Errno
	errors.As(err, &number)
	return fmt.Errorf("starting worker %d: %w%s", rank, err, cures[number])
}
