package runtest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/self"
	"hogwild/shm"
)

// Coordination is a coordinator in a process of its own, which can be killed.
type Coordination struct {
	t       *testing.T
	Cmd     *exec.Cmd
	stdout  bytes.Buffer
	Stderr  Said
	Block   *control.Block
	Workers []int // their processes
}

// Command returns a coordinator to be started.
func Command(t *testing.T, c config.Config) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := self.Command(context.Background())
	cmd.Env = append(os.Environ(), ConfigVariable+"="+string(text))
	return cmd
}

// StartCoordinator starts one and returns when all its workers train. It is nil
// when the run was over before.
func StartCoordinator(t *testing.T, c config.Config) *Coordination {
	t.Helper()
	p := &Coordination{t: t, Cmd: Command(t, c)}
	p.Cmd.Stdout, p.Cmd.Stderr = &p.stdout, &p.Stderr
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Cmd.Process.Kill() }) // if the test failed
	processes := c.Workers
	if c.Program != "" {
		processes++ // the one that evaluates
	}
	Await(t, "the workers of a coordinator", func() bool {
		p.Workers = Children(p.Cmd.Process.Pid)
		if p.Block == nil {
			p.Block = blockOf(p.Cmd.Process.Pid, nil)
		}
		return p.Block != nil && len(p.Workers) == processes
	})
	return p
}

// Signal sends it a signal.
func (p *Coordination) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// Wait waits for the end, and fails the test if a worker outlives its coordinator.
func (p *Coordination) Wait() error {
	p.t.Helper()
	err := p.Cmd.Wait()
	p.gone()
	return err
}

// gone waits until no worker is there any more: the end of the coordinator ends them too.
func (p *Coordination) gone() {
	p.t.Helper()
	for _, pid := range p.Workers {
		Await(p.t, "the end of a worker without coordinator", func() bool { return !shm.Alive(pid) })
	}
	if err := p.Block.Seg.Close(); err != nil {
		p.t.Error(err)
	}
}

// Result returns what the coordinator printed at its end.
func (p *Coordination) Result() (r rundir.Result) {
	p.t.Helper()
	if err := json.Unmarshal(p.stdout.Bytes(), &r); err != nil {
		p.t.Fatalf("%v in %q; stderr: %s", err, &p.stdout, &p.Stderr)
	}
	return r
}

// Said is what a run has said so far.
type Said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps what is said.
func (s *Said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// String returns what was said.
func (s *Said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Await waits until the run has said something.
func (s *Said) Await(t *testing.T, part string) {
	t.Helper()
	Await(t, part, func() bool { return strings.Contains(s.String(), part) })
}

// Limit sets a limit of the process, and returns what sets it back.
func (p *Coordination) Limit(resource int, to uint64) (back func()) {
	p.t.Helper()
	var was unix.Rlimit
	pid := p.Cmd.Process.Pid
	if err := unix.Prlimit(pid, resource, nil, &was); err != nil {
		p.t.Fatal(err)
	}
	if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: to, Max: was.Max}, nil); err != nil {
		p.t.Fatal(err)
	}
	return func() {
		if err := unix.Prlimit(pid, resource, &was, nil); err != nil {
			p.t.Error(err)
		}
	}
}

// Ends waits for the end of a run, which must be a good one.
func (p *Coordination) Ends(c config.Config) {
	p.t.Helper()
	if err := p.Wait(); err != nil {
		p.t.Fatalf("%v: %s", err, &p.Stderr)
	}
	if n := p.Result().Examples; n != int64(c.Epochs)*300 {
		p.t.Errorf("%d examples", n)
	}
	Whole(p.t, c.Run, c.Epochs)
}

// StopAll sends a signal to a coordinator and its workers, as Ctrl-Z and fg do.
func (p *Coordination) StopAll(s syscall.Signal) {
	p.t.Helper()
	p.Signal(s)
	for _, pid := range p.Workers {
		_ = syscall.Kill(pid, s)
	}
}
