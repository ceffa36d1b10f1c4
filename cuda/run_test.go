//go:build cuda

package cuda

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
)

// These tests train through whatever libcuda.so.1 the loader finds: the stand-in
// (make fake, LD_LIBRARY_PATH=bin/fake), or a driver with a GPU.
func TestMain(m *testing.M) {
	shift, _ := strconv.Atoi(os.Getenv(shiftVariable))
	device.RegisterBackend("cuda", backend{shift})
	if n, err := strconv.Atoi(os.Getenv(greedyVariable)); err == nil {
		device.RegisterBackend("cuda", greedy{chunks: n})
	}
	if workers.IsWorker() {
		os.Exit(worker.Main())
	}
	if config := os.Getenv(apartVariable); config != "" {
		os.Exit(runApart(config))
	}
	if os.Getenv(echoVariable) != "" {
		os.Exit(echoMain())
	}
	os.Exit(m.Run())
}

// trace is where the stand-in writes down the calls of all processes. It opens its
// file at the first call, which cuInit is: before any test runs.
func trace(t *testing.T) []call {
	t.Helper()
	path := os.Getenv("HOGWILD_FAKE_TRACE")
	if path == "" {
		t.Skip("HOGWILD_FAKE_TRACE is not set: not the stand-in driver")
	}
	return callsIn(t, path)
}

// callsIn returns the calls written to a file.
func callsIn(t *testing.T, path string) []call {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var calls []call
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		calls = append(calls, c)
	}
	return calls
}

type call struct {
	PID    int    `json:"pid"`
	Call   string `json:"call"`
	Kernel string `json:"kernel"` // of a launch
	Result int    `json:"result"`
	Device int    `json:"device"`
	Bytes  int    `json:"bytes"` // of a copy
	Nonce  string `json:"nonce"` // of an allocation: it names it in all processes
	Stream string `json:"stream"`
	Flags  int    `json:"flags"` // of a stream or an event
}

// digits is the built-in set, so that the test needs no data; small, because the
// stand-in interprets every instruction.
func digits(t *testing.T, edit func(*config.Config)) config.Config {
	c := config.Default()
	c.Data, c.Run, c.SaveEvery = "digits:3000", t.TempDir(), "0"
	c.Workers, c.Batch, c.LR, c.Epochs, c.GPU = 1, 8, .05, 2, "0"
	c.LRCap, c.AverageLR = "off", "same" // one step in flight on a GPU, and on the CPU one worker
	edit(&c)
	return c
}

func train(t *testing.T, c config.Config) rundir.Result {
	t.Helper()
	r, err := run.Run(context.Background(), c, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSameAsCPU: one worker with one step in flight is serial SGD in the order of
// the CPU, so the losses agree, but for sums in another order.
func TestSameAsCPU(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"softmax", func(c *config.Config) { c.Model = "softmax" }},
		{"softmax standard scale", func(c *config.Config) { c.Model, c.Scale, c.LR = "softmax", "0.1307,0.3081", .01 }},
		{"logistic", func(c *config.Config) { c.Model = "logistic" }},
		{"hinge l2", func(c *config.Config) { c.Model, c.LR = "hinge", .01 }},
		{"mlp", func(c *config.Config) { c.Model, c.Batch = "mlp:32", 16 }},
		{"mlp one example", func(c *config.Config) {
			c.Model, c.Batch, c.LR, c.Data, c.Epochs = "mlp:40", 1, .01,
				"digits:600", 1
		}},
		{"mlp two layers momentum", func(c *config.Config) {
			c.Model, c.Optimizer, c.LR, c.Data = "mlp:24,12", "momentum", .01, "digits:1000"
		}},
		{"softmax cosine", func(c *config.Config) { c.Model, c.Schedule = "softmax", "cosine" }},
		{"softmax raw", func(c *config.Config) {
			c.Model, c.Center, c.Data, c.Epochs = "softmax", "off",
				"digits:1000", 1
		}},
		{"softmax adam", func(c *config.Config) {
			c.Model, c.Optimizer, c.Batch, c.LR, c.Data, c.Epochs = "softmax", "adam", 20, .002, "digits:1000", 1
		}},
		{"logistic adagrad l1", func(c *config.Config) {
			c.Model, c.Optimizer, c.L1, c.Data, c.Epochs = "logistic", "adagrad", 1e-4, "digits:1000", 1
		}},
		{"softmax l1", func(c *config.Config) {
			c.Model, c.L1, c.Data, c.Epochs = "softmax", 1e-3, "digits:1000", 1
		}},
		{"sync adam", func(c *config.Config) {
			c.Mode, c.Workers, c.AverageEvery, c.Optimizer, c.LR, c.Data,
				c.Epochs = config.MustMode("sync"), 2, 5, "adam", .002, "digits:500", 1
		}},
		{"sync momentum", func(c *config.Config) {
			c.Mode, c.Workers, c.AverageEvery, c.Optimizer, c.LR, c.Data = config.MustMode("sync"), 2, 5, "momentum",
				.01, "digits:1000"
		}},
		{"sync gradients", func(c *config.Config) {
			c.Mode, c.Workers, c.Average, c.Data = config.MustMode("sync"), 2, "gradients", "digits:1000"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			gpu := digits(t, c.edit)
			if gpu.Mode.Kind == config.Async {
				gpu.InFlight = 1
			}
			sameAsCPU(t, gpu, 1e-3)
		})
	}
}

// sameAsCPU trains on the GPU and on the CPU, and compares the losses of each epoch.
func sameAsCPU(t *testing.T, gpu config.Config, within float64) {
	t.Helper()
	cpu := gpu
	cpu.GPU, cpu.InFlight, cpu.Run = "", 0, t.TempDir()
	got, want := train(t, gpu), train(t, cpu)
	for i, w := range want.History {
		g := got.History[i]
		if math.Abs(g.TrainLoss-w.TrainLoss) > within || math.Abs(g.TestLoss-w.TestLoss) > within {
			t.Errorf("epoch %d: train and test loss %.6f, %.6f; the CPU's %.6f, %.6f", i+1, g.TrainLoss, g.TestLoss,
				w.TrainLoss, w.TestLoss)
		}
	}
	if !strings.HasPrefix(got.Device, "cuda:0") || got.Examples != want.Examples {
		t.Errorf("%d examples on %s, want %d on cuda:0", got.Examples, got.Device, want.Examples)
	}
}

// TestMNIST trains on real images by worker processes. One step in flight is the CPU's
// run; with several no two runs are alike, but the loss ends near.
func TestMNIST(t *testing.T) {
	path := filepath.Join(cmp.Or(os.Getenv("HOGWILD_DATA"), "../../shared/data"), "mnist")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("MNIST is neither in $HOGWILD_DATA nor in ../shared/data")
	}
	for model, numbers := range map[string][]int{"softmax": {1, 2, 4}, "logistic": {2}, "mlp:32": {1, 4}} {
		c := digits(t, func(c *config.Config) {
			c.Data, c.Limit, c.Model, c.LR, c.Epochs, c.Schedule, c.GPU = path, 2000, model, .03, 1, "cosine", ""
		})
		want := train(t, c)
		for _, workers := range numbers {
			c.GPU, c.Workers, c.InFlight, c.Run = "0", workers, 2*workers, t.TempDir()
			near := .1
			if workers == 1 {
				c.InFlight, near = 1, 1e-3
			}
			got := train(t, c)
			t.Logf("%s, %d workers: test loss %.4f, accuracy %.3f", model, workers, got.TestLoss, *got.TestAccuracy)
			if !(math.Abs(got.TestLoss-want.TestLoss) < near) {
				t.Errorf("%s, %d workers: test loss %.4f, the CPU's %.4f", model, workers, got.TestLoss, want.TestLoss)
			}
		}
	}
}

// TestOneAllocation: worker processes open the coordinator's one allocation for the
// weights, and the other for the data, once each.
func TestOneAllocation(t *testing.T) {
	before := len(trace(t))
	r := train(t, digits(t, func(c *config.Config) { c.Workers, c.InFlight, c.Epochs = 4, 8, 1 }))
	exports, opens := map[int]int{}, map[int]int{}
	for _, c := range trace(t)[before:] {
		switch c.Call {
		case "cuIpcGetMemHandle":
			exports[c.PID]++
		case "cuIpcOpenMemHandle":
			opens[c.PID]++
		}
	}
	if len(exports) != 1 || exports[os.Getpid()] != 2 {
		t.Errorf("exports by process %v, want 2 by this one, %d", exports, os.Getpid())
	}
	if len(opens) != 4 {
		t.Errorf("%d processes opened handles, want the 4 workers", len(opens))
	}
	for pid, n := range opens {
		if n != 2 {
			t.Errorf("process %d opened %d handles, want the weights' and the data's", pid, n)
		}
	}
	if r.Examples != 3000 {
		t.Errorf("%d examples, want 3000", r.Examples)
	}
}

// TestSyncRepeats: in barrier mode the bits follow from seed and workers.
func TestSyncRepeats(t *testing.T) {
	var saved [2][]byte
	for i := range saved {
		c := digits(t, func(c *config.Config) {
			c.Mode, c.Workers, c.AverageEvery, c.Data, c.Epochs = config.MustMode("sync"), 3, 4, "digits:1000", 1
		})
		train(t, c)
		_, tensors, err := rundir.ReadTensors(filepath.Join(c.Run, "weights.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range tensors {
			saved[i] = append(saved[i], x.Data...)
		}
	}
	if !slices.Equal(saved[0], saved[1]) {
		t.Error("two equal runs end with different weights")
	}
}

// TestKilledWorkers: a worker that is killed is restarted, and nothing is lost.
func TestKilledWorkers(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		c := digits(t, func(c *config.Config) {
			c.Mode, c.Workers, c.InFlight, c.MaxRestarts, c.Epochs = config.MustMode(mode), 2, 2, 20, 3
		})
		stop := make(chan bool)
		go func() {
			for n := 0; n < 4; {
				select {
				case <-stop:
					return
				case <-time.After(150 * time.Millisecond):
				}
				if pids := children(); len(pids) > 0 && syscall.Kill(pids[n%len(pids)], syscall.SIGKILL) == nil {
					n++
				}
			}
		}()
		r := train(t, c)
		close(stop)
		if r.Examples != 9000 || r.LostExamples != 0 {
			t.Errorf("%s: %d examples, %d lost, want 9000 and 0", mode, r.Examples, r.LostExamples)
		}
		t.Logf("%s: %d restarts, accuracy %.3f", mode, r.Restarts, *r.TestAccuracy)
	}
}

// children are the processes that this one has started.
func children() []int { return childrenOf(os.Getpid()) }

// childrenOf returns the processes that a process has started.
func childrenOf(pid int) (pids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // a thread may have ended
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// TestResume: a one-worker run that is cut and resumed ends like one left alone.
func TestResume(t *testing.T) {
	edit := func(c *config.Config) {
		c.InFlight, c.Optimizer, c.LR, c.Schedule, c.Epochs = 1, "momentum", .01, "cosine", 2
	}
	whole := train(t, digits(t, edit))
	c := digits(t, edit)
	c.SaveEvery = "20ms"
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // a save within the epoch shows that it is in flight
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(c.Run, "snapshot.safetensors")); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	cut, err := run.Run(ctx, c, run.Options{})
	cancel()
	if err == nil {
		t.Skip("the run was over before it was cut")
	}
	c.Resume, c.SaveEvery = c.Run, "0"
	resumed := train(t, c)
	t.Logf("cut after %d of %d examples", cut.Examples, resumed.Examples)
	if resumed.Examples != whole.Examples || math.Abs(resumed.TestLoss-whole.TestLoss) > 1e-5 {
		t.Errorf("resumed: %d examples, test loss %.6f; left alone %d, %.6f", resumed.Examples, resumed.TestLoss,
			whole.Examples, whole.TestLoss)
	}
}

// TestRefuses: what does not train on a GPU is said before anything starts.
func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		edit func(*config.Config)
		says string
	}{
		{func(c *config.Config) { c.GPU = "7" }, "gpu 7: no such GPU"},
		{func(c *config.Config) { c.GPU = "x" }, `gpu "x"`},
		{func(c *config.Config) { c.Optimizer, c.Mode, c.Average = "adam", config.MustMode("sync"), "gradients" },
			"averaged gradients with optimizer adam"},
		{func(c *config.Config) { c.L1, c.Mode, c.Average = 1e-4, config.MustMode("sync"), "gradients" }, "l1 0.0001"},
	} {
		_, err := run.Run(context.Background(), digits(t, c.edit), run.Options{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want an error that says %q", err, c.says)
		}
	}
}
