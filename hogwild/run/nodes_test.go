package run

import (
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
	results, errs := make([]rundir.Result, n), make([]error, n)
	engines := nodes.InProcess(n, time.Minute)
	var all sync.WaitGroup
	for i, e := range engines {
		c, o := c, Options{Engine: e}
		if change != nil {
			change(i, &c, &o)
		}
		all.Go(func() { results[i], errs[i] = Run(t.Context(), c, o) })
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
