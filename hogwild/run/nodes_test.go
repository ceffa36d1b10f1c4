package run

import (
	"context"
	"sync"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/rundir"
)

// together runs a job on n nodes of this process, and returns what each comes to.
func together(t *testing.T, n int, c config.Config, change func(node int, c *config.Config, o *Options)) ([]rundir.Result, []error) {
	t.Helper()
	return togetherUntil(t.Context(), t, n, c, change)
}

// togetherUntil is together until ctx is done.
func togetherUntil(ctx context.Context, t *testing.T, n int, c config.Config, change func(node int, c *config.Config, o *Options)) ([]rundir.Result, []error) {
	t.Helper()
	results, errs := make([]rundir.Result, n), make([]error, n)
	engines := nodes.InProcess(n, time.Minute)
	var all sync.WaitGroup
	for i, e := range engines {
		c, o := c, Options{Engine: e}
		if change != nil {
			change(i, &c, &o)
		}
		all.Go(func() { results[i], errs[i] = Run(ctx, c, o) })
	}
	all.Wait()
	return results, errs
}

// TestNodes: nodes train each epoch together.
func TestNodes(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		c := quick(t)
		c.Workers, c.Epochs, c.Run = 2, 3, t.TempDir()
		results, errs := together(t, n, c, nil)
		for i := range n {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			t.Logf("%d of %d: %d examples, loss %v, %v", i, n, results[i].Examples, results[i].TestLoss, results[i].Nodes)
		}
	}
}

// TestRoundsWithoutExamples: with more rounds than chunks there are rounds in which no node has anything new. They
// change nothing.
func TestRoundsWithoutExamples(t *testing.T) {
	c := quick(t)
	c.Data, c.Model, c.Workers, c.Epochs, c.Rounds, c.Run = "digits:20000", "mlp:64", 1, 1, "1000", t.TempDir()
	results, errs := together(t, 2, c, nil)
	if errs[0] != nil || !(results[0].TestLoss < 2.2) { // 2.3 untrained
		t.Errorf("test loss %v, %v", results[0].TestLoss, errs[0])
	}
}
