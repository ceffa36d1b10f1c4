package worker_test

import (
	"errors"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/internal/check"
)

// stepsTaken returns how many steps each of the weights of ones has taken, and fails the test when there is a weight
// that differs.
func stepsTaken(t *testing.T, run string) int {
	t.Helper()
	all := runtest.WeightsOf(t, run)
	want := float32(math.NaN())
	for _, name := range []string{"b", "g", "w"} {
		v, err := all[name].Floats()
		if err != nil {
			t.Fatal(err)
		}
		if name == "b" {
			want = v[0]
		}
		for i, x := range v {
			j := i % 1500 // out x in, as PyTorch has it
			if idle := name == "w" && j != 0 && j != 700 && j != 1499; idle && x != 0 || !idle && x != want {
				t.Errorf("%s[%d] is %v, another weight %v", name, i, x, want)
				return int(-want)
			}
		}
	}
	return int(-want)
}

// Where updates cannot be lost, none is: not one of thousands that four processes
// make at the same time, and the samples say so.
func TestNoUpdateIsLost(t *testing.T) {
	runtest.InFull(t)
	for _, mode := range []string{"atomic", "locked", "ordered", "sync", "delayed:7"} {
		t.Run(mode, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Model, c.Mode, c.Batch, c.LR, c.Epochs, c.Workers = "ones", config.MustMode(mode), 1, 1, 100, 4
			if c.Mode.Kind == config.Clock {
				c.Workers = 1
			}
			if mode == "sync" {
				c.Epochs, c.AverageEvery = 5, 1
			}
			r := runtest.Train(t, c)
			want := c.Epochs * 2000
			if mode == "sync" { // four replicas take a step each, and are averaged
				want /= 4
			}
			if got := stepsTaken(t, c.Run); got != want {
				t.Errorf("%d steps arrived, want %d", got, want)
			}
			if r.Instruments == nil || r.StalenessSamples == 0 || r.LostUpdates != 0 {
				t.Errorf("instruments %+v, want samples, and nothing lost", r.Instruments)
			}
		})
	}
}

// Every mode learns what one worker alone learns.
func TestModesLearnAlike(t *testing.T) {
	for _, set := range []struct {
		name string
		edit func(c *config.Config)
	}{
		{"digits", func(c *config.Config) { c.Batch, c.Epochs, c.LR = 8, 5, 0.1 }},
		{"a9a", func(c *config.Config) {
			c.Data, c.Batch, c.Epochs, c.LR, c.Schedule = check.Data(t, "a9a/a9a"), 1, 3, 0.02, "cosine"
		}},
	} {
		alone := configtest.Quick(t)
		if set.name == "a9a" && testing.Short() {
			continue
		}
		set.edit(&alone)
		want := *runtest.Train(t, alone).TestAccuracy
		for _, mode := range append(config.Modes, "delayed:3", "delayed:geometric:3") {
			t.Run(set.name+" "+mode, func(t *testing.T) {
				c := alone
				c.Run, c.Mode, c.Workers = t.TempDir(), config.MustMode(mode), 4
				if c.Mode.Kind == config.Clock {
					c.Workers = 1
				}
				if mode == "sync" {
					c.AverageEvery = 1
					c.LR *= 4 // the mean of four steps is one
				}
				if got := *runtest.Train(t, c).TestAccuracy; !(got > want-0.02) {
					t.Errorf("accuracy %.4f, alone %.4f", got, want)
				}
			})
		}
	}
}

// Every optimizer goes with every mode, or is refused. The rate falls to zero: at a constant one
// the last steps decide over 0.04 of the accuracy, in which order they come.
func TestModesWithOptimizers(t *testing.T) {
	runtest.InFull(t)
	for _, optimizer := range []string{"momentum", "adam", "adagrad"} {
		alone := configtest.Quick(t)
		alone.Optimizer, alone.LR, alone.Epochs, alone.Batch, alone.Schedule = config.Optimizer(optimizer), 0.01, 6, 16,
			"cosine"
		want := *runtest.Train(t, alone).TestAccuracy
		for _, mode := range []string{"atomic", "locked", "ordered", "delayed:1"} {
			for _, state := range []config.OptimizerState{"private", "shared"} {
				c := alone
				c.Run, c.Mode, c.OptimizerState, c.Workers = t.TempDir(), config.MustMode(mode), state, 2
				if c.Mode.Kind == config.Clock {
					c.Workers = 1
				}
				if mode == "atomic" && state == "shared" {
					check.Error(t, c.Validate(), "optimizer-state shared with mode atomic")
					continue
				}
				if got := *runtest.Train(t, c).TestAccuracy; !(got > want-0.03) {
					t.Errorf("%s %s %s: accuracy %.4f, alone %.4f", mode, optimizer, state, got, want)
				}
			}
		}
	}
}

// A worker that is killed while it has locks, or a ticket, stops no other: they are given back, also when a model's own
// loop has taken them.
func TestKilledWithinAnUpdate(t *testing.T) {
	for _, name := range []string{"locked", "ordered", "locked loop", "ordered loop"} {
		t.Run(name, func(t *testing.T) {
			const kills = 4
			c, rows := configtest.Quick(t), 2000
			mode, _, loop := strings.Cut(name, " ")
			c.Model, c.Workers, c.Mode, c.Batch, c.LR = "heavy", 3, config.MustMode(mode), 10, 1
			if loop {
				c.Data, c.Model, c.Batch, c.LR, c.Epochs = "synth:netflix:0.003", "factor:10", 1, 0.01, 16
				if rows = 300_596; mode == "locked" {
					c.Epochs = 40 // a lock is had in a moment
				}
			}
			c.MaxRestarts, c.SaveEvery = 100, "0"
			r := runtest.Start(t, c)
			m := runtest.SharedWeights(t, c)
			n := 0
			for n < kills && !runtest.Ended(r.Done) {
				victim := n % c.Workers
				pid := r.PID(victim)
				signal := func(s syscall.Signal) { // to one that may have ended with the run
					if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
						t.Fatal(err)
					}
				}
				signal(syscall.SIGSTOP)
				time.Sleep(time.Millisecond)
				if runtest.Holds(m, victim) {
					runtest.Kill(t, pid)
					n++
				} else {
					signal(syscall.SIGCONT)
				}
				time.Sleep(runtest.Within(2 * time.Millisecond))
			}
			if err := m.Seg.Close(); err != nil {
				t.Error(err)
			}
			got, err := r.Wait()
			// The run may end before the last kill, or before its victim is started again.
			if err != nil || got.Restarts > n || got.Restarts < max(1, n-1) || got.LostExamples != 0 ||
				got.Examples != int64(c.Epochs*rows) {
				t.Errorf("%d examples, %d lost, %d restarts after %d kills: %v", got.Examples, got.LostExamples,
					got.Restarts, n, err)
			}
		})
	}
}

// A run in ordered mode ends, stops and is paused like any other, however many more
// workers there are than cores.
func TestOrderedStopsAndIsPaused(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Workers, c.Mode, c.Batch, c.SaveEvery, c.Epochs = "slow", 9, config.MustMode("ordered"), 8, "5ms", 1000
	r := runtest.Start(t, c)
	r.Reach(2, 300)
	r.Stop()
	got, err := r.Wait()
	if err == nil || got.Stopped != "interrupted" {
		t.Fatalf("stopped %q, %v", got.Stopped, err)
	}
	next := runtest.Resumed(c)
	next.Epochs = got.Epochs + 2
	if end := runtest.Train(t, next); end.Examples != int64(next.Epochs*2000) {
		t.Errorf("%d examples after going on", end.Examples)
	}
}
