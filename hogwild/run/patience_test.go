package run_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/core"
	"hogwild/hogwild/cpu"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/workers"
)

// hangVariable names a call of the owner. A coordinator of a test that has it in its environment has
// this call made by a GPU that hangs.
const hangVariable = "HOGWILD_TEST_HANG"

// hangTime is the coordinator's patience: a test that interrupts it has this long.
const hangTime = 6 * time.Second

// runHanging does Run by a coordinator with little patience.
func runHanging(ctx context.Context, c config.Config, o run.Options) (rundir.Result, error) {
	c, err := c.Resolve()
	if err != nil {
		return rundir.Result{}, err
	}
	r := run.NewCoordinator(c, o)
	r.Mem.DeviceTimeout = hangTime
	return r.CarryOut(ctx)
}

// hanging is host memory in the place of a GPU.
type hanging struct{ cpu.Backend }

func (h hanging) Own(s *device.Setup) (device.Owner, error) {
	o, err := h.Backend.Own(s)
	return &hangingOwner{Owner: o, setup: s}, err
}

// hangingOwner has one use at a time, as package cuda's: the first call of the name in the
// environment never returns, and no other one from then on.
type hangingOwner struct {
	device.Owner
	setup *device.Setup
	mu    sync.Mutex
}

// Traits returns traits as of a GPU.
func (o *hangingOwner) Traits() device.Traits {
	return device.Traits{Name: o.Owner.Traits().Name, Driver: true}
}

func (o *hangingOwner) used(call string) (done func()) {
	o.mu.Lock()
	if os.Getenv(hangVariable) == call {
		_ = os.WriteFile(hangFile(&o.setup.Job.Asked), nil, 0o666) // the test sees to it
		select {}
	}
	return o.mu.Unlock
}

// hangFile returns the path of a file that is there when the GPU hangs.
func hangFile(c *config.Config) string { return filepath.Join(c.Run, "hangs") }

func (o *hangingOwner) Refresh() error  { defer o.used("Refresh")(); return o.Owner.Refresh() }
func (o *hangingOwner) Download() error { defer o.used("Download")(); return o.Owner.Download() }
func (o *hangingOwner) Notes() []string { defer o.used("Notes")(); return o.Owner.Notes() }
func (o *hangingOwner) Close() error    { defer o.used("Close")(); return o.Owner.Close() }
func (o *hangingOwner) Keep(w []float32, compare bool) ([]bool, error) {
	defer o.used("Keep")()
	return o.Owner.Keep(w, compare)
}
func (o *hangingOwner) Survey(counts bool) (device.Survey, error) {
	defer o.used("Survey")()
	return o.Owner.Survey(counts)
}
func (o *hangingOwner) Score(w []float32, set *data.Set) (model.Score, error) {
	defer o.used("Score")()
	return o.Owner.Score(w, set)
}

// TestHungDevice: when a call that waits for the GPU never returns, a run ends all the same, by
// itself or sooner by an interruption, and the weights that host memory has are saved. A refresh during an evaluation
// is waited for as long as the evaluation.
func TestHungDevice(t *testing.T) {
	tests := []struct {
		call      string
		interrupt bool
		says      []string
	}{
		{"Refresh", false, []string{`has not answered for \d+s`, "saved the copy in host memory"}},
		{"Refresh", true, []string{"has not answered for (1|6)s", "saved the copy in host memory"}},
		{"Download", true, []string{"has not answered for 1s", "saved the copy in host memory"}},
		// 6s: of a copy behind it, where the machine is so busy that both are over at once. See TestPatience of core.
		{"Survey", true, []string{"has not answered for (5|6)s"}},
		{"Score", true, []string{"has not answered for (5|6)s"}},
	}
	var running []*runtest.Coordination // at the same time: all they do is wait
	var configs []config.Config
	for _, test := range tests {
		t.Setenv(hangVariable, test.call)
		c := configtest.Quick(t)
		c.GPU, c.InFlight, c.Model, c.SaveEvery, c.Epochs = "0", 1, "slow", "0", 1000
		if test.call == "Download" { // of what is saved
			c.SaveEvery = "1"
		}
		p := runtest.StartCoordinator(t, c)
		runtest.Await(t, test.call+" to hang", func() bool {
			_, err := os.Stat(hangFile(&c))
			return err == nil
		})
		if test.interrupt {
			p.Signal(syscall.SIGINT)
		}
		running, configs = append(running, p), append(configs, c)
	}
	for i, test := range tests {
		p, c := running[i], configs[i]
		late := time.AfterFunc(runtest.Patience+(1+core.Evaluations)*hangTime, func() {
			t.Errorf("%s hangs, and the run with it", test.call)
			_ = p.Cmd.Process.Kill()
		})
		_ = p.Wait() // what it says counts
		late.Stop()
		for _, says := range test.says {
			if !regexp.MustCompile(says).MatchString(p.Stderr.String()) {
				t.Errorf("%s hangs: %q, want that it says %q", test.call, p.Stderr.String(), says)
			}
		}
		if _, err := rundir.ReadSnapshot(c.Run); err != nil {
			t.Errorf("%s hangs: nothing is saved: %v", test.call, err)
		}
	}
}

// TestWorkersAreAbandonedTogether: the owner is asked for all workers at the same time.
func TestWorkersAreAbandonedTogether(t *testing.T) {
	c := configtest.Quick(t)
	c.Workers = 4
	c, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r := run.NewCoordinator(c, run.Options{Quiet: true})
	o := &abandoning{}
	o.all.Add(c.Workers)
	r.Mem.Owner = o
	t.Setenv(runtest.StartVariable, "sleep")
	r.Mem.Workers = workers.New(c.Workers, 0)
	defer r.Mem.Workers.Close(0)
	for rank := range c.Workers {
		if _, err := r.Mem.Workers.Start(rank, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		r.Kill(r.Mem.Workers.Running()...)
	}()
	runtest.Await(t, "all to be asked for", func() bool { return runtest.Ended(killed) })
	for range c.Workers {
		wasKilled(t, r.Mem.Workers)
	}
}

// wasKilled fails the test unless the next that is heard of a worker is that it was killed.
func wasKilled(t *testing.T, s *workers.Set) {
	t.Helper()
	if dead, _ := s.Take(<-s.Events()); dead == nil || !strings.HasPrefix(dead.How, "was killed by SIGKILL") {
		t.Errorf("a worker ended with %v", dead)
	}
}

// abandoning returns from Abandon when it has been asked for all workers.
type abandoning struct {
	device.Owner
	all sync.WaitGroup
}

func (o *abandoning) Abandon(int) error {
	o.all.Done()
	o.all.Wait()
	return nil
}

// TestWorkerStays: a worker that does not end, though it was killed, does not keep the run.
func TestWorkerStays(t *testing.T) {
	c, err := configtest.Quick(t).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r := run.NewCoordinator(c, run.Options{Quiet: true})
	r.Mem.DeviceTimeout = time.Second
	defer r.Close()
	if err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	t.Setenv(runtest.StartVariable, "sleep")
	r.Mem.Workers = workers.New(1, 0)
	printed, over := make(chan struct{}), make(chan struct{})
	// till then its end is not heard of
	log := workers.NewLog("worker.log", t.TempDir(), func(string) { close(printed); <-over })
	if _, err := r.Mem.Workers.Start(0, nil, log); err != nil {
		t.Fatal(err)
	}
	runtest.Await(t, "the worker", func() bool { return runtest.Ended(printed) })
	halted := make(chan struct{})
	go func() {
		defer close(halted)
		r.Halt()
	}()
	runtest.Await(t, "halt to return", func() bool { return runtest.Ended(halted) })
	if said := strings.Join(r.Report.Events(), "\n"); !strings.Contains(said, "was killed but does not exit") {
		t.Errorf("events %q", said)
	}
	close(over)
	wasKilled(t, r.Mem.Workers) // now it has ended: all is given back
}
