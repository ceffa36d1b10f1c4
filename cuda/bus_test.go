//go:build cuda

package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
)

// ofWorker trains for an epoch, by calls of Train of this many chunks, and returns what the one
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
				t.Errorf("%d steps: %d calls, %d bytes; three times as many: %d calls, %d bytes", 64*chunks, count[0],
					bytes[0], count[1], bytes[1])
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
	for _, c := range ofWorker(t, "3", func(c *config.Config) {
		c.Model, c.Data, c.Batch = "softmax",
			"digits:3000", 8
	}) {
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

// still does not bring the weights to host memory every two seconds.
type still struct{ backend }

type stillOwner struct{ *owner }

func (b still) Own(s *device.Setup) (device.Owner, error) {
	o, err := b.backend.Own(s)
	if err != nil {
		return nil, err
	}
	return stillOwner{o.(*owner)}, nil
}

func (stillOwner) Refresh() error { return nil }

// TestNothingOfAnEpochGrowsWithTheWeights: what the coordinator copies to and from the GPU for an epoch that is not
// saved does not depend on how many weights there are. The GPU is a small one, so that these are enough for all of its
// CTAs.
func TestNothingOfAnEpochGrowsWithTheWeights(t *testing.T) {
	if !replay(t, "HOGWILD_FAKE_SMS=2", "HOGWILD_FAKE_TRACE="+t.TempDir()+"/calls") {
		return
	}
	device.RegisterBackend("cuda", still{})
	defer Register()
	for name, x := range map[string]struct {
		model, data [2]string
		weights     [2]int
	}{
		"factor": {[2]string{"factor:8", "factor:64"},
			[2]string{"synth:lowrank:2000x1000x500x4", "synth:lowrank:2000x1000x500x4"}, [2]int{24000, 192000}},
		"logistic": {[2]string{"logistic", "logistic"},
			[2]string{"synth:sparse:300x20000x20", "synth:sparse:300x200000x20"}, [2]int{20001, 200001}},
	} {
		var bytes [2]int
		for i := range bytes {
			few := copiedIn(t, 2, x.model[i], x.data[i])
			bytes[i] = (copiedIn(t, 5, x.model[i], x.data[i]) - few) / 3
		}
		t.Logf("%s: %d bytes an epoch of %d weights, %d of %d", name, bytes[0], x.weights[0], bytes[1], x.weights[1])
		if bytes[0] != bytes[1] || bytes[0] == 0 || bytes[0] > 4*x.weights[0] {
			t.Errorf("%s: %d bytes an epoch of %d weights, %d of %d", name, bytes[0], x.weights[0],
				bytes[1], x.weights[1])
		}
	}
}

// copiedIn returns how many bytes the coordinator copies in a run of some epochs.
func copiedIn(t *testing.T, epochs int, name, path string) (sum int) {
	t.Helper()
	calls := os.Getenv("HOGWILD_FAKE_TRACE")
	before := len(callsIn(t, calls))
	train(t, digits(t, func(c *config.Config) {
		c.Model, c.Data, c.Epochs, c.Batch, c.LR = name, path,
			epochs, 1, .01
	}))
	for _, c := range callsIn(t, calls)[before:] {
		if c.PID == os.Getpid() && strings.HasPrefix(c.Call, "cuMemcpy") {
			sum += c.Bytes
		}
	}
	return sum
}
