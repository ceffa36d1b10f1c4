//go:build cuda

package cuda

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/peers"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/internal/fault"
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
	o.by.weights[o.setup.Job.Asked.Node] = slices.Clone(o.setup.Weights)
	return err
}

// together runs a job on n nodes of this process, and returns each one's result and weights.
func together(t *testing.T, n int, c config.Config) ([]rundir.Result, [][]float32) {
	t.Helper()
	k := &keeping{weights: map[int][]float32{}}
	device.RegisterBackend("cuda", k)
	defer Register()
	results, weights, errs := make([]rundir.Result, n), make([][]float32, n), make([]error, n)
	var all sync.WaitGroup
	for i, e := range nodes.InProcess(n, 20*time.Second) {
		all.Go(func() {
			results[i],
				errs[i] = run.Run(t.Context(), c, run.Options{Peers: peers.New(e, c.NodeTimeout)})
		})
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
// the rate: the mean of two nodes' steps is a step of twice the examples. In sync mode each time bit for bit.
func TestNodes(t *testing.T) {
	for _, x := range []struct {
		mode    string
		rounds  config.Count
		workers int
	}{{"async", "6", 1}, {"async", "auto", 2}, {"sync", "auto", 2}, {"sync", "3", 1}} {
		c := digits(t, func(c *config.Config) {
			c.Mode, c.Workers = config.MustMode(x.mode), x.workers
			c.Model, c.Data, c.Epochs = "softmax", "digits:600", 2
			if x.mode == "async" {
				c.InFlight = x.workers
			} else {
				c.AverageEvery = 8
			}
		})
		one := train(t, c)
		c.Rounds, c.AverageLR, c.LR, c.Run = x.rounds, "same", 2*c.LR, t.TempDir()
		two, weights := together(t, 2, c)
		t.Logf("%s, %s: loss %v, one %v; %+v", x.mode, x.rounds, two[0].TestLoss, one.TestLoss, *two[0].Nodes)
		if !slices.Equal(weights[0], weights[1]) || len(weights[0]) == 0 {
			t.Errorf("%s, %s rounds: the nodes end with different weights", x.mode, x.rounds)
		}
		near := .25 // of 2.3 at first: no two jobs are alike
		if x.mode == "sync" {
			near = .01
		}
		if math.Abs(two[0].TestLoss-one.TestLoss) > near || two[0].Examples != one.Examples ||
			two[1].TestLoss != two[0].TestLoss {
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

// TestNodesThroughHost: nodes whose GPUs do not reach each other end with the same weights, near what one learns.
func TestNodesThroughHost(t *testing.T) {
	if !replay(t, "HOGWILD_FAKE_DEVICES=2", "HOGWILD_FAKE_P2P=off") {
		return
	}
	for _, mode := range []string{"async", "sync"} {
		c := digits(t, func(c *config.Config) {
			c.Mode, c.Workers, c.GPU, c.Model, c.Data = config.MustMode(mode), 2, "0,1", "softmax", "digits:600"
			if mode == "sync" {
				c.AverageEvery = 8
			}
		})
		one := train(t, c)
		c.Rounds, c.AverageLR, c.LR, c.Run = "auto", "same", 2*c.LR, t.TempDir()
		two, weights := together(t, 2, c)
		t.Logf("%s: loss %v, one %v", mode, two[0].TestLoss, one.TestLoss)
		if !slices.Equal(weights[0], weights[1]) || !(math.Abs(two[0].TestLoss-one.TestLoss) < .25) ||
			two[0].Examples != one.Examples || two[0].TestLoss != two[1].TestLoss {
			t.Errorf("%s: %d examples, test loss %g and %g; one node %d, %g", mode, two[0].Examples, two[0].TestLoss,
				two[1].TestLoss, one.Examples, one.TestLoss)
		}
	}
}

// TestNodesOnOneHost: nodes that share a host choose different GPUs; and all train on GPUs, or none does.
func TestNodesOnOneHost(t *testing.T) {
	if !replay(t, "HOGWILD_FAKE_DEVICES=2") {
		return
	}
	c := digits(t, func(c *config.Config) { c.Model, c.Data, c.Epochs, c.GPU = "softmax", "digits:300", 1, "auto" })
	results, weights := together(t, 2, c)
	if !slices.Equal(weights[0], weights[1]) || !strings.HasPrefix(results[0].Device, "cuda:0") ||
		!strings.HasPrefix(results[1].Device, "cuda:1") {
		t.Errorf("the nodes train on %s and %s", results[0].Device, results[1].Device)
	}
	var all sync.WaitGroup
	for i, e := range nodes.InProcess(2, time.Minute) {
		c := c
		if c.Run = t.TempDir(); i == 1 {
			c.GPU = ""
		}
		all.Go(func() {
			if _, err := run.Run(t.Context(), c, run.Options{Peers: peers.New(e, c.NodeTimeout)}); !errors.Is(err,
				config.ErrUsage) || !strings.Contains(err.Error(), "do not both train on GPUs") {
				t.Errorf("node %d, one of two on a GPU: %v", i, err)
			}
		})
	}
	all.Wait()
}

// TestNodeFails: when the GPU of a node fails in a round, all nodes end, and soon: node 0 with the last round saved,
// from which the job continues.
func TestNodeFails(t *testing.T) {
	if !replay(t, fault.Variable+"=gpu.add:error=EIO@4") {
		return
	}
	c := digits(t, func(c *config.Config) { c.Model, c.Epochs, c.Rounds = "mlp:8", 1000, "20" })
	errs, epochs := make([]error, 2), make([]int, 2)
	var all sync.WaitGroup
	began := time.Now()
	for i, e := range nodes.InProcess(2, time.Minute) {
		all.Go(func() {
			r, err := run.Run(t.Context(), c, run.Options{Peers: peers.New(e, c.NodeTimeout)})
			epochs[i], errs[i] = r.Epochs, err
		})
	}
	all.Wait()
	failed := 0
	if errors.Is(errs[1], syscall.EIO) {
		failed = 1
	}
	if took := time.Since(began); !errors.Is(errs[failed], syscall.EIO) || !errors.Is(errs[1-failed], nodes.ErrLost) ||
		took > 30*time.Second {
		t.Fatalf("the nodes ended after %v with %v and %v", took, errs[0], errs[1])
	}
	if failed == 1 && !strings.Contains(errs[0].Error(), "to continue, start the job again with --run "+c.Run) {
		t.Errorf("node 0 does not say how to continue: %v", errs[0])
	}
	c.Resume, c.Epochs = c.Run, epochs[0]+1
	r, _ := together(t, 2, c)
	if want := int64(3000 * c.Epochs); r[0].Examples < want || r[0].Examples > want+3000 || !(r[0].TestLoss < 2) {
		t.Errorf("node %d failed; continued: %d examples of %d epochs, test loss %g", failed, r[0].Examples,
			c.Epochs, r[0].TestLoss)
	}
}
