package peers_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/run/runtest"
)

// TestWorkersAwaitNodes: in barrier mode the workers of a node train no further than the round that was averaged with
// the other nodes, also one that takes the place of a worker which was killed while it waited, and one that stands in
// for a worker that is gone. The test is the coordinator that averages.
func TestWorkersAwaitNodes(t *testing.T) {
	c := configtest.Quick(t)
	c.Mode, c.Workers, c.Batch, c.AverageEvery, c.Epochs, c.MaxRestarts = config.MustMode("sync"), 3, 8, 5, 2, 1
	c.Node, c.Nodes, c.Rounds = 1, 2, "4" // of 9 rounds
	r := runtest.Start(t, c)
	free := func(round int) bool {
		for rank := range c.Workers {
			from, to := r.Block.Plan.Round(rank, round)
			for i := from; i < to; i++ {
				if state, _ := r.Block.Chunk(i); state != 0 && state != control.ChunkLost {
					return false
				}
			}
		}
		return true
	}
	var met []int
	for epoch := uint64(1); epoch <= 2; epoch++ {
		runtest.Await(t, "an epoch", func() bool { return r.Block.Get(control.WordEpoch) == epoch })
		r.Block.Cut(epoch)
		for round, due := r.Block.MergeDue(epoch); round < r.Block.Plan.Rounds; round, due = r.Block.MergeDue(epoch) {
			if !due {
				time.Sleep(time.Millisecond)
				continue
			}
			met = append(met, round)
			switch len(met) {
			case 2:
				pid := r.PID(1)
				runtest.Kill(t, pid)
				runtest.Await(t, "another worker", func() bool { return r.PID(1) != pid })
			case 3: // no other takes its place
				runtest.Kill(t, r.PID(1))
				runtest.Await(t, "the loss of its chunks", func() bool {
					from, _ := r.Block.Plan.Round(1, round+1)
					state, _ := r.Block.Chunk(from)
					return state == control.ChunkLost
				})
			}
			time.Sleep(10 * time.Millisecond)
			if !free(round + 1) {
				t.Fatalf("epoch %d: a worker trains round %d, the nodes have not met", epoch, round+1)
			}
			r.Block.Merged(epoch, round)
		}
	}
	result, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{2, 5, 2, 5}; !slices.Equal(met, want) {
		t.Errorf("the nodes met after rounds %v of each epoch, want %v", met, want)
	}
	if len(result.Events) != 2 || !strings.Contains(result.Events[0], "restarted") {
		t.Errorf("events %q", result.Events)
	}
	// Of each 48 positions the second 24 are this node's: of 2,000 it has 41 times 24, and 8 of the last 32.
	if got := result.Examples + result.LostExamples; got != 2*(41*24+8) {
		t.Errorf("%d examples, %d lost", result.Examples, result.LostExamples)
	}
	if result.LostExamples == 0 {
		t.Error("a rank that is gone has lost nothing")
	}
}

// TestStopWhileNodesAreAwaited: workers that wait for other nodes stop at once.
func TestStopWhileNodesAreAwaited(t *testing.T) {
	c := configtest.Quick(t)
	c.Mode, c.Workers, c.Batch, c.AverageEvery, c.Nodes = config.MustMode("sync"), 2, 8, 5, 2
	p := runtest.StartCoordinator(t, c)
	runtest.Await(t, "the end of a round", func() bool { _, due := p.Block.MergeDue(1); return due })
	p.Signal(syscall.SIGTERM)
	if err := p.Wait(); err == nil || !strings.Contains(p.Stderr.String(), "terminated") {
		t.Errorf("%v: %s", err, &p.Stderr)
	}
}
