package worker_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
)

// ofBlocks returns a run of mode blocks, whose last worker finds nothing to do at times.
func ofBlocks(t *testing.T) config.Config {
	c := config.Default()
	c.Data, c.Model, c.Mode, c.Biases = "synth:lowrank:900x700x40000x3", "factor:5", config.MustMode("blocks"), true
	c.Workers, c.Epochs, c.LR, c.L2, c.Schedule, c.Run = 1, 3, 0.05, 1e-3, "cosine", t.TempDir()
	return c
}

// ranked returns runs of mode blocks whose models draw negatives: from what users liked, and from the facts of a graph.
func ranked(t *testing.T) (all []config.Config) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, model := range []string{"bpr:6", "warp:5", "kge:complex:6", "kge:transe:5"} {
		c := ofBlocks(t)
		c.Model, c.Biases, c.L2, c.Schedule = model, false, 0, config.Auto
		c.Data = filepath.Join(t.TempDir(), "train.txt")
		var text strings.Builder
		for range 20_000 {
			if u, v := r.IntN(700), r.IntN(600); strings.HasPrefix(model, "kge") {
				fmt.Fprintf(&text, "a%d\tr%d\ta%d\n", u, r.IntN(5), v)
			} else {
				fmt.Fprintf(&text, "%d\t%d\n", u, v)
			}
		}
		if err := os.WriteFile(c.Data, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// TestBlocksRepeat: the same bits from any number of workers.
func TestBlocksRepeat(t *testing.T) {
	runs := ranked(t)
	for _, mode := range []string{"blocks", "blocks:3"} {
		c := ofBlocks(t)
		c.Mode = config.MustMode(mode)
		runs = append(runs, c)
	}
	for _, c := range runs {
		mode := c.Model + ", " + c.Mode.String()
		one := runtest.Train(t, c)
		for _, workers := range []int{2, 4, 8} {
			other := runtest.WithRun(c, t.TempDir())
			other.Workers = workers
			many := runtest.Train(t, other)
			runtest.SameEnd(t, one.Run, many.Run)
			if many.TestLoss != one.TestLoss || many.Examples != one.Examples {
				t.Errorf("%s, %d workers: test loss %v after %d examples, want %v after %d", mode, workers,
					many.TestLoss, many.Examples, one.TestLoss, one.Examples)
			}
			if many.Conflicts > 0 || many.LostUpdates > 0 || many.StalenessMax > 0 {
				t.Errorf("%s, %d workers: conflicts %g, lost updates %g, staleness %d", mode, workers, many.Conflicts,
					many.LostUpdates, many.StalenessMax)
			}
		}
	}
}

// TestBlocksDisturbed: the same bits when workers are killed within blocks, when their number changes, and when the run
// is interrupted and goes on with another number of them. Workers sleep with a block trained, and not reported, so that
// most is done to them then.
func TestBlocksDisturbed(t *testing.T) { disturb(t, ofBlocks(t), true) }

// TestRankedBlocksDisturbed: the same of models that draw negatives. Within an epoch relations of a graph are saved
// with what chunks have added to them so far, so that one that goes on from there has other bits.
func TestRankedBlocksDisturbed(t *testing.T) {
	for _, c := range ranked(t)[1:3] {
		t.Run(c.Model, func(t *testing.T) { disturb(t, c, c.Model == "warp:5") })
	}
}

// disturb disturbs a run, and compares with the same one left alone.
func disturb(t *testing.T, whole config.Config, interrupted bool) {
	want := runtest.Train(t, whole)
	t.Setenv(fault.Variable, "chunk.report:delay=5ms@every")
	for _, d := range []struct {
		name     string
		restarts int
		do       func(p *runtest.Coordination, c config.Config)
	}{
		{"killed", 4, func(p *runtest.Coordination, c config.Config) {
			for range 4 {
				time.Sleep(runtest.Within(60 * time.Millisecond))
				p.Kill(rand.IntN(c.Workers))
			}
		}},
		{"scaled", 0, func(p *runtest.Coordination, c config.Config) {
			for _, n := range []int{6, 2} {
				if _, err := rundir.Ask(c.Run, rundir.Request{Do: rundir.DoScale, Workers: n}); err != nil {
					t.Fatal(err)
				}
				runtest.Await(t, "other workers", func() bool { return len(runtest.Children(p.Cmd.Process.Pid)) == n })
			}
		}},
		{"interrupted", 0, func(p *runtest.Coordination, c config.Config) {
			runtest.Await(t, "the second epoch", func() bool {
				_, done, _, _ := p.Block.Progress()
				return p.Block.Get(control.WordEpoch) == 2 && done > 5000
			})
			p.Signal(syscall.SIGINT)
		}},
	} {
		if d.name == "interrupted" && !interrupted {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			c := runtest.WithRun(whole, t.TempDir())
			c.Workers, c.MaxRestarts = 4, 1000
			p := runtest.StartCoordinator(t, c)
			d.do(p, c)
			err := p.Wait()
			got := p.Result()
			if got.Stopped != "" {
				if f, err := rundir.ReadSnapshot(c.Run); err != nil || !f.Pos.Within {
					t.Errorf("the snapshot is not within an epoch (%v)", err)
				}
				c = runtest.Resumed(c)
				c.Workers = 3
				got, err = runtest.Try(t, c)
			}
			if err != nil {
				t.Fatalf("%v: %s", err, &p.Stderr)
			}
			if got.Examples != want.Examples || got.LostExamples != 0 || got.Restarts != d.restarts {
				t.Errorf("%d examples, %d lost, %d restarts, want %d examples and %d restarts", got.Examples,
					got.LostExamples, got.Restarts, want.Examples, d.restarts)
			}
			runtest.SameWeights(t, want.Run, got.Run)
		})
	}
}

// TestBlocksAreSerial: the weights are as after SGD in double precision, entry by entry and block by block.
func TestBlocksAreSerial(t *testing.T) {
	for _, mode := range []string{"blocks", "blocks:5", "blocks:1"} {
		c := ofBlocks(t)
		c.Mode, c.Workers, c.Epochs = config.MustMode(mode), 3, 2
		got := runtest.SavedWeights(t, runtest.Train(t, c).Run)
		for i, w := range blockByBlock(t, c) {
			if !(math.Abs(w-float64(got[i])) < 1e-4*(1+math.Abs(w))) {
				t.Fatalf("%s: weight %d is %v, want %v", mode, i, got[i], w)
			}
		}
	}
}

// blockByBlock returns the weights of a serial reference. It shares with the trainer which ranges there are and the
// orders, and sorts the entries on its own.
func blockByBlock(t *testing.T, c config.Config) (w []float64) {
	set, m := runtest.Begun(t, c)
	first := make([]float32, 0)
	for _, p := range m.Params() {
		first = append(first, make([]float32, p.Len())...)
	}
	m.Init(first, c.Seed)
	for _, x := range first {
		w = append(w, float64(x))
	}
	g := data.NewGrid(set, c.Mode.Grid)
	order := make([]int, set.Rows)
	for i := range order {
		order[i] = i
	}
	block := func(i int) int { return g.Block(set.Idx[2*i], set.Idx[2*i+1]) }
	slices.SortStableFunc(order, func(i, j int) int { return block(i) - block(j) })
	starts := []int{0}
	for b := range g.N * g.N {
		n := starts[b]
		for n < set.Rows && block(order[n]) == b {
			n++
		}
		starts = append(starts, n)
	}
	const k = 5
	all := plan.New(&c, 1, set.Rows).Blocks(data.Blocks{Starts: starts})
	rate := plan.NewSchedule(&c, c.LR, set.Rows)
	for epoch := range c.Epochs {
		p := all.Of(uint64(epoch + 1))
		for i := range p.Chunks() {
			chunk := p.At(epoch, i)
			lr, rows := rate.At(rate.Block(chunk.Seen)), make([]int32, chunk.Count)
			p.Share(chunk.Rank).Fill(rows, epoch, chunk.First)
			for _, r := range rows {
				e := order[r]
				u, v := int(set.Idx[2*e]), int(set.Idx[2*e+1])
				entryStep(w, u, v, k, set.Features, float64(set.Y[e]), lr, c.L2)
			}
		}
	}
	return w
}

// entryStep takes a step on one entry of a matrix of n rows and columns, with biases.
func entryStep(w []float64, u, v, k, n int, y, lr, l2 float64) {
	p, q := w[u*k:][:k], w[v*k:][:k]
	b, d := &w[n*k+u], &w[n*k+v]
	z := w[len(w)-1] + *b + *d
	change := 2 * lr * 2 // that the step makes to z, of the biases
	for i := range k {
		z += p[i] * q[i]
		change += 2 * lr * (p[i]*p[i] + q[i]*q[i])
	}
	e := (z - y) / max(1, change)
	*b -= 2 * lr * e
	*d -= 2 * lr * e
	for i := range k {
		p[i], q[i] = (1-lr*l2)*p[i]-2*lr*e*q[i], (1-lr*l2)*q[i]-2*lr*e*p[i]
	}
}

// TestBlocksLearnAlike: equal passes come to the loss of async, of any number of ranges. It compares means of seeds.
func TestBlocksLearnAlike(t *testing.T) {
	runtest.InFull(t)
	for _, set := range []string{"synth:netflix:0.01", "synth:lowrank:2000x2000x400000x5"} {
		losses := map[string]float64{}
		modes := []string{"async", "blocks", "blocks:3", "blocks:32"}
		for _, mode := range modes {
			for seed := range uint64(3) {
				c := config.Default()
				c.Data, c.Model, c.Mode, c.Seed, c.Run = set, "factor:10", config.MustMode(mode), seed+1, t.TempDir()
				c.Workers, c.Epochs, c.LR, c.Schedule = 1, 8, 0.02, "cosine"
				losses[mode] += runtest.Train(t, c).TestLoss / 3
			}
		}
		for _, mode := range modes[1:] {
			t.Logf("%s %s: test loss %.5g, async %.5g", set, mode, losses[mode], losses["async"])
			if !(losses[mode] < 1.01*losses["async"]) {
				t.Errorf("%s %s: test loss %.5g, async %.5g", set, mode, losses[mode], losses["async"])
			}
		}
	}
}

// TestBlocksAreRefused for what has no rows and columns, once the data are known.
func TestBlocksAreRefused(t *testing.T) {
	for data, model := range map[string]string{"digits:2000": "softmax", "synth:dblife:0.01": "cut:10"} {
		c := config.Default()
		c.Data, c.Model, c.Mode, c.Run = data, model, config.MustMode("blocks"), t.TempDir()
		_, err := runtest.Try(t, c)
		if want := fmt.Sprintf("model %s has no rows and columns", model); !errors.Is(err, config.ErrUsage) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", data, err, want)
		}
	}
}
