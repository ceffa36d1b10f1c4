package run

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
)

// stopAll sends a signal to a coordinator and its workers, as Ctrl-Z and fg do.
func (p *coordination) stopAll(s syscall.Signal) {
	p.t.Helper()
	p.signal(s)
	for _, pid := range p.workers {
		_ = syscall.Kill(pid, s)
	}
}

// TestOneCoordinatorAFolder: while a run is stopped by Ctrl-Z nobody else can resume it or begin another one in its
// folder. It continues to its end as if nothing had happened. When it is killed, the lock is free.
func TestOneCoordinatorAFolder(t *testing.T) {
	c := quick(t)
	c.Model, c.Epochs, c.SaveEvery = "slower", 3, "30ms"
	p := startCoordinator(t, c)
	await(t, "a first snapshot", func() bool { return rundir.HasSnapshot(c.Run) })
	p.stopAll(syscall.SIGSTOP)
	before := state(t, c.Run)
	for name, other := range map[string]config.Config{"resumed": resumed(c), "new": c} {
		_, err := try(t, other)
		want := fmt.Sprintf("a run is going on in %s (pid %d, stopped: kill -CONT %[2]d continues it)", c.Run,
			p.cmd.Process.Pid)
		if !errors.Is(err, config.ErrUsage) || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
	for name, text := range state(t, c.Run) {
		if before[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	if pid, live := rundir.Live(c.Run); !live || pid != p.cmd.Process.Pid {
		t.Errorf("Live: %d, %v", pid, live)
	}
	p.stopAll(syscall.SIGCONT)
	if err := p.wait(); err != nil || p.result().Examples != 3*2000 {
		t.Errorf("continued, it ended with %v and %d examples", err, p.result().Examples)
	}
	if _, live := rundir.Live(c.Run); live {
		t.Error("the folder is still locked")
	}
	noHalves(t, c.Run)

	c.Run = t.TempDir()
	p = startCoordinator(t, c)
	await(t, "a first snapshot", func() bool { return rundir.HasSnapshot(c.Run) })
	p.stopAll(syscall.SIGSTOP)
	p.signal(syscall.SIGKILL)
	_ = p.wait()
	if got := train(t, resumed(c)); got.Examples != 3*2000 {
		t.Errorf("resumed after the kill: %d examples", got.Examples)
	}
	noHalves(t, c.Run)
}

// TestRunsThatBeginAtOnce in one second, with names that they choose, have a folder each.
func TestRunsThatBeginAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	c := quick(t)
	c.Run, c.Epochs, c.Data = "", 1, "digits:500"
	var all sync.WaitGroup
	folders := make(chan string, 4)
	for range cap(folders) {
		all.Go(func() {
			r, err := Run(t.Context(), c, Options{})
			if err != nil {
				t.Error(err)
			}
			folders <- r.Run
		})
	}
	all.Wait()
	close(folders)
	seen := map[string]bool{}
	for dir := range folders {
		if !strings.HasPrefix(dir, "runs/") || seen[dir] {
			t.Errorf("run folder %q, and before it %v", dir, seen)
		}
		seen[dir] = true
		noHalves(t, dir)
	}
}

// TestFolderWithoutLocks: the file system has none. The run says so and trains.
func TestFolderWithoutLocks(t *testing.T) {
	c := quick(t)
	c.Data, c.Epochs = "digits:500", 1
	t.Setenv(fault.Variable, "folder.lock:error=ENOLCK@every")
	out, err := command(t, c).CombinedOutput()
	if err != nil || strings.Count(string(out), "its file system has no locks") != 1 {
		t.Errorf("%v: %s", err, out)
	}
	whole(t, c.Run, 1)
}
