//go:build cuda

package cuda

import (
	"path/filepath"
	"slices"
	"testing"

	"hogwild/hogwild/config"
)

// ofWorker trains for an epoch, by calls of Train of so many chunks, and returns what the one
// worker called.
func ofWorker(t *testing.T, chunks string, edit func(*config.Config)) (calls []call) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls")
	cfg := digits(t, func(c *config.Config) { c.Epochs, c.Batch = 1, 1; edit(c) })
	if _, err := apart(t, cfg, greedyVariable+"="+chunks, "HOGWILD_FAKE_TRACE="+path).result(t); err != nil {
		t.Fatal(err)
	}
	all := callsIn(t, path)
	opened := slices.IndexFunc(all, func(c call) bool { return c.Call == "cuIpcOpenMemHandle" })
	for _, c := range all {
		if c.PID == all[opened].PID {
			calls = append(calls, c)
		}
	}
	return calls
}

// TestBus: an epoch of three times as many steps, in as many chunks, makes the same calls of
// the driver, and more bytes are copied by a learning rate for each 64 examples.
func TestBus(t *testing.T) {
	needStandIn(t)
	const chunks = 127
	for name, edit := range map[string]func(*config.Config){
		"factor":   func(c *config.Config) { c.Model, c.Data = "factor:128", "synth:lowrank:600x500x40000x3" },
		"logistic": func(c *config.Config) { c.Model, c.Data = "logistic", "synth:sparse:40000x1000x20" },
		"cut":      func(c *config.Config) { c.Model, c.Data = "cut:10", "synth:dblife:0.5" },
		"softmax":  func(c *config.Config) { c.Model, c.Data, c.InFlight = "softmax", "digits:30000", 2 },
	} {
		t.Run(name, func(t *testing.T) {
			var count, bytes [2]int
			for i, steps := range []int{64 * chunks, 3 * 64 * chunks} {
				for _, c := range ofWorker(t, "1000", func(c *config.Config) { edit(c); c.Limit = steps }) {
					switch c.Call {
					case "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync":
						bytes[i] += c.Bytes
						count[i]++
					case "cuLaunchKernel", "cuStreamWaitEvent", "cuEventRecord", "cuEventSynchronize":
						count[i]++
					}
				}
			}
			t.Logf("%d and %d calls, %d and %d bytes", count[0], count[1], bytes[0], bytes[1])
			if more := bytes[1] - bytes[0]; count[0] != count[1] || more > 4*2*chunks+64 {
				t.Errorf("%d steps: %d calls, %d bytes; three times as many: %d calls, %d bytes", 64*chunks, count[0], bytes[0], count[1], bytes[1])
			}
		})
	}
}

// TestStaysQueued: while an epoch has chunks left, a worker waits for a launch only when another
// is queued behind it. It waits for the last ones at the end of the epoch, and for its first
// step, which is timed by itself.
func TestStaysQueued(t *testing.T) {
	needStandIn(t)
	queued, alone, launches := 0, 0, 0
	for _, c := range ofWorker(t, "3", func(c *config.Config) { c.Model, c.Data, c.Batch = "softmax", "digits:3000", 8 }) {
		switch c.Call {
		case "cuMemcpyDtoHAsync": // the last call of a launch
			queued++
			launches++
		case "cuEventSynchronize":
			if queued == 1 {
				alone++
			}
			queued--
		}
	}
	if launches < 10 || alone > 2 || queued != 0 {
		t.Errorf("of %d launches %d were waited for with no other behind; %d still queued", launches, alone, queued)
	}
}
