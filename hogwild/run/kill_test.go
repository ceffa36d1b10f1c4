package run_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// TestKilledWorkers: whichever process is killed, and whenever, nothing is lost.
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
			if c.name != "async" && c.name != "ordered" && c.name != "sync gradients momentum" {
				runtest.InFull(t)
			}
			const kills = 8
			config := configtest.Quick(t)
			config.Model, config.Workers, config.Batch = "slow", 8, 8
			config.Epochs, config.MaxRestarts = 30, 1000
			c.edit(&config)
			r := runtest.Start(t, config)
			for range kills {
				time.Sleep(runtest.Within(20 * time.Millisecond))
				if runtest.Ended(r.Done) {
					t.Fatalf("the run is over too soon: %v", r.Err)
				}
				runtest.Kill(t, r.PID(rand.IntN(config.Workers)))
			}
			got, err := r.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if got.Restarts != kills || len(got.Events) != kills {
				t.Errorf("%d restarts, want %d; events:\n%s", got.Restarts, kills, strings.Join(got.Events, "\n"))
			}
			if want := int64(config.Epochs * 2000); got.Examples != want || got.LostExamples != 0 {
				t.Errorf("%d examples, %d lost, want %d", got.Examples, got.LostExamples, want)
			}
			runtest.AsGood(t, got, runtest.Undisturbed(t, config))
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
			config := configtest.Quick(t)
			config.Model, config.Workers, config.MaxRestarts, config.Batch, config.Epochs = "slow", 3, 0, 16, 8
			c.edit(&config)
			r := runtest.Start(t, config)
			r.Reach(1, 300)
			runtest.Kill(t, r.PID(victim))
			trained := int64(r.Block.Rank(victim, control.RankExamples))
			share := int64(r.Block.Plan.N / config.Workers)
			if r.Block.Plan.Barrier && !r.Block.Plan.Shares {
				share = shareOf(&r.Block.Plan, victim)
			}
			got, err := r.Wait()
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

// shareOf returns how many examples of an epoch a rank has in barrier mode.
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
			c := configtest.Quick(t)
			c.Model, c.Workers, c.Mode, c.MaxRestarts, c.Batch = "slower", 2, config.MustMode(mode), 0, 32
			r := runtest.Start(t, c)
			r.Reach(2, 300)
			runtest.Kill(t, r.PID(0))
			runtest.Kill(t, r.PID(1))
			got, err := r.Wait()
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
			end := runtest.Train(t, runtest.Resumed(c))
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
			c := configtest.Quick(t)
			c.Model, c.Workers, c.Mode, c.Batch, c.Epochs = "slow", 3, config.MustMode(mode), 16, 8
			r := runtest.Start(t, c)
			r.Reach(1, 300)
			pid := r.PID(2)
			for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
				if err := syscall.Kill(pid, s); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond)
			}
			got, err := r.Wait()
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
	c := configtest.Quick(t)
	c.Model, c.Workers, c.MaxRestarts, c.Batch, c.Epochs = "slow", 2, 1, 16, 1_000_000
	r := runtest.Start(t, c)
	const kills = 4
	for range kills {
		pid, trained := r.PID(1), r.Block.Rank(1, control.RankExamples)
		time.Sleep(1100 * time.Millisecond) // a shorter life counts towards the limit
		runtest.Await(t, "a chunk", func() bool { return r.Block.Rank(1, control.RankExamples) > trained })
		runtest.Kill(t, pid)
	}
	r.PID(1)
	r.Stop()
	if got, err := r.Wait(); !errors.Is(err, config.ErrInterrupted) || got.Restarts != kills {
		t.Errorf("%d restarts after %d kills: %v; %q", got.Restarts, kills, err, got.Events)
	}
}
