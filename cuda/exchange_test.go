//go:build cuda

package cuda

import (
	"path/filepath"
	"testing"

	"hogwild/hogwild/config"
)

// TestExchangeWaitsOnce: a worker on a core queues what an exchange does on the GPU, and waits for it once, however
// many copies and kernels that is; but for those that begin with weights of their own, since the last ones are too old.
func TestExchangeWaitsOnce(t *testing.T) {
	needStandIn(t)
	file := filepath.Join(t.TempDir(), "calls")
	c := digits(t, func(c *config.Config) {
		c.Workers, c.CPUWorkers, c.InFlight, c.Partition, c.Model, c.Optimizer = 2, 1, 4, "contiguous",
			"softmax", "momentum"
	})
	if _, err := apart(t, c, "HOGWILD_FAKE_TRACE="+file).result(t); err != nil {
		t.Fatal(err)
	}
	calls := map[int]map[string]int{} // of each process
	for _, c := range callsIn(t, file) {
		if calls[c.PID] == nil {
			calls[c.PID] = map[string]int{}
		}
		calls[c.PID][c.Call]++
		calls[c.PID][c.Kernel]++
	}
	seen := false
	for _, n := range calls {
		if n["cuLaunchKernel"] == 0 || n["cuStreamWaitEvent"] > 0 {
			continue // it trains, or scores, on the GPU
		}
		seen = true
		waits, exchanges := 0, n["reduce_end"]
		for _, name := range []string{"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuMemcpyHtoD",
			"cuMemcpyDtoH"} {
			waits += n[name]
		}
		alone := n["reduce_begin"] - exchanges
		if exchanges == 0 || waits > exchanges+alone+4 || alone >= exchanges { // 4: at the start
			t.Errorf("%d waits in %d exchanges, and %d pulls alone: %v", waits, exchanges, alone, n)
		}
	}
	if !seen {
		t.Error("no worker on a core in the trace")
	}
}
