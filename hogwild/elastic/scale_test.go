package elastic_test

import (
	"fmt"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// TestScale: while workers come and go every example is trained once in each epoch, and the run
// learns as much as one with a fixed number of them.
func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("only without -short: TestKilledWhileScaled scales too")
	}
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"async", func(c *config.Config) {}},
		{"async private adam", func(c *config.Config) { c.Optimizer, c.LR = "adam", 1e-3 }},
		{"async contiguous", func(c *config.Config) { c.Partition = "contiguous" }},
		{"locked", func(c *config.Config) { c.Mode = config.MustMode("locked") }},
		{"ordered", func(c *config.Config) { c.Mode = config.MustMode("ordered") }},
		{"sync every 2 steps", func(c *config.Config) { c.Mode, c.AverageEvery = config.MustMode("sync"), 2 }},
		{"sync contiguous", func(c *config.Config) {
			c.Mode, c.AverageEvery, c.Partition = config.MustMode("sync"), 2, "contiguous"
		}},
		{"sync private momentum", func(c *config.Config) {
			c.Mode, c.AverageEvery, c.Optimizer, c.LR = config.MustMode("sync"), 2, "momentum", 0.02
		}},
		{"sync gradients adam", func(c *config.Config) {
			c.Mode, c.Average, c.Optimizer, c.LR = config.MustMode("sync"), "gradients", "adam", 1e-3
		}},
		{"sync global batch", func(c *config.Config) {
			c.Mode, c.AverageEvery, c.Batch, c.GlobalBatch = config.MustMode("sync"), 1, 0, 80
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := configtest.Quick(t)
			config.Model, config.Workers, config.Batch, config.Epochs = "slow", 1, 8, 12
			c.edit(&config)
			r := runtest.Start(t, config)
			r.Reach(1, 100)
			for _, n := range []int{8, 2, 5} {
				r.Scale(n)
			}
			got, err := r.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if want := int64(config.Epochs * 2000); got.Examples != want || got.LostExamples != 0 || got.Restarts != 0 {
				t.Errorf("%d examples, %d lost, want %d; %d restarts", got.Examples, got.LostExamples, want,
					got.Restarts)
			}
			trained := int64(0)
			for _, w := range got.PerWorker {
				trained += w.Examples
			}
			if trained != got.Examples {
				t.Errorf("the workers have trained %d examples, the run %d", trained, got.Examples)
			}
			steps := ""
			for _, s := range got.Scales {
				steps += fmt.Sprintf("%d to %d, ", s.From, s.To)
			}
			if steps != "1 to 8, 8 to 2, 2 to 5, " || got.Workers != 5 || len(got.PerWorker) != 8 {
				t.Errorf("%s%d workers at the end, %d in all", steps, got.Workers, len(got.PerWorker))
			}
			config.Workers = 8 // as many as it has had: in sync mode fewer take more steps
			runtest.AsGood(t, got, runtest.Undisturbed(t, config))
		})
	}
}

// TestScaleCentred: one worker and several keep centred weights in different forms.
func TestScaleCentred(t *testing.T) {
	c := configtest.Quick(t)
	c.Data, c.Model, c.Center, c.Epochs, c.Workers, c.Batch, c.LR = "digits:2000", "softmax", "on", 20, 1, 8, 0.05
	c.GradientDelay = 500 * time.Microsecond
	r := runtest.Start(t, c)
	r.Reach(1, 1)
	for _, n := range []int{4, 1, 2} {
		r.Scale(n)
	}
	got, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(c.Epochs * 2000); got.Examples != want {
		t.Errorf("%d examples, want %d", got.Examples, want)
	}
	c.GradientDelay = 0
	runtest.AsGood(t, got, runtest.Undisturbed(t, c))
}

// TestScaleSettings: after a change a run has the settings of a new run with as many workers.
func TestScaleSettings(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Batch, c.LRCap, c.LR, c.Mode, c.Workers = "softmax", 1, "auto", 0.5, config.MustMode("locked"), 1
	c.Center, c.Epochs, c.GradientDelay = "off", 1000, time.Millisecond
	r := runtest.Start(t, c)
	r.Reach(1, 1)
	r.Scale(8)
	r.Ask(rundir.Request{Do: rundir.DoStop})
	got, _ := r.Wait()
	c.Run, c.Workers, c.Epochs, c.GradientDelay = t.TempDir(), 8, 1, 0
	want := runtest.Train(t, c)
	if !want.LRCapped || got.LRUsed != want.LRUsed || got.LRCapped != want.LRCapped ||
		got.MaxInFlight != want.MaxInFlight || got.Merge != want.Merge {
		t.Errorf("lr %v, capped %v, at most %v in flight, %s; a new run has %v, %v, %v, %s", got.LRUsed, got.LRCapped,
			got.MaxInFlight, got.Merge,
			want.LRUsed, want.LRCapped, want.MaxInFlight, want.Merge)
	}
}

// TestScaledRunResumes with the workers that it had when it was saved, within an epoch that was cut
// anew too.
func TestScaledRunResumes(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Model, c.Mode, c.Epochs, c.Batch, c.Workers = "slower", config.MustMode(mode), 2, 20, 1
			if mode == "sync" {
				c.AverageEvery = 1
			}
			r := runtest.Start(t, c)
			r.Reach(1, 50)
			r.Scale(3)
			r.Ask(rundir.Request{Do: rundir.DoStop})
			if _, err := r.Wait(); err == nil {
				t.Fatal("the run has come to its end")
			}
			c, err := rundir.SavedConfig(c.Run)
			if err != nil {
				t.Fatal(err)
			}
			if c.Workers != 3 {
				t.Fatalf("the saved run has %d workers", c.Workers)
			}
			got := runtest.Train(t, c)
			if want := int64(c.Epochs * 2000); got.Examples != want || got.LostExamples != 0 {
				t.Errorf("%d examples, %d lost, want %d", got.Examples, got.LostExamples, want)
			}
			if len(got.Scales) != 1 || got.Workers != 3 {
				t.Errorf("changes %v, %d workers", got.Scales, got.Workers)
			}
		})
	}
}

// TestKilledWhileScaled: workers are killed while others come and go.
func TestKilledWhileScaled(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Model, c.Mode, c.Epochs, c.Batch, c.Workers, c.MaxRestarts = "slow", config.MustMode(mode), 16, 8, 4, 1000
			if mode == "sync" {
				c.AverageEvery = 2
			}
			r := runtest.Start(t, c)
			r.Reach(1, 1)
			for _, n := range []int{8, 2, 6, 1, 4} {
				runtest.Kill(t, r.PID(0))
				r.Ask(rundir.Request{Do: rundir.DoScale, Workers: n})
				time.Sleep(runtest.Within(50 * time.Millisecond))
			}
			got, err := r.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if want := int64(c.Epochs * 2000); got.Examples != want || got.LostExamples != 0 {
				t.Errorf("%d examples, %d lost, want %d", got.Examples, got.LostExamples, want)
			}
		})
	}
}

// TestScaleWithoutGone: a worker that is gone is one of those that are too many. The epochs that follow
// are cut without it.
func TestScaleWithoutGone(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Mode, c.AverageEvery, c.Epochs, c.Batch, c.Workers, c.MaxRestarts = "slow", config.MustMode("sync"), 2,
		8, 8, 3, 0
	r := runtest.Start(t, c)
	r.Reach(1, 100)
	runtest.Kill(t, r.PID(2))
	runtest.Await(t, "a worker that is gone", func() bool {
		return r.Ask(rundir.Request{Do: rundir.DoStatus}).Status.Workers[2].State == "gone"
	})
	r.Scale(2)
	got, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if got.Epochs != c.Epochs || got.PerWorker[2].State != "left" {
		t.Errorf("%d epochs, want %d; worker 2 is %q", got.Epochs, c.Epochs, got.PerWorker[2].State)
	}
}

// TestScaleRefused in words, before anything has changed.
func TestScaleRefused(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Workers, c.Epochs = "slower", 2, 1000
	r := runtest.Start(t, c)
	r.Reach(1, 1)
	for n, says := range map[int]string{0: "give 1 or more", 65: "room for 64", -1: "give 1 or more",
		1 << 40: "workers 1"} {
		_, err := rundir.Ask(c.Run, rundir.Request{Do: rundir.DoScale, Workers: n})
		check.Error(t, err, says)
	}
	r.Stop()
	if _, err := r.Wait(); err == nil {
		t.Error("the run has come to its end")
	}

	c.Mode, c.Workers, c.Run = config.MustMode("delayed:2"), 1, t.TempDir()
	r = runtest.Start(t, c)
	r.Reach(1, 1)
	_, err := rundir.Ask(c.Run, rundir.Request{Do: rundir.DoScale, Workers: 2})
	check.Error(t, err, "one process that simulates all workers")
}
