//go:build cuda

package cuda

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
)

// keeping keeps what each node has downloaded last: its weights after the last epoch.
type keeping struct {
	backend
	mu      sync.Mutex
	weights map[int][]float32 // by node
}

type keepingOwner struct {
	*owner
	by *keeping
}

func (b *keeping) Own(s *device.Setup) (device.Owner, error) {
	o, err := b.backend.Own(s)
	if err != nil {
		return nil, err
	}
	return keepingOwner{o.(*owner), b}, nil
}

func (o keepingOwner) Download() error {
	err := o.owner.Download()
	o.by.mu.Lock()
	defer o.by.mu.Unlock()
	o.by.weights[o.setup.Job.Node] = slices.Clone(o.setup.Weights)
	return err
}

// together runs a job on n nodes of this process, and returns what each comes to, and its weights.
func together(t *testing.T, n int, c config.Config) ([]rundir.Result, [][]float32) {
	t.Helper()
	k := &keeping{weights: map[int][]float32{}}
	device.RegisterBackend("cuda", k)
	defer Register()
	results, weights, errs := make([]rundir.Result, n), make([][]float32, n), make([]error, n)
	var all sync.WaitGroup
	for i, e := range nodes.InProcess(n, 20*time.Second) {
		all.Go(func() { results[i], errs[i] = run.Run(t.Context(), c, run.Options{Engine: e}) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("node %d: %v", i, err)
		}
		weights[i] = k.weights[i]
	}
	return results, weights
}

// TestNodes: nodes with weights on GPUs end each epoch with the same weights, and learn what one learns at half
// the rate: the mean of two nodes' steps is a step of twice the examples. In sync mode bit for bit, each time.
func TestNodes(t *testing.T) {
	for _, x := range []struct {
		mode, rounds string
		workers      int
	}{{"async", "6", 1}, {"async", "auto", 2}, {"sync", "auto", 2}, {"sync", "3", 1}} {
		c := digits(t, func(c *config.Config) {
			c.Mode, c.Workers, c.Rounds = config.MustMode(x.mode), x.workers, x.rounds
			c.Model, c.Data, c.Epochs, c.NodeLR = "softmax", "digits:1000", 3, "same"
			if x.mode == "async" {
				c.InFlight = x.workers
			} else {
				c.AverageEvery = 8
			}
		})
		one := train(t, c)
		c.LR, c.Run = 2*c.LR, t.TempDir()
		two, weights := together(t, 2, c)
		t.Logf("%s, %s: loss %v, one %v; %+v", x.mode, x.rounds, two[0].TestLoss, one.TestLoss, *two[0].Nodes)
		if !slices.Equal(weights[0], weights[1]) || len(weights[0]) == 0 {
			t.Errorf("%s, %s rounds: the nodes end with different weights", x.mode, x.rounds)
		}
		if math.Abs(two[0].TestLoss-one.TestLoss) > .1 || two[0].Examples != one.Examples || two[1].TestLoss != two[0].TestLoss {
			t.Errorf("%s, %s rounds: %d examples, test loss %g and %g; one node %d, %g", x.mode, x.rounds,
				two[0].Examples, two[0].TestLoss, two[1].TestLoss, one.Examples, one.TestLoss)
		}
		if x.mode != "sync" {
			continue
		}
		c.Run = t.TempDir()
		if _, again := together(t, 2, c); !slices.Equal(again[0], weights[0]) {
			t.Errorf("sync, %s rounds: two equal jobs end with different weights", x.rounds)
		}
	}
}
