package run

import (
	"context"
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

// process is one worker process as the coordinator sees it.
type process struct {
	rank    int
	cmd     *exec.Cmd
	started time.Time
	stderr  *lastwords.Tail
	seen    sighting // see hang.go
	hung    string   // how it ended, if it was killed because it hung
}

// sighting is what the last look has seen of a worker.
type sighting struct {
	switches uint64
	still    time.Duration // for how long it has not run, in looks of the coordinator's
	warned   bool
	killed   bool
}

// exit is the end of a worker process.
type exit struct {
	rank  int
	pid   int
	lived time.Duration
	how   string // "was killed by SIGKILL", "exited with status 1: ..."
	crash crash
	clean bool  // with status 0
	err   error // of one in the coordinator's process
}

// leftOver is how long processes that a worker's program has left behind may keep the coordinator from
// hearing of the worker's end: they have its standard error open.
const leftOver = time.Second

// launcher starts worker processes. Linux tells a child of its parent's death when
// the *thread* that started it ends, so all are started from one thread that lives
// as long as the run.
type launcher struct {
	jobs  chan func()
	exits chan exit
	lived map[int]bool // ranks of which a process was started
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func()), exits: make(chan exit, 64), lived: map[int]bool{}}
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
// when it ends, however it ends. The log, if there is one, gets what it prints.
func (l *launcher) start(rank int, files []*os.File, log *programLog) (*process, error) {
	if err := fault.Point("worker.start"); err != nil {
		return nil, fmt.Errorf("starting worker %d: %w", rank, err)
	}
	p := &process{rank: rank, stderr: &lastwords.Tail{}}
	if log != nil {
		p.stderr.Next = log
	}
	p.cmd = self.Command(context.Background(), "worker", fmt.Sprint(rank))
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", rankVariable, rank), "GOMAXPROCS=1",
		vec.OffVariable+"="+strings.Join(vec.Off(), ","), fault.Variable+"="+fault.ForWorker(rank, l.lived[rank]))
	l.lived[rank] = true
	p.cmd.ExtraFiles = files
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = leftOver
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.started = time.Now()
	result := make(chan error)
	l.jobs <- func() { result <- p.cmd.Start() }
	if err := <-result; err != nil {
		return nil, fmt.Errorf("starting worker %d: %w", rank, err)
	}
	go func() {
		_ = p.cmd.Wait() // through a pidfd: returns the moment the process is gone
		if log != nil {
			log.close()
		}
		e := exit{rank: rank, pid: p.pid(), lived: time.Since(p.started), crash: readCrash(p.stderr.String())}
		e.how = howEnded(p.cmd.ProcessState.Sys().(syscall.WaitStatus), &e.crash)
		e.clean = p.cmd.ProcessState.Success()
		l.exits <- e
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process at once.
func (p *process) kill() { _ = p.cmd.Process.Kill() } // an error means that it has ended

// keep writes a crash of more than one line to a file in the run folder, which it names, or
// returns "" if there is nothing to keep. A second crash of the rank is added to the first.
func (e *exit) keep(dir string) string {
	if dir == "" || !strings.Contains(e.crash.all, "\n") {
		return ""
	}
	path := filepath.Join(dir, fmt.Sprintf("worker-%d.log", e.rank))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return "" // the line has the reason
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s: worker %d (pid %d) %s\n\n%s\n\n", time.Now().Format(time.DateTime), e.rank, e.pid, e.how, e.crash.all); err != nil {
		return ""
	}
	return path
}
