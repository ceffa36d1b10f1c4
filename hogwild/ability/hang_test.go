package ability_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
)

// TestHungWorkerIsReplaced: one that is stopped for good is named, killed, and replaced; nothing is lost, in any mode.
func TestHungWorkerIsReplaced(t *testing.T) {
	for _, mode := range []string{"async", "atomic", "locked", "ordered", "sync", "delayed:3"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			c := configtest.Quick(t)
			c.Model, c.Workers, c.Mode, c.Batch, c.Epochs, c.HangTimeout = "slower", 3, config.MustMode(mode), 16, 5,
				runtest.HangTimeout
			if strings.HasPrefix(mode, "delayed") {
				c.Workers, c.Batch = 1, 64
			}
			p := runtest.StartCoordinator(t, c)
			victim := c.Workers - 1
			runtest.Await(t, "a chunk", func() bool { return p.Block.Rank(victim, control.RankSteps) > 0 })
			pid := p.Block.Rank(victim, control.RankPID)
			if err := syscall.Kill(int(pid), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err != nil {
				t.Fatalf("%v: %s", err, &p.Stderr)
			}
			got := p.Result()
			if got.Examples != 5*2000 || got.LostExamples != 0 || got.Restarts != 1 {
				t.Errorf("%d examples, %d lost, %d restarts", got.Examples, got.LostExamples, got.Restarts)
			}
			who := fmt.Sprintf("worker %d (pid %d) ", victim, pid)
			p.WantEvents(who+"has not moved for 500ms, state T (stopped); it is replaced after 1s (--hang-timeout)",
				who+"was killed: it had not moved for 1s, state T (stopped): restarted, 1 of 3")
		})
	}
}

// TestHungAtStart: a worker that is stopped before it trains is replaced too.
func TestHungAtStart(t *testing.T) {
	t.Setenv(fault.Variable, "worker.join:stop/1")
	c := configtest.Quick(t)
	c.Workers, c.Mode, c.HangTimeout = 2, config.MustMode("sync"), runtest.HangTimeout
	p := runtest.StartCoordinator(t, c)
	if err := p.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &p.Stderr)
	}
	if got := p.Result(); got.Restarts != 1 || got.LostExamples != 0 ||
		!strings.Contains(p.Stderr.String(), "it had not moved for 1s, state T (stopped): restarted") {
		t.Errorf("%d restarts, %d lost: %s", got.Restarts, got.LostExamples, &p.Stderr)
	}
}

// TestNeverHung: with a timeout of 0 a worker that is stopped is waited for.
func TestNeverHung(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Workers, c.Batch, c.HangTimeout = "slow", 2, 16, 0
	r := runtest.Start(t, c)
	r.Reach(1, 100)
	pid := r.PID(0)
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
		if s == syscall.SIGSTOP {
			time.Sleep(runtest.HangTimeout + workers.NewWatch(0).Every()/2)
		}
	}
	if got, err := r.Wait(); err != nil || got.Restarts != 0 || len(got.Events) != 0 {
		t.Errorf("%d restarts, events %q, %v", got.Restarts, got.Events, err)
	}
}

// TestNotHung: no process is killed that waits for others or is within a long step, nor because the whole run was
// stopped, as by Ctrl-Z, for longer than the timeout.
func TestNotHung(t *testing.T) {
	if testing.Short() {
		t.Skip("only without -short")
	}
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		// Each step of one worker sleeps longer than all steps of the others take.
		{"async", func(c *config.Config) {}},
		{"sync", func(c *config.Config) { c.Mode = config.MustMode("sync") }},
		{"ordered", func(c *config.Config) { c.Mode = config.MustMode("ordered") }},
		{"locked", func(c *config.Config) { c.Mode = config.MustMode("locked") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := configtest.Quick(t)
			cfg.Model, cfg.Workers, cfg.Batch, cfg.HangTimeout, cfg.Epochs = "slowest", 3, 64, runtest.HangTimeout, 2
			c.edit(&cfg)
			p := runtest.StartCoordinator(t, cfg)
			runtest.Await(t, "a step", func() bool { return p.Block.Rank(0, control.RankFirst) > 0 })
			all := append([]int{p.Cmd.Process.Pid}, p.Workers...)
			for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
				for _, pid := range all {
					if err := syscall.Kill(pid, s); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(2 * runtest.HangTimeout)
			}
			if err := p.Wait(); err != nil {
				t.Fatalf("%v: %s", err, &p.Stderr)
			}
			if got := p.Result(); got.Restarts != 0 || got.Examples != 4000 {
				t.Errorf("%d restarts, %d examples", got.Restarts, got.Examples)
			}
			p.WantEvents()
		})
	}
}

// TestWaitForLockSleeps: where the worker that has the lock is stopped, the others sleep: they use no core.
func TestWaitForLockSleeps(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Workers, c.Mode, c.Batch, c.LR, c.Epochs, c.SaveEvery = "heavy", 3, config.MustMode("locked"), 10, 1,
		1000, "0"
	r := runtest.Start(t, c)
	m := runtest.SharedWeights(t, c)
	r.Reach(1, 100)
	pid, signal := r.PID(0), syscall.SIGSTOP
	defer syscall.Kill(pid, syscall.SIGCONT)
	runtest.Await(t, "a stop with a lock", func() bool {
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
		if signal == syscall.SIGCONT {
			signal = syscall.SIGSTOP
			return false
		}
		runtest.Await(t, "the stop", func() bool { return runtest.Stopped(pid) })
		signal = syscall.SIGCONT
		return runtest.Holds(m, 0)
	})
	for _, rank := range []int{1, 2} {
		asleep := 0
		runtest.Await(t, "the sleep of another", func() bool {
			if asleep++; !sleeps(t, r.PID(rank), r.Block.Rank(rank, control.RankThread)) {
				asleep = 0
			}
			return asleep == 20
		})
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.Reach(r.Block.Get(control.WordEpoch)+1, 100)
	if err := m.Seg.Close(); err != nil {
		t.Error(err)
	}
	r.Stop()
	if got, err := r.Wait(); err == nil || got.Restarts != 0 {
		t.Errorf("%d restarts, %v", got.Restarts, err)
	}
}

// sleeps reports whether a thread does.
func sleeps(t *testing.T, pid int, thread uint64) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, thread))
	if err != nil {
		t.Fatal(err)
	}
	return !strings.Contains(string(text), "State:\tR")
}

// TestNoConvoy: on a machine that is busy with something else, two workers that take turns are not much slower than
// one.
func TestNoConvoy(t *testing.T) {
	if testing.Short() {
		t.Skip("only without -short")
	}
	for range 2 * runtime.NumCPU() {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		busy.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		defer busy.Wait()
		defer busy.Process.Kill()
	}
	speed := func(workers int) float64 {
		c := configtest.Quick(t)
		c.Mode, c.Workers, c.Batch, c.Epochs, c.SaveEvery = config.MustMode("ordered"), workers, 16, 10_000, "0"
		r := runtest.Start(t, c)
		r.Reach(1, 1000)
		from := time.Now()
		time.Sleep(time.Second)
		r.Stop()
		got, _ := r.Wait()
		return float64(got.Examples) / time.Since(from).Seconds()
	}
	ratio := 0.0
	for range 3 { // once is enough: the machine may have paused
		one := speed(1)
		if ratio = max(ratio, speed(2)/one); ratio > 0.2 {
			return
		}
	}
	t.Errorf("two workers reach %.3f of the speed of one; in a convoy it is about 0.02", ratio)
}
