//go:build cuda

package cuda

import (
	"testing"

	"gorgonia.org/cu"
)

// TestWaitsAsleep: a process that waits for its GPU leaves its core to others.
func TestWaitsAsleep(t *testing.T) {
	err := withGPU(0, "", func(c *gpu) error {
		flags, _, err := c.device.PrimaryCtxState()
		if flags&cu.SchedBlockingSync == 0 {
			t.Errorf("the context has flags %#x, without %#x: it spins", flags, cu.SchedBlockingSync)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
