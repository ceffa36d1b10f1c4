package run

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
	"hogwild/hogwild/control"
	"hogwild/hogwild/workers"
	"hogwild/internal/fault"
)

// hangTimeout is that of tests; healthy workers must live with it on any machine.
const hangTimeout = time.Second

// TestHungWorkerIsReplaced: one that is stopped for good is named, killed, and replaced; nothing is lost, in any mode.
func TestHungWorkerIsReplaced(t *testing.T) {
	for _, mode := range []string{"async", "atomic", "locked", "ordered", "sync", "delayed:3"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel() // they wait most of the time
			c := quick(t)
			c.Model, c.Workers, c.Mode, c.Batch, c.Epochs, c.HangTimeout = "slower", 3, config.MustMode(mode), 16, 5,
				hangTimeout
			if strings.HasPrefix(mode, "delayed") {
				c.Workers, c.Batch = 1, 64
			}
			p := startCoordinator(t, c)
			victim := c.Workers - 1
			await(t, "a chunk", func() bool { return p.block.Rank(victim, control.RankSteps) > 0 })
			pid := p.block.Rank(victim, control.RankPID)
			if err := syscall.Kill(int(pid), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if err := p.wait(); err != nil {
				t.Fatalf("%v: %s", err, &p.stderr)
			}
			got := p.result()
			if got.Examples != 5*2000 || got.LostExamples != 0 || got.Restarts != 1 {
				t.Errorf("%d examples, %d lost, %d restarts", got.Examples, got.LostExamples, got.Restarts)
			}
			who := fmt.Sprintf("worker %d (pid %d) ", victim, pid)
			p.wantEvents(who+"has not moved for 500ms, state T (stopped); it is replaced after 1s (--hang-timeout)",
				who+"was killed: it had not moved for 1s, state T (stopped): restarted, 1 of 3")
		})
	}
}

// wantEvents fails the test unless the coordinator has told of nothing but these.
func (p *coordination) wantEvents(want ...string) {
	p.t.Helper()
	told := 0
	for line := range strings.Lines(p.stderr.String()) {
		if strings.HasPrefix(line, "worker ") {
			if line = strings.TrimSpace(line); told >= len(want) || line != want[told] {
				p.t.Errorf("event %q", line)
			}
			told++
		}
	}
	if told != len(want) {
		p.t.Errorf("%d events, want %d", told, len(want))
	}
}

// TestHungAtStart: a worker that is stopped before it trains is replaced too.
func TestHungAtStart(t *testing.T) {
	t.Setenv(fault.Variable, "worker.join:stop/1")
	c := quick(t)
	c.Workers, c.Mode, c.HangTimeout = 2, config.MustMode("sync"), hangTimeout
	p := startCoordinator(t, c)
	if err := p.wait(); err != nil {
		t.Fatalf("%v: %s", err, &p.stderr)
	}
	if got := p.result(); got.Restarts != 1 || got.LostExamples != 0 ||
		!strings.Contains(p.stderr.String(), "it had not moved for 1s, state T (stopped): restarted") {
		t.Errorf("%d restarts, %d lost: %s", got.Restarts, got.LostExamples, &p.stderr)
	}
}

// TestNeverHung: with a timeout of 0 a worker that is stopped is waited for.
func TestNeverHung(t *testing.T) {
	c := quick(t)
	c.Model, c.Workers, c.Batch, c.HangTimeout = "slow", 2, 16, 0
	r := start(t, c)
	r.reach(1, 100)
	pid := r.pid(0)
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
		if s == syscall.SIGSTOP {
			time.Sleep(hangTimeout + workers.NewWatch(0).Every()/2)
		}
	}
	if got, err := r.wait(); err != nil || got.Restarts != 0 || len(got.Events) != 0 {
		t.Errorf("%d restarts, events %q, %v", got.Restarts, got.Events, err)
	}
}

// TestNotHung: nobody is killed who waits for others or within a long step, nor because the whole run was stopped, as
// by Ctrl-Z, for longer than the timeout.
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
			cfg := quick(t)
			cfg.Model, cfg.Workers, cfg.Batch, cfg.HangTimeout, cfg.Epochs = "slowest", 3, 64, hangTimeout, 2
			c.edit(&cfg)
			p := startCoordinator(t, cfg)
			await(t, "a step", func() bool { return p.block.Rank(0, control.RankFirst) > 0 })
			all := append([]int{p.cmd.Process.Pid}, p.workers...)
			for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
				for _, pid := range all {
					if err := syscall.Kill(pid, s); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(2 * hangTimeout)
			}
			if err := p.wait(); err != nil {
				t.Fatalf("%v: %s", err, &p.stderr)
			}
			if got := p.result(); got.Restarts != 0 || got.Examples != 4000 {
				t.Errorf("%d restarts, %d examples", got.Restarts, got.Examples)
			}
			p.wantEvents()
		})
	}
}

// TestWaitForLockSleeps: where the worker that has the lock is stopped, the others sleep: they use no core.
func TestWaitForLockSleeps(t *testing.T) {
	c := quick(t)
	c.Model, c.Workers, c.Mode, c.Batch, c.LR, c.Epochs, c.SaveEvery = "heavy", 3, config.MustMode("locked"), 10, 1,
		1000, "0"
	r := start(t, c)
	m := sharedWeights(t, c)
	r.reach(1, 100)
	pid, signal := r.pid(0), syscall.SIGSTOP
	defer syscall.Kill(pid, syscall.SIGCONT)
	await(t, "a stop with a lock", func() bool {
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
		if signal == syscall.SIGCONT {
			signal = syscall.SIGSTOP
			return false
		}
		await(t, "the stop", func() bool { return stopped(pid) })
		signal = syscall.SIGCONT
		return holds(m, 0)
	})
	for _, rank := range []int{1, 2} {
		asleep := 0
		await(t, "the sleep of another", func() bool {
			if asleep++; !sleeps(t, r.pid(rank), r.block.Rank(rank, control.RankThread)) {
				asleep = 0
			}
			return asleep == 20
		})
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.reach(r.block.Get(control.WordEpoch)+1, 100)
	if err := m.Seg.Close(); err != nil {
		t.Error(err)
	}
	r.stop()
	if got, err := r.wait(); err == nil || got.Restarts != 0 {
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
		c := quick(t)
		c.Mode, c.Workers, c.Batch, c.Epochs, c.SaveEvery = config.MustMode("ordered"), workers, 16, 10_000, "0"
		r := start(t, c)
		r.reach(1, 1000)
		from := time.Now()
		time.Sleep(time.Second)
		r.stop()
		got, _ := r.wait()
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
