package peers_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
)

// TestSyncNodesAreOneNode: in sync mode, with a round after each meeting of the workers, 3 nodes of 2 workers train
// what one node of 6 trains, but for rounding. They repeat it bit for bit, also when workers are killed.
func TestSyncNodesAreOneNode(t *testing.T) {
	c := configtest.Quick(t)
	c.Mode, c.AverageEvery, c.Workers, c.Batch, c.Model, c.Epochs = config.MustMode("sync"), 2, 6, 8, "slow", 3
	want := runtest.SavedWeights(t, runtest.Train(t, c).Run)
	c.Workers, c.AverageLR, c.MaxRestarts = 2, "same", 100
	var first []float32
	for _, kills := range []int{0, 0, 4} {
		again := runtest.WithRun(c, t.TempDir())
		j := startNodes(t.Context(), 3, time.Minute, again, nil)
		over := make(chan struct{})
		go func() {
			j.all.Wait()
			close(over)
		}()
		for range kills {
			runtest.Await(t, "workers", func() bool {
				return len(runtest.Children(os.Getpid())) >= 6 || runtest.Ended(over)
			})
			if workers := runtest.Children(os.Getpid()); len(workers) > 0 {
				_ = syscall.Kill(workers[rand.IntN(len(workers))], syscall.SIGKILL)
			}
			time.Sleep(runtest.Within(30 * time.Millisecond))
		}
		<-over
		if err := errors.Join(j.errs...); err != nil {
			t.Fatal(err)
		}
		got := runtest.SavedWeights(t, again.Run)
		if first == nil {
			first = got
		}
		for i, w := range want {
			if got[i] != first[i] || math.Abs(float64(got[i]-w)) > 2e-6 {
				t.Fatalf("with %d workers killed weight %d is %v, at first %v, of one node %v", kills, i, got[i],
					first[i], w)
			}
		}
		if r := j.results[1]; r.Examples != 3*2000 || r.LostExamples != 0 {
			t.Errorf("with %d workers killed %d examples, %d lost", kills, r.Examples, r.LostExamples)
		}
	}
}
