package run_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
)

// likesRun returns a run on what users liked, mostly among the items of their kind.
func likesRun(t *testing.T, model string, users int) config.Config {
	t.Helper()
	r, all := rand.New(rand.NewPCG(3, 5)), &strings.Builder{}
	for u := range users {
		fmt.Fprintf(all, "%d", u)
		for range 10 + r.IntN(20) {
			kind := u % 8
			if r.IntN(8) == 0 {
				kind = r.IntN(8)
			}
			fmt.Fprintf(all, " %d", 8*int(60*math.Pow(r.Float64(), 2))+kind)
		}
		all.WriteString("\n")
	}
	path := filepath.Join(t.TempDir(), "liked.txt")
	if err := os.WriteFile(path, []byte(all.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	c := configtest.Quick(t)
	c.Data, c.Model, c.Loss, c.Batch, c.LR, c.Epochs, c.Schedule = path, model, "", 0, 0, 6, "auto"
	return c
}

// TestRankersOfAnyWorkers: what 1, 2 and 8 workers learn is the same within what seeds make of it, and in all modes a
// model learns.
func TestRankersOfAnyWorkers(t *testing.T) {
	for _, model := range []string{"bpr:16", "warp:16"} {
		c := likesRun(t, model, 800)
		if c.LR = 0; model == "bpr:16" {
			c.LR = 0.15
		}
		loss := func(workers int, seed uint64, edit func(*config.Config)) float64 {
			d := c
			d.Workers, d.Seed, d.Run = workers, seed, filepath.Join(t.TempDir(), "run")
			if edit != nil {
				edit(&d)
			}
			return runtest.Train(t, d).TestLoss
		}
		low, high := math.Inf(1), math.Inf(-1)
		for seed := range uint64(3) {
			x := loss(1, seed, nil)
			low, high = min(low, x), max(high, x)
		}
		margin := (high - low) / 2
		for workers := range map[int]bool{2: true, 8: true} {
			if x := loss(workers, 1, nil); x < low-margin || x > high+margin {
				t.Errorf("%s: test loss %v of %d workers; one has %v to %v", model, x, workers, low, high)
			}
		}
		first := loss(1, 1, func(d *config.Config) { d.Epochs, d.LR = 1, 1e-6 })
		for _, mode := range []string{"atomic", "locked", "ordered", "clock:equal:4", "delayed:8", "sync"} {
			x := loss(2, 1, func(d *config.Config) {
				if d.Mode = config.MustMode(mode); d.Mode.Traits().Simulated {
					d.Workers = 1
				}
				if mode == "sync" { // whose replicas are averaged: each step counts for half a step
					d.AverageEvery, d.LR = 50, 3*d.LR
				}
			})
			if !(x < 0.9*first) {
				t.Errorf("%s, mode %s: test loss %v, and %v before", model, mode, x, first)
			}
		}
	}
}

// TestRankersKilled: when workers are killed in the middle of a pass, each entry counts once in each pass, and the loss
// is as in an undisturbed run.
func TestRankersKilled(t *testing.T) {
	for _, model := range []string{"bpr:32", "warp:32"} {
		c := likesRun(t, model, 6000)
		c.Workers, c.MaxRestarts = 3, 1000
		alone := runtest.WithRun(c, filepath.Join(t.TempDir(), "alone"))
		whole := runtest.Train(t, alone)
		got := runtest.KilledOften(t, c)
		if got.Examples != whole.Examples || got.LostExamples != 0 || got.Restarts == 0 {
			t.Errorf("%s: %d examples, %d lost, %d restarts; undisturbed %d", model, got.Examples, got.LostExamples,
				got.Restarts, whole.Examples)
		}
		if math.Abs(got.TestLoss-whole.TestLoss) > 0.04*whole.TestLoss {
			t.Errorf("%s: test loss %v, and %v undisturbed", model, got.TestLoss, whole.TestLoss)
		}
	}
}

// TestRankersResumed: a run of one worker that was stopped ends with the same bits, sums included.
func TestRankersResumed(t *testing.T) {
	for _, model := range []string{"bpr:16", "warp:16"} {
		c := likesRun(t, model, 1500)
		c.Workers, c.SaveEvery = 1, "0"
		whole := runtest.Train(t, c)
		parts := runtest.WithRun(c, t.TempDir())
		runtest.Interrupted(t, parts, 2, 5000)
		runtest.SameEnd(t, whole.Run, runtest.Train(t, runtest.Resumed(parts)).Run)
	}
}
