package rundir_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
)

// TestOneCoordinatorAFolder: while a run is stopped by Ctrl-Z no other process can resume it or begin another one in
// its folder. It continues to its end as if nothing had happened. When it is killed, the lock is free.
func TestOneCoordinatorAFolder(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Epochs, c.SaveEvery = "slower", 3, "30ms"
	p := runtest.StartCoordinator(t, c)
	runtest.Await(t, "a first snapshot", func() bool { return rundir.HasSnapshot(c.Run) })
	p.StopAll(syscall.SIGSTOP)
	before := runtest.State(t, c.Run)
	for name, other := range map[string]config.Config{"resumed": runtest.Resumed(c), "new": c} {
		_, err := runtest.Try(t, other)
		want := fmt.Sprintf("a run is going on in %s (pid %d, stopped: kill -CONT %[2]d continues it)", c.Run,
			p.Cmd.Process.Pid)
		if !errors.Is(err, config.ErrUsage) || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
	}
	for name, text := range runtest.State(t, c.Run) {
		if before[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	if pid, live := rundir.Live(c.Run); !live || pid != p.Cmd.Process.Pid {
		t.Errorf("Live: %d, %v", pid, live)
	}
	p.StopAll(syscall.SIGCONT)
	if err := p.Wait(); err != nil || p.Result().Examples != 3*2000 {
		t.Errorf("continued, it ended with %v and %d examples", err, p.Result().Examples)
	}
	if _, live := rundir.Live(c.Run); live {
		t.Error("the folder is still locked")
	}
	runtest.NoHalves(t, c.Run)

	c.Run = t.TempDir()
	p = runtest.StartCoordinator(t, c)
	runtest.Await(t, "a first snapshot", func() bool { return rundir.HasSnapshot(c.Run) })
	p.StopAll(syscall.SIGSTOP)
	p.Signal(syscall.SIGKILL)
	_ = p.Wait()
	if got := runtest.Train(t, runtest.Resumed(c)); got.Examples != 3*2000 {
		t.Errorf("resumed after the kill: %d examples", got.Examples)
	}
	runtest.NoHalves(t, c.Run)
}

// TestRunsThatBeginAtOnce in one second, with names that they choose, have a folder each.
func TestRunsThatBeginAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	c := configtest.Quick(t)
	c.Run, c.Epochs, c.Data = "", 1, "digits:500"
	var all sync.WaitGroup
	folders := make(chan string, 4)
	for range cap(folders) {
		all.Go(func() {
			r, err := run.Run(t.Context(), c, run.Options{})
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
		runtest.NoHalves(t, dir)
	}
}

// TestFolderWithoutLocks: the file system has none. The run says so and trains.
func TestFolderWithoutLocks(t *testing.T) {
	c := configtest.Quick(t)
	c.Data, c.Epochs = "digits:500", 1
	t.Setenv(fault.Variable, "folder.lock:error=ENOLCK@every")
	out, err := runtest.Command(t, c).CombinedOutput()
	if err != nil || strings.Count(string(out), "its file system has no locks") != 1 {
		t.Errorf("%v: %s", err, out)
	}
	runtest.Whole(t, c.Run, 1)
}
