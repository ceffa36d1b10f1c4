//go:build cuda

package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/run"
	"hogwild/hogwild/saved"
	"hogwild/internal/fault"
)

// poisonVariable makes a run apart fail as poison does.
const poisonVariable = "HOGWILD_TEST_POISON"

// poisoned is a GPU that fails as soon as host memory has the weights of a run after its first epoch.
type poisoned struct{ backend }

type poisonedOwner struct{ *owner }

func (b poisoned) Own(s *device.Setup) (device.Owner, error) {
	o, err := b.backend.Own(s)
	if err != nil {
		return nil, err
	}
	return poisonedOwner{o.(*owner)}, nil
}

func (o poisonedOwner) Refresh() error {
	err := o.owner.Refresh()
	if err == nil && hasEpoch(o.setup.Job.Asked.Run) {
		poison()
	}
	return err
}

// poison breaks the contexts of this process, as a GPU that fails does: with a kernel whose job is nowhere.
// The process is lost for CUDA from then on.
func poison() {
	err := withGPU(0, "", func(c *gpu) error {
		ks, err := loadKernels(c, "evaluate")
		if err == nil {
			err = ks["evaluate"].run(1, 0)
		}
		return err
	})
	if err == nil {
		panic("a kernel without a job did not fail")
	}
}

// hasEpoch reports whether there is a line of an epoch in the metrics of a run.
func hasEpoch(folder string) bool {
	text, _ := os.ReadFile(filepath.Join(folder, "metrics.jsonl")) // not there yet
	return strings.Contains(string(text), `"kind":"epoch"`)
}

// awaitEpoch polls until there is.
func awaitEpoch(t *testing.T, folder string) {
	t.Helper()
	for range 3000 {
		if hasEpoch(folder) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no epoch in 30 s")
}

// TestGPUFails: when the GPU fails in the middle, the weights in host memory are saved, and
// the run can go on from there, or from what was saved before. If that save fails it is tried again.
func TestGPUFails(t *testing.T) {
	const before, begins = "continues from the previous snapshot", "continues with them at the start of epoch"
	for _, x := range []struct{ every, says, faults string }{
		{"0", begins, ""}, {"1", before, ""},
		{"0", begins, "file.sync:error=ENOSPC@2"}, // the first time is config.yaml's
	} {
		every, says := x.every, x.says
		c := digits(t, func(c *config.Config) {
			c.SaveEvery, c.Model, c.Data, c.Epochs = every, "softmax", "digits:1000", 10000
		})
		r, err := apart(t, c, poisonVariable+"=1", fault.Variable+"="+x.faults).result(t)
		if err == nil || strings.Count(err.Error(), "CUDA error") != 1 ||
			!strings.Contains(err.Error(), "CUDA error 700") {
			t.Errorf("the run ended with %v, want the driver's error 700, once", err)
		}
		said := strings.Join(r.Events, "\n")
		if (x.faults != "") != strings.Contains(said, "no space left on device") {
			t.Errorf("events %q with the faults %q", said, x.faults)
		}
		if every == "0" && strings.Contains(said, before) {
			says = before // it failed while an epoch was evaluated, whose copy of the weights was saved then
		}
		if !strings.Contains(said, "cannot be read back") || !strings.Contains(said, says) {
			t.Errorf("events %q, want one that says that the run %s", said, says)
		}
		score, err := saved.Eval(c.Run, c.Data, "", "")
		if err != nil || !(score.Loss < 2) { // 2.3 untrained
			t.Errorf("loss %g of the weights that were saved (%v)", score.Loss, err)
		}
		c.Resume, c.Epochs = c.Run, r.Epochs+1
		if end := train(t, c); end.Epochs != r.Epochs+1 || end.TestLoss > score.Loss+.2 {
			t.Errorf("resumed: %d epochs, test loss %g; before %d, %g", end.Epochs, end.TestLoss, r.Epochs, score.Loss)
		}
	}
}

// TestGivesBack: whatever the processes of a run have made, they give back before they end,
// also when the run is stopped while launches are queued.
func TestGivesBack(t *testing.T) {
	for _, stops := range []bool{false, true} {
		before := len(trace(t))
		ctx, stop := context.WithCancel(context.Background())
		c := digits(t, func(c *config.Config) {
			c.Workers, c.InFlight, c.Data, c.Model = 2, 4,
				"digits:1000", "softmax"
		})
		if stops {
			c.Epochs = 10000
			go func() {
				awaitEpoch(t, c.Run)
				stop()
			}()
		}
		if _, err := run.Run(ctx, c, run.Options{}); stops != errors.Is(err, config.ErrInterrupted) {
			t.Error(err)
		}
		stop()
		if kinds := allGivenBack(t, trace(t)[before:]); kinds < 3*5 {
			t.Errorf("the trace names %d kinds of things in 3 processes", kinds)
		}
	}
}

// allGivenBack looks for what processes have made and not given back. It returns how many kinds of things they made,
// each process by itself.
func allGivenBack(t *testing.T, calls []call) (kinds int) {
	t.Helper()
	type key struct {
		pid  int
		what string
	}
	open := map[key]int{}
	for _, c := range calls {
		for made, gone := range map[string]string{"cuMemAlloc": "cuMemFree", "cuMemHostAlloc": "cuMemFreeHost",
			"cuStreamCreate": "cuStreamDestroy", "cuEventCreate": "cuEventDestroy",
			"cuIpcOpenMemHandle":       "cuIpcCloseMemHandle",
			"cuDevicePrimaryCtxRetain": "cuDevicePrimaryCtxRelease"} {
			switch {
			case c.Result != 0:
			case c.Call == made:
				open[key{c.PID, made}]++
			case c.Call == gone:
				open[key{c.PID, made}]--
			}
		}
	}
	for k, n := range open {
		if n != 0 {
			t.Errorf("process %d (this is %d): %d more %s than were given back", k.pid, os.Getpid(), n, k.what)
		}
	}
	return len(open)
}

// TestGivesBackWithoutMemory: wherever the making of a run's memory ends for want of some, what was made before
// is given back.
func TestGivesBackWithoutMemory(t *testing.T) {
	if !onStandIn() {
		t.Skip("HOGWILD_FAKE_TRACE is not set: not the stand-in driver")
	}
	if testing.Short() {
		t.Skip("starts 15 runs")
	}
	c := digits(t, func(c *config.Config) { c.Model, c.Data, c.Epochs = "conv:2@5p2,8d", "digits:200", 1 })
	var last error
	for free := 2; free < 40; free += 2 { // MiB, as the stand-in allocates
		path := filepath.Join(t.TempDir(), "calls")
		c.Run = t.TempDir()
		_, err := apart(t, c, "HOGWILD_FAKE_MEMORY=64MiB", fmt.Sprintf("HOGWILD_FAKE_FREE=%dMiB", free),
			"HOGWILD_FAKE_TRACE="+path).result(t)
		if allGivenBack(t, callsIn(t, path)); t.Failed() {
			t.Fatalf("with %d MiB, and %v", free, err)
		}
		if last = err; err == nil {
			return
		}
	}
	t.Errorf("40 MiB are too little: %v", last)
}

// TestLaunchRefused: when a launch is refused, what one before has brought back is not handed on again.
func TestLaunchRefused(t *testing.T) {
	ok(t, withGPU(0, "", func(c *gpu) error {
		weights, err := c.allocate(4*4, "weights")
		ok(t, err)
		a, err := newAdder(c, &memory{weights: weights, layout: layout{P: 4}}, 4)
		ok(t, err)
		results := 0
		a.pipeline.ended = func([]byte) { results++ }
		for range a.pipeline.stages {
			ok(t, a.add(make([]float32, 4)))
		}
		s := &a.pipeline.stages[a.pipeline.next]
		at := s.device
		s.device = 0
		if err := a.add(make([]float32, 4)); err == nil {
			t.Error("a copy to nowhere was accepted")
		}
		s.device = at
		if ok(t, a.pipeline.drain()); results != len(a.pipeline.stages) {
			t.Errorf("%d results of %d launches", results, len(a.pipeline.stages))
		}
		return keep(a.free(), cu.MemFree(weights))
	}))
}
