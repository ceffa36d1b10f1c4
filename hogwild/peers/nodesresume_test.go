package peers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// interruptedJob returns a job on three nodes that was interrupted within an epoch, to be resumed until the end of the
// one after that.
func interruptedJob(t *testing.T, c config.Config) config.Config {
	t.Helper()
	c.Model, c.SaveEvery, c.Epochs = "slow", "20ms", 100_000
	for {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		over := make(chan struct{})
		j := startNodes(ctx, 3, time.Minute, c, nil)
		go func() {
			j.all.Wait()
			close(over)
		}()
		runtest.Await(t, "a snapshot within the second epoch", func() bool {
			f, err := rundir.ReadSnapshot(c.Run)
			return runtest.Ended(over) || err == nil && f.Pos.Epoch >= 2 && f.Pos.Within
		})
		stop()
		<-over
		for i, err := range j.errs {
			if !errors.Is(err, config.ErrInterrupted) {
				t.Fatalf("node %d: %v", i, err)
			}
		}
		c = runtest.Resumed(c)
		f, err := rundir.ReadSnapshot(c.Run)
		if err != nil {
			t.Fatal(err)
		}
		if f.Pos.Within { // else the epoch ended just then
			c.Epochs = int(f.Pos.Epoch) + 1
			return c
		}
	}
}

// isWhole fails the test if a node did not end well, or an example was not trained once in each epoch.
func isWhole(t *testing.T, c config.Config, results []rundir.Result, errs []error) {
	t.Helper()
	for i, r := range results {
		// 2.3 untrained
		if errs[i] != nil || r.Examples != int64(c.Epochs*2000) || r.LostExamples != 0 || r.Epochs != c.Epochs ||
			!(r.TrainLoss < 1.7) {
			t.Errorf("node %d of %d: %d examples, %d lost, %d of %d epochs, loss %v, %v", i, len(results), r.Examples,
				r.LostExamples, r.Epochs, c.Epochs, r.TrainLoss, errs[i])
		}
	}
}

// TestResumeWithOtherNodes: any number of nodes continues an epoch that three have begun.
func TestResumeWithOtherNodes(t *testing.T) {
	for name, edit := range map[string]func(c *config.Config){
		"async":    func(c *config.Config) {},
		"momentum": func(c *config.Config) { c.Optimizer, c.LR, c.Outer = "momentum", 0.02, "nesterov" },
		"sync":     func(c *config.Config) { c.Mode, c.AverageEvery = config.MustMode("sync"), 2 },
	} {
		t.Run(name, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Workers, c.Batch = 2, 8
			edit(&c)
			c = interruptedJob(t, c)
			for _, n := range []int{1, 2, 4} {
				again := runtest.Resumed(runtest.WithRun(c, t.TempDir()))
				if err := os.CopyFS(again.Run, os.DirFS(c.Run)); err != nil {
					t.Fatal(err)
				}
				results, errs := together(t, n, again, nil)
				isWhole(t, again, results, errs)
			}
		})
	}
}

// TestResumeSharesWithOtherNodes: what is cut for some number of ranks is continued by the same number.
func TestResumeSharesWithOtherNodes(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Mode, c.Partition, c.Workers, c.Batch = config.MustMode(mode), "contiguous", 2, 8
			if mode == "sync" {
				c.AverageEvery = 3
			}
			c = interruptedJob(t, c)
			_, errs := together(t, 2, c, nil)
			check.Error(t, errs[0], "workers on all nodes together 6, this run 4: resume with the same")
			c.Workers = 3
			results, errs := together(t, 2, c, nil)
			isWhole(t, c, results, errs)
		})
	}
}

// TestNodesConclude: a job that was killed before it had a result is concluded on all nodes, and only node 0 writes.
func TestNodesConclude(t *testing.T) {
	c := configtest.Quick(t)
	c.Workers, c.Validation = 2, "0.2"
	before, errs := together(t, 2, c, nil)
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	if err := os.Remove(filepath.Join(c.Run, rundir.ResultFile)); err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	t.Chdir(here)
	after, errs := together(t, 2, runtest.Resumed(c), nil)
	for i, r := range after {
		if errs[i] != nil || r.Epochs != c.Epochs || i == 0 && r.TestLoss != before[0].TestLoss {
			t.Errorf("node %d: %d of %d epochs, test loss %v, want %v; %v", i, r.Epochs, c.Epochs, r.TestLoss,
				before[0].TestLoss, errs[i])
		}
	}
	if left, err := os.ReadDir(here); err != nil || len(left) > 0 {
		t.Errorf("the nodes have left %v in the folder where they run (%v)", left, err)
	}
}
