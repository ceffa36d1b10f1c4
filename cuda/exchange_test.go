//go:build cuda

package cuda

import (
	"path/filepath"
	"testing"

	"hogwild/hogwild/config"
)

// TestExchangeWaitsTwice: a worker on a core queues what an exchange does on the GPU, and waits
// for it before it trains and before it goes on, however many copies and kernels that is.
func TestExchangeWaitsTwice(t *testing.T) {
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
	}
	seen := false
	for _, n := range calls {
		if n["cuLaunchKernel"] == 0 || n["cuStreamWaitEvent"] > 0 {
			continue // it trains, or scores, on the GPU
		}
		seen = true
		waits, exchanges := 0, n["cuLaunchKernel"]/2
		for _, name := range []string{"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuMemcpyHtoD",
			"cuMemcpyDtoH"} {
			waits += n[name]
		}
		if exchanges == 0 || waits > 2*exchanges+4 { // 4: at the start
			t.Errorf("%d waits in %d exchanges, want 2 in each: %v", waits, exchanges, n)
		}
	}
	if !seen {
		t.Error("no worker on a core in the trace")
	}
}
