package run

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/shm"
)

// kill ends a process at once, and waits until it is gone.
func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the process", func() bool { return !shm.Alive(pid) })
}

// undisturbed is the test loss that c reaches when nobody is killed.
func undisturbed(t *testing.T, c config.Config) float64 {
	t.Helper()
	c.Model, c.Run, c.Resume, c.SaveEvery = "softmax", t.TempDir(), "", "0"
	return train(t, c).TestLoss
}

// asGood fails the test when a run that was disturbed ends with a test loss more than a tenth above that of one that
// was not. Equal runs of several workers differ by 2%; their accuracies by a point, of 333 test rows.
func asGood(t *testing.T, r rundir.Result, want float64) {
	t.Helper()
	if !(r.TestLoss < 1.1*want) {
		t.Errorf("test loss %g, %g when nobody is killed", r.TestLoss, want)
	}
}

// TestKilledWorkers: whoever is killed, and whenever, nothing is lost.
func TestKilledWorkers(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"async", func(c *config.Config) {}},
		{"async contiguous adam", func(c *config.Config) {
			c.Partition, c.Optimizer, c.LR = "contiguous", "adam", 1e-3
		}},
		{"atomic", func(c *config.Config) { c.Mode = config.MustMode("atomic") }},
		{"locked", func(c *config.Config) { c.Mode = config.MustMode("locked") }},
		{"ordered", func(c *config.Config) { c.Mode = config.MustMode("ordered") }},
		{"sync every 2 steps", func(c *config.Config) { c.Mode, c.AverageEvery = config.MustMode("sync"), 2 }},
		{"sync gradients momentum", func(c *config.Config) {
			c.Mode, c.Average, c.Optimizer, c.LR = config.MustMode("sync"), "gradients", "momentum", 0.05
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const kills = 8
			config := quick(t)
			config.Model, config.Workers, config.Batch = "slow", 8, 8
			config.Epochs, config.MaxRestarts = 30, 1000
			c.edit(&config)
			r := start(t, config)
			for range kills {
				time.Sleep(within(20 * time.Millisecond))
				if ended(r.done) {
					t.Fatalf("the run is over too soon: %v", r.err)
				}
				kill(t, r.pid(rand.IntN(config.Workers)))
			}
			got, err := r.wait()
			if err != nil {
				t.Fatal(err)
			}
			if got.Restarts != kills || len(got.Events) != kills {
				t.Errorf("%d restarts, want %d; events:\n%s", got.Restarts, kills, strings.Join(got.Events, "\n"))
			}
			if want := int64(config.Epochs * 2000); got.Examples != want || got.LostExamples != 0 {
				t.Errorf("%d examples, %d lost, want %d", got.Examples, got.LostExamples, want)
			}
			asGood(t, got, undisturbed(t, config))
		})
	}
}

// TestWorkerOverItsLimit: the others go on. Where any worker may train any chunk
// nothing is lost; else it is the share of the one that is gone, and no more.
func TestWorkerOverItsLimit(t *testing.T) {
	const victim = 1
	for _, c := range []struct {
		name  string
		loses bool
		edit  func(*config.Config)
	}{
		{"dynamic", false, func(c *config.Config) {}},
		{"locked", false, func(c *config.Config) { c.Mode = config.MustMode("locked") }},
		{"ordered", false, func(c *config.Config) { c.Mode = config.MustMode("ordered") }},
		{"contiguous", true, func(c *config.Config) { c.Partition = "contiguous" }},
		{"sync weights", true, func(c *config.Config) { c.Mode, c.AverageEvery = config.MustMode("sync"), 2 }},
		{"sync contiguous", true, func(c *config.Config) {
			c.Mode, c.Partition = config.MustMode("sync"),
				"contiguous"
		}},
		{"sync gradients", true, func(c *config.Config) { c.Mode, c.Average = config.MustMode("sync"), "gradients" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := quick(t)
			config.Model, config.Workers, config.MaxRestarts, config.Batch, config.Epochs = "slow", 3, 0, 16, 8
			c.edit(&config)
			r := start(t, config)
			r.reach(1, 300)
			kill(t, r.pid(victim))
			trained := int64(r.block.Rank(victim, control.RankExamples))
			share := int64(r.block.Plan.N / config.Workers)
			if r.block.Plan.Barrier && !r.block.Plan.Shares {
				share = shareOf(&r.block.Plan, victim)
			}
			got, err := r.wait()
			if err != nil {
				t.Fatal(err)
			}
			want := int64(0)
			if c.loses {
				want = int64(config.Epochs)*share - trained
			}
			if got.LostExamples != want || got.Examples != int64(config.Epochs*2000)-want {
				t.Errorf("%d examples, %d lost, want %d lost", got.Examples, got.LostExamples, want)
			}
			if got.Restarts != 0 || len(got.Events) != 1 || !strings.Contains(got.Events[0], "SIGKILL") {
				t.Errorf("%d restarts, events %q", got.Restarts, got.Events)
			}
			if !(*got.TestAccuracy > 0.5) {
				t.Errorf("accuracy %v of the others", *got.TestAccuracy)
			}
		})
	}
}

// shareOf is how many examples of an epoch a rank has in barrier mode.
func shareOf(p *plan.Plan, rank int) (n int64) {
	from, to := p.Owned(rank)
	for i := from; i < to; i++ {
		n += int64(p.At(0, i).Count)
	}
	return n
}

// TestNoWorkerLeft: the run ends with an error, but what it had is saved.
func TestNoWorkerLeft(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			c := quick(t)
			c.Model, c.Workers, c.Mode, c.MaxRestarts, c.Batch = "slower", 2, config.MustMode(mode), 0, 32
			r := start(t, c)
			r.reach(2, 300)
			kill(t, r.pid(0))
			kill(t, r.pid(1))
			got, err := r.wait()
			if err == nil || !strings.Contains(err.Error(), "no worker is left") ||
				errors.Is(err, config.ErrInterrupted) {
				t.Errorf("error %v, want one that says that no worker is left", err)
			}
			if got.Epochs != 1 || got.Examples < 2300 || got.Examples >= 4000 {
				t.Errorf("%d epochs, %d examples, want those until all were killed", got.Epochs, got.Examples)
			}
			saved, err := rundir.ReadRun(c.Run)
			if err != nil || saved.State() != rundir.Failed || !saved.Resumable() ||
				!strings.Contains(saved.Result.Error, "no worker is left") {
				t.Errorf("its folder tells %+v, %v", saved, err)
			}
			end := train(t, resumed(c))
			if want := int64(3 * 2000); end.Examples+end.LostExamples != want ||
				mode == "async" && end.LostExamples > 0 {
				t.Errorf("resumed: %d examples, %d lost, want %d", end.Examples, end.LostExamples, want)
			}
		})
	}
}

// TestStoppedWorker: one that sleeps delays the others at most.
func TestStoppedWorker(t *testing.T) {
	for _, mode := range []string{"async", "locked", "ordered", "sync"} {
		t.Run(mode, func(t *testing.T) {
			c := quick(t)
			c.Model, c.Workers, c.Mode, c.Batch, c.Epochs = "slow", 3, config.MustMode(mode), 16, 8
			r := start(t, c)
			r.reach(1, 300)
			pid := r.pid(2)
			for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
				if err := syscall.Kill(pid, s); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond)
			}
			got, err := r.wait()
			if err != nil || got.Examples != 8*2000 || got.LostExamples != 0 || got.Restarts != 0 {
				t.Errorf("%d examples, %d lost, %d restarts, error %v", got.Examples, got.LostExamples, got.Restarts,
					err)
			}
			if math.IsNaN(got.TrainLoss) || !(*got.TestAccuracy > 0.5) {
				t.Errorf("train loss %v, accuracy %v", got.TrainLoss, *got.TestAccuracy)
			}
		})
	}
}

// TestRestartsComeBack: a worker that trains between its deaths is started again and again; the limit is for one that
// does not.
func TestRestartsComeBack(t *testing.T) {
	c := quick(t)
	c.Model, c.Workers, c.MaxRestarts, c.Batch, c.Epochs = "slow", 2, 1, 16, 1_000_000
	r := start(t, c)
	const kills = 4
	for range kills {
		pid, trained := r.pid(1), r.block.Rank(1, control.RankExamples)
		time.Sleep(1100 * time.Millisecond) // a shorter life counts towards the limit
		await(t, "a chunk", func() bool { return r.block.Rank(1, control.RankExamples) > trained })
		kill(t, pid)
	}
	r.pid(1)
	r.stop()
	if got, err := r.wait(); !errors.Is(err, config.ErrInterrupted) || got.Restarts != kills {
		t.Errorf("%d restarts after %d kills: %v; %q", got.Restarts, kills, err, got.Events)
	}
}
