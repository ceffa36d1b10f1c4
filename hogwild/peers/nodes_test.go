package peers_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/peers"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
	"hogwild/internal/check"
)

// nodesRun is a job on nodes of this process.
type nodesRun struct {
	engines []nodes.Engine
	results []rundir.Result
	errs    []error
	all     sync.WaitGroup
}

// startNodes starts a job on n nodes of this process. Change is called for each before it starts.
func startNodes(ctx context.Context, n int, timeout time.Duration, c config.Config,
	change func(node int, c *config.Config, o *run.Options)) *nodesRun {
	j := &nodesRun{engines: nodes.InProcess(n, timeout), results: make([]rundir.Result, n), errs: make([]error, n)}
	c.NodeTimeout = timeout
	if n == 1 { // as hogwild train drops what has no effect on one node
		d := config.Default()
		c.NodeTimeout, c.Rounds, c.AverageLR, c.Outer, c.OuterLR, c.OuterMomentum = d.NodeTimeout, d.Rounds,
			d.AverageLR, d.Outer, d.OuterLR, d.OuterMomentum
	}
	for i, e := range j.engines {
		c, o := c, run.Options{Peers: peers.New(e, c.NodeTimeout)}
		if change != nil {
			change(i, &c, &o)
		}
		j.all.Go(func() { j.results[i], j.errs[i] = run.Run(ctx, c, o) })
	}
	return j
}

// together runs a job on n nodes to its end, and returns each one's result and error.
func together(t *testing.T, n int, c config.Config,
	change func(node int, c *config.Config, o *run.Options)) ([]rundir.Result, []error) {
	t.Helper()
	return togetherUntil(t.Context(), t, n, c, change)
}

// togetherUntil does as together, until ctx is done.
func togetherUntil(ctx context.Context, t *testing.T, n int, c config.Config,
	change func(node int, c *config.Config, o *run.Options)) ([]rundir.Result, []error) {
	t.Helper()
	j := startNodes(ctx, n, time.Minute, c, change)
	j.all.Wait()
	return j.results, j.errs
}

// TestNodes: the nodes train each epoch together, and evaluate it together.
func TestNodes(t *testing.T) {
	for n := 1; n <= 4; n++ {
		c := configtest.Quick(t)
		c.Workers, c.Epochs, c.Run = 2, 3, t.TempDir()
		results, errs := together(t, n, c, nil)
		for i, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
			if is, want := results[i], results[0]; is.Examples != want.Examples || is.TestLoss != want.TestLoss ||
				is.Epochs != 3 || is.LostExamples != 0 {
				t.Errorf("node %d of %d: %d examples, test loss %g; node 0: %d, %g", i, n, is.Examples, is.TestLoss,
					want.Examples, want.TestLoss)
			}
		}
		score, err := saved.Eval(c.Run, "", "", "")
		if err != nil || math.Abs(score.Loss-results[0].TestLoss) > 1e-9*score.Loss {
			t.Errorf("%d nodes: test loss %g; of the saved weights, on one node: %g (%v)", n, results[0].TestLoss,
				score.Loss, err)
		}
	}
}

// TestNodesLost: when the connection is lost every node says so and ends, and node 0 has saved the last round, from
// which any number of nodes continues.
func TestNodesLost(t *testing.T) {
	c := configtest.Quick(t)
	c.Workers, c.Epochs, c.Run = 1, 100_000, filepath.Join(t.TempDir(), "run")
	epochs := make(chan int, 1_000_000)
	j := startNodes(t.Context(), 3, 10*time.Second, c, func(node int, _ *config.Config, o *run.Options) {
		if node == 0 {
			o.OnEpoch = func(e rundir.EpochResult) { epochs <- e.Epoch }
		}
	})
	for range 3 {
		<-epochs
	}
	j.engines[1].Abandon()
	j.all.Wait()
	for i, err := range j.errs {
		if !errors.Is(err, nodes.ErrLost) {
			t.Errorf("node %d: %v", i, err)
		}
	}
	if text := j.errs[0].Error(); !strings.Contains(text, "--resume "+c.Run) {
		t.Errorf("node 0 does not say how to continue: %s", text)
	}
	s, err := rundir.ReadSnapshot(c.Run)
	if err != nil {
		t.Fatal(err)
	}
	c.Resume, c.Epochs = c.Run, int(s.Pos.Epoch)+1
	for _, n := range []int{2, 1} {
		results, errs := together(t, n, c, nil)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if got, want := results[0].Examples, int64(c.Epochs)*2000; got != want {
			t.Errorf("%d nodes: %d examples after %d epochs, not %d", n, got, c.Epochs, want)
		}
		c.Epochs += 2
	}
}

// TestNodesInterrupted: one node is interrupted, and all end, with every example of the epoch that was trained saved.
func TestNodesInterrupted(t *testing.T) {
	c := configtest.Quick(t)
	c.Workers, c.Epochs, c.Run = 2, 100_000, t.TempDir()
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	j := &nodesRun{}
	engines := nodes.InProcess(3, time.Minute)
	j.results, j.errs = make([]rundir.Result, 3), make([]error, 3)
	for i, e := range engines {
		with, o := t.Context(), run.Options{Peers: peers.New(e, c.NodeTimeout)}
		if i == 2 {
			with = ctx
			o.OnEpoch = func(e rundir.EpochResult) {
				if e.Epoch == 4 {
					interrupt(config.ErrTerminated)
				}
			}
		}
		j.all.Go(func() { j.results[i], j.errs[i] = run.Run(with, c, o) })
	}
	j.all.Wait()
	for i, err := range j.errs {
		if !errors.Is(err, config.ErrTerminated) {
			t.Errorf("node %d: %v", i, err)
		}
	}
	if errors.Is(j.errs[0], config.ErrReported) == errors.Is(j.errs[2], config.ErrReported) {
		t.Errorf("two nodes report it, or none: %v; %v", j.errs[0], j.errs[2])
	}
	was := j.results[0].Examples
	c.Resume, c.Epochs = c.Run, int(was/2000)+2
	results, errs := together(t, 2, c, nil)
	if err := errors.Join(errs...); err != nil || results[0].Examples != int64(c.Epochs)*2000 {
		t.Errorf("resumed after %d: %d examples after %d epochs, %v", was, results[0].Examples, c.Epochs, err)
	}
}

// TestNodesDisagree: a job does not begin if one of its nodes cannot, with other numbers of workers in sync mode, or
// with a wrong setting; and one node reports it.
func TestNodesDisagree(t *testing.T) {
	for _, x := range []struct {
		change func(node int, c *config.Config, o *run.Options)
		want   string
	}{
		{func(node int, c *config.Config, o *run.Options) {
			if node == 1 {
				c.MaxMemory = "1MiB"
			}
		}, "max-memory"},
		{func(node int, c *config.Config, o *run.Options) {
			c.Mode, c.Workers = config.MustMode("sync"), 1+node
		}, "workers: node 1"},
		{func(node int, c *config.Config, o *run.Options) { c.LR = -1 }, "lr"},
	} {
		c := configtest.Quick(t)
		c.Workers, c.Run = 1, filepath.Join(t.TempDir(), "run")
		_, errs := together(t, 2, c, x.change)
		reported := 0
		for i, err := range errs {
			if err == nil || !strings.Contains(err.Error(), x.want) || !errors.Is(err, config.ErrUsage) {
				t.Errorf("node %d: %v, want %s", i, err, x.want)
			}
			if errors.Is(err, config.ErrReported) {
				reported++
			}
		}
		if reported != 1 {
			t.Errorf("%v is not reported once", errs)
		}
	}
}

// TestNodesDiffer: settings that another node was given, and another build there, are named. What belongs to a
// machine may differ.
func TestNodesDiffer(t *testing.T) {
	c := configtest.Quick(t)
	c.Workers, c.Epochs, c.Run = 1, 1, t.TempDir()
	_, errs := together(t, 3, c, func(node int, _ *config.Config, o *run.Options) {
		o.Given = map[string]string{"data": "digits:2000", "lr": "0.1"}
		if node == 2 {
			o.Given = map[string]string{"data": "digits:2001", "lr": "0.1", "model": "softmax"}
		}
	})
	for node, err := range errs {
		want := "data digits:2001 (node 0: digits:2000), model softmax (node 0: not given);"
		if !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "node 2 (") || strings.Contains(err.Error(), "lr") {
			t.Errorf("node %d: %v", node, err)
		}
	}
}

// TestInitOnNodes: node 0 reads the file for all; all nodes return its error.
func TestInitOnNodes(t *testing.T) {
	from := runtest.AsGiven(t, "mlp:8", "", 1)
	from.LR = 0.1
	_, want := runtest.RanAs(t, from)
	c := runtest.AsGiven(t, "mlp:8", from.Run, 1)
	results, errs := together(t, 3, c, nil)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	s := runtest.MustOpen(t, c.Run)
	if d := runtest.Furthest(want, s.Tensors()); d > 1e-6 || results[2].TestLoss != results[0].TestLoss {
		t.Errorf("the weights differ by %g; the test loss is %v on one node, %v on another", d, results[0].TestLoss,
			results[2].TestLoss)
	}
	if results[0].Init == nil || results[0].Init.Tensors != 4 {
		t.Errorf("it says that it started from %+v", results[0].Init)
	}
	c = runtest.AsGiven(t, "mlp:9", from.Run, 1)
	_, errs = together(t, 3, c, nil)
	for _, err := range errs {
		check.Error(t, err, "1 of the 4 tensors of model mlp:9")
		if !errors.Is(err, config.ErrUsage) {
			t.Errorf("%v: not the user's", err)
		}
	}
}
