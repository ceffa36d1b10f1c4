//go:build cuda

package cuda

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
)

// counting is a run whose weights are known: the loss is the absolute error, and the values are so large that each step
// adds an eighth of its row. It returns these sums over an epoch, exact ones of whole numbers.
func counting(t *testing.T, rows int, edit func(*config.Config)) (config.Config, []float32) {
	t.Helper()
	const columns = 40
	r := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	sums := make([]float32, columns)
	for range rows {
		fmt.Fprint(&text, 8_000_000+r.IntN(1000))
		for j := range columns {
			if v := r.IntN(8); v > 4 {
				fmt.Fprintf(&text, " %d:%d", j+1, v)
				sums[j] += float32(v) / 8
			}
		}
		text.WriteString("\n")
	}
	path, test := filepath.Join(t.TempDir(), "rows.svm"), filepath.Join(t.TempDir(), "test.svm")
	ok(t, os.WriteFile(path, []byte(text.String()), 0o666))
	ok(t, os.WriteFile(test, []byte("8000000 1:1 40:1\n8000001 2:1\n"), 0o666))
	return digits(t, func(c *config.Config) {
		c.Data, c.Test, c.Model = path, test, "l1"
		c.Batch, c.LR, c.InFlight, c.Epochs, c.Center, c.Bias, c.Scale = 1, .125, 8, 2, "off", false, "none"
		edit(c)
	}), sums
}

// TestNoUpdateIsLost: however GPUs reach each other, the weights are the sum of all steps, to the bit; and when workers
// are killed, which has some steps taken twice, no weight has less.
func TestNoUpdateIsLost(t *testing.T) {
	needStandIn(t)
	for _, p2p := range peerings {
		for _, kills := range []int{0, 5} {
			if kills > 0 && p2p != "off" {
				continue
			}
			c, want := counting(t, 6000, func(c *config.Config) {
				c.GPU, c.Workers, c.MaxRestarts, c.MergeEvery, c.Epochs = "0,1,2,3", 4, 20, "24", 2+2*kills
			})
			a := apart(t, c, "HOGWILD_FAKE_DEVICES=4", "HOGWILD_FAKE_P2P="+p2p)
			for n := 0; n < kills && !ended(a.Process.Pid); time.Sleep(100 * time.Millisecond) {
				if pids := childrenOf(a.Process.Pid); hasEpoch(c.Run) && len(pids) > 0 &&
					syscall.Kill(pids[n%len(pids)], syscall.SIGKILL) == nil {
					n++
				}
			}
			r, err := a.result(t)
			if err != nil {
				t.Fatal(err)
			}
			if r.LostExamples > 0 || (r.Restarts > 0) != (kills > 0) {
				t.Errorf("p2p %s: %d examples lost, %d restarts after %d kills", p2p, r.LostExamples, r.Restarts, kills)
			}
			more := float32(0)
			for i, v := range numbers[float32](weightsIn(t, c.Run))[:len(want)] {
				sum := float32(c.Epochs) * want[i]
				if more = max(more, v-sum); v < sum || kills == 0 && v > sum {
					t.Errorf("p2p %s, %d kills: weight %d is %g, the sum of all steps %g", p2p, kills, i, v, sum)
				}
			}
			t.Logf("p2p %s, %d kills: weights have up to %g more than one of each step", p2p, kills, more)
		}
	}
}

// TestFewOrManySteps: replicas take few steps from merge to merge, which count in full, as long as that is worth more
// than many, which count by a share.
func TestFewOrManySteps(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		workers, every, steps int
		took, merge           time.Duration
		long                  bool
	}{
		{4, 100, 100, 3 * ms, 1 * ms, false},  // 2 ms of steps, and a merge of 1
		{4, 100, 100, 6 * ms, 5 * ms, true},   // 1 ms of steps, and a merge of 5
		{8, 100, 100, 6 * ms, 5 * ms, false},  // the same with 8 workers: many would count an eighth
		{4, 100, 1000, 15 * ms, 5 * ms, true}, // in launches of many steps, 1 ms of 100
		{4, 100, 1000, 45 * ms, 5 * ms, false},
		{1, 0, 1000, 45 * ms, 5 * ms, false}, // no other replica: all count
	} {
		r := replica{every: c.every, workers: c.workers, whole: c.merge}
		if r.judge(c.steps, c.took); r.long != c.long {
			t.Errorf("%+v: many steps to a merge is %v", c, r.long)
		}
	}
}
