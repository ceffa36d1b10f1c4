//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// shiftVariable in the environment puts rank 0 on the GPU of that number in the list.
const shiftVariable = "HOGWILD_TEST_SHIFT"

// twoApart starts a run apart on a machine with two GPUs.
func twoApart(t *testing.T, c config.Config, switches ...string) *process {
	t.Helper()
	return apart(t, c, append(switches, "HOGWILD_FAKE_DEVICES=2")...)
}

// trainTwo returns the result of twoApart. On a busy machine a worker may begin when nothing is
// left: then once more, twice at most.
func trainTwo(t *testing.T, c config.Config, switches ...string) (r rundir.Result) {
	t.Helper()
	for range 3 {
		var err error
		if r, err = twoApart(t, c, switches...).result(t); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Shares, func(s rundir.Share) bool { return s.Examples == 0 }) {
			return r
		}
		c.Run = t.TempDir()
	}
	return r
}

// peerings are the ways in which the stand-in's GPUs reach each other.
var peerings = []string{"on", "no-atomics", "off"}

// onStandIn reports whether the tests run on the stand-in driver, all whose switches they may use.
func onStandIn() bool { return os.Getenv("HOGWILD_FAKE_TRACE") != "" }

// needStandIn skips a test that has to say what GPUs there are, and what they can.
func needStandIn(t *testing.T) {
	t.Helper()
	if !onStandIn() {
		t.Skip("HOGWILD_FAKE_TRACE is not set: not the stand-in driver")
	}
}

// TestTwoGPUs: two workers, each on a GPU of its own, learn what two on one GPU do. In
// barrier mode bit for bit.
func TestTwoGPUs(t *testing.T) {
	needStandIn(t)
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"softmax", func(c *config.Config) { c.Model = "softmax" }},
		{"mlp", func(c *config.Config) { c.Model, c.LR, c.Data, c.Batch = "mlp:8", .05, "digits:1500", 4 }},
		{"sync", func(c *config.Config) {
			c.Mode, c.AverageEvery, c.Optimizer, c.LR = config.MustMode("sync"), 5, "momentum", .01
		}},
		{"sync gradients", func(c *config.Config) { c.Mode, c.Average = config.MustMode("sync"), "gradients" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := digits(t, c.edit)
			one.Workers = 2
			if one.Mode.Kind == config.Async {
				one.InFlight = 4
			}
			want := trainTwo(t, one)
			for _, p2p := range peerings {
				if p2p == "on" && one.Mode.Kind == config.Sync {
					continue // as without atomics, where one would be a fault
				}
				two := one
				two.GPU, two.Run = "0,1", t.TempDir()
				got := trainTwo(t, two, "HOGWILD_FAKE_P2P="+p2p)
				near := .1
				if two.Mode.Kind == config.Sync {
					near = 0
				}
				if d := math.Abs(got.TestLoss - want.TestLoss); !(d <= near) || got.Examples != want.Examples {
					t.Errorf("p2p %s: test loss %.5f after %d examples; on one GPU %.5f after %d", p2p, got.TestLoss,
						got.Examples, want.TestLoss, want.Examples)
				}
				addUp(t, got, "cuda:0", "cuda:1")
			}
		})
	}
}

// addUp: all of a run's examples were trained on these devices, on each of them some.
func addUp(t *testing.T, r rundir.Result, devices ...string) {
	t.Helper()
	sum, n := 0.0, int64(0)
	for _, s := range r.Shares {
		sum += s.Share
		n += s.Examples
		if !slices.Contains(devices, s.Device) || s.Examples == 0 {
			t.Errorf("%s has trained %d examples", s.Device, s.Examples)
		}
	}
	if len(r.Shares) != len(devices) || math.Abs(sum-1) > 1e-9 || n != r.Examples {
		t.Errorf("shares %v of %d examples, want those of %v", r.Shares, r.Examples, devices)
	}
}

// TestAway: one worker that has all its steps one after the other, on another GPU than
// the weights, is serial SGD. Its differences lose nothing but what rounding does.
func TestAway(t *testing.T) {
	needStandIn(t)
	for _, c := range []struct {
		name string
		edit func(*config.Config)
	}{
		{"softmax", func(c *config.Config) { c.Model = "softmax" }},
		{"mlp momentum", func(c *config.Config) {
			c.Model, c.Optimizer, c.LR, c.Data = "mlp:8", "momentum", .01, "digits:1000"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cpu := digits(t, c.edit)
			cpu.GPU = ""
			want := train(t, cpu)
			for _, p2p := range peerings {
				away := digits(t, c.edit)
				away.GPU, away.InFlight = "0,1", 1
				got := trainTwo(t, away, "HOGWILD_FAKE_P2P="+p2p, shiftVariable+"=1")
				if math.Abs(got.TestLoss-want.TestLoss) > 1e-3 || math.Abs(got.TrainLoss-want.TrainLoss) > 1e-3 {
					t.Errorf("p2p %s: train and test loss %.5f, %.5f; the CPU's %.5f, %.5f", p2p, got.TrainLoss,
						got.TestLoss, want.TrainLoss, want.TestLoss)
				}
			}
		})
	}
}

// TestPrivateState: a worker that adds to weights on another GPU, or meets others in host memory, has its optimizer's
// state where it trains, and the owner's copy is renewed before it is saved. So a run that is cut after an epoch and
// resumed ends as one that is not, but for rounding where a replica is merged, which is chance.
func TestPrivateState(t *testing.T) {
	needStandIn(t)
	for i, optimizer := range []config.Optimizer{config.Momentum, config.Adam, config.Momentum, config.Adam} {
		p2p, near := "on", 0.0
		if i >= 2 {
			p2p, near = "off", 1e-5
		}
		c := digits(t, func(c *config.Config) {
			c.Model, c.Optimizer, c.LR, c.Data, c.GPU, c.InFlight = "mlp:8", optimizer, .01, "digits:500", "0,1", 1
			c.MergeEvery = config.InPlace // no replica, which rounds where it is merged
		})
		away := []string{"HOGWILD_FAKE_P2P=" + p2p, shiftVariable + "=1"}
		want := trainTwo(t, c, away...)
		c.Run, c.Epochs = t.TempDir(), 1
		trainTwo(t, c, away...)
		c.Resume, c.Epochs = c.Run, 2
		got := trainTwo(t, c, away...)
		if !(abs(got.TestLoss-want.TestLoss) <= near && abs(got.TrainLoss-want.TrainLoss) <= near) {
			t.Errorf("p2p %s, %s: resumed, train and test loss %v, %v; in one go %v, %v", p2p, optimizer, got.TrainLoss,
				got.TestLoss, want.TrainLoss, want.TestLoss)
		}
		t.Logf("p2p %s, %s: resumed %g and %g apart", p2p, optimizer, got.TrainLoss-want.TrainLoss,
			got.TestLoss-want.TestLoss)
	}
}

// TestWhereMemoryIs: the weights are on the first GPU of the list, the set on both; a
// worker on the other opens what it can reach, and says how in a note.
func TestWhereMemoryIs(t *testing.T) {
	needStandIn(t)
	for _, p2p := range peerings {
		path := filepath.Join(t.TempDir(), "calls.jsonl")
		c := digits(t, func(c *config.Config) { c.GPU, c.Workers, c.InFlight, c.Epochs = "1,0", 2, 4, 1 })
		a := twoApart(t, c, "HOGWILD_FAKE_P2P="+p2p, "HOGWILD_FAKE_TRACE="+path)
		r, err := a.result(t)
		if err != nil {
			t.Fatal(err)
		}
		home, opened := map[string]int{}, map[int][]int{} // by nonce; by process, where what it opens is
		for _, c := range callsIn(t, path) {
			if c.Call == "cuMemAlloc" && c.PID == a.Process.Pid {
				home[c.Nonce] = c.Device
			}
		}
		for _, c := range callsIn(t, path) {
			if c.Call == "cuIpcOpenMemHandle" {
				opened[c.PID] = append(opened[c.PID], home[c.Nonce])
				if p2p != "on" && home[c.Nonce] != c.Device {
					t.Errorf("p2p %s: process %d opens memory of GPU %d on GPU %d", p2p, c.PID, home[c.Nonce], c.Device)
				}
			}
		}
		var places []string
		for _, on := range opened {
			places = append(places, fmt.Sprint(on))
		}
		slices.Sort(places)
		want := []string{"[1 0]", "[1 1]"}
		if p2p != "on" { // the weights are in host memory
			want = []string{"[0]", "[1]"}
		}
		if !slices.Equal(places, want) {
			t.Errorf("p2p %s: the workers open memory of the GPUs %v, want weights and set %v", p2p, places, want)
		}
		says := "gpu 0: no peer access to gpu 1 with atomics: all workers train replicas, merged in host memory " +
			"after each launch, every "
		if p2p == "on" {
			says = "gpu 0: trains a replica, merged with the weights of gpu 1 after each launch, every "
		}
		if !strings.Contains(strings.Join(r.Notes, "\n"), says) {
			t.Errorf("p2p %s: notes %q do not say %q", p2p, r.Notes, says)
		}
	}
}

// TestKilledReplicas: workers with replicas that are killed on another GPU are restarted, and nothing is lost.
func TestKilledReplicas(t *testing.T) {
	needStandIn(t)
	for _, by := range [][2]string{{"async", "off"}, {"sync", "off"}, {"async", "on"}, {"sync", "on"}} {
		mode := by[0]
		c := digits(t, func(c *config.Config) {
			c.GPU, c.Workers, c.Mode, c.InFlight, c.MaxRestarts, c.Epochs = "0,1", 3,
				config.MustMode(mode), 2, 20, 4
			c.Optimizer, c.LR = "momentum", .01
		})
		a := twoApart(t, c, "HOGWILD_FAKE_P2P="+by[1])
		stop := make(chan bool)
		go func() {
			for n := 0; n < 6; {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
				}
				if pids := childrenOf(a.Process.Pid); len(pids) > 0 &&
					syscall.Kill(pids[n%len(pids)], syscall.SIGKILL) == nil {
					n++
				}
			}
		}()
		r, err := a.result(t)
		close(stop)
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		if want := train(t,
			digits(t, func(c *config.Config) { c.GPU, c.Epochs = "", 4 })); r.Examples != want.Examples ||
			r.LostExamples != 0 {
			t.Errorf("%s: %d examples, %d lost, want %d and 0", by, r.Examples, r.LostExamples, want.Examples)
		} else if mode == "async" && !(math.Abs(r.TestLoss-want.TestLoss) < .1) {
			t.Errorf("%s: test loss %.4f, without kills on a core %.4f", by, r.TestLoss, want.TestLoss)
		}
		t.Logf("%s: %d restarts, test loss %.4f, accuracy %.3f", by, r.Restarts, r.TestLoss, *r.TestAccuracy)
	}
}

// TestAnyDevice: what was saved on two GPUs goes on on a core, and back on one GPU.
func TestAnyDevice(t *testing.T) {
	needStandIn(t)
	edit := func(c *config.Config) {
		c.Optimizer, c.LR, c.Workers, c.Epochs, c.SaveEvery = "momentum", .01, 2, 1, "1"
	}
	c := digits(t, edit)
	c.GPU, c.InFlight = "0,1", 2
	first := trainTwo(t, c, "HOGWILD_FAKE_P2P=off")
	c.Resume, c.GPU, c.InFlight, c.Epochs = c.Run, "", 0, 2
	second := train(t, c)
	c.GPU, c.InFlight, c.Epochs = "0", 2, 3
	third := train(t, c)
	if !(second.TestLoss < first.TestLoss && third.TestLoss < second.TestLoss) || third.Examples != 3*first.Examples {
		t.Errorf("test losses %.4f, %.4f, %.4f; %d examples", first.TestLoss, second.TestLoss, third.TestLoss,
			third.Examples)
	}
}

// TestRefusesPlaces: what cannot be is said before anything starts.
func TestRefusesPlaces(t *testing.T) {
	needStandIn(t)
	for _, c := range []struct {
		edit func(*config.Config)
		says string
	}{
		{func(c *config.Config) { c.GPU = "0,0"; c.Workers = 2 }, "GPU 0 is listed twice"},
		{func(c *config.Config) { c.GPU = "0,1" }, "2 GPUs for 1 worker: each"},
		{func(c *config.Config) { c.GPU, c.Workers = "0,2", 2 }, "gpu 2: no such GPU: this machine has 2 GPUs"},
		{func(c *config.Config) {
			c.GPU, c.Workers, c.Optimizer, c.OptimizerState = "0,1", 2, "momentum", "shared"
		}, "optimizer-state shared: a worker on GPU 1"},
	} {
		_, err := twoApart(t, digits(t, c.edit), "HOGWILD_FAKE_P2P=no-atomics").result(t)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want an error that says %q", err, c.says)
		}
	}
}
