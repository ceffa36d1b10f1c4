//go:build cuda

package cuda

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/rundir"
)

// TestReduceMerge: replicas that merge in turn leave in the weights the sum of what all have learnt, and each has that
// in itself; the counts say how many updates others have written since its last merge. Through host memory, the weights
// are the base, which stays as it is, and what each rank has learnt.
func TestReduceMerge(t *testing.T) {
	onEach(t, func(t *testing.T, g *gpuUnderTest) { testReduceMerge(t, g, "reduce_begin", "reduce_merge") }, "reduce")
	onEach(t, func(t *testing.T, g *gpuUnderTest) { testReduceMerge(t, g, "reduce_sum", "reduce_sum") }, "reduce")
}

func testReduceMerge(t *testing.T, g *gpuUnderTest, begins, merges string) {
	const ranks, steps, guardValue = 3, 130, 4711.25
	apart := merges == "reduce_sum"
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 257, 70_001} {
		// Multiples of 1/8 below 2^18: sums of these are exact.
		eighths := func() []float32 {
			v := slices.Repeat([]float32{guardValue}, n+1)
			for i := range n {
				v[i] = float32(r.IntN(1001)-500) / 8
			}
			return v
		}
		w := eighths()
		base := slices.Clone(w)
		out, counts := put(g, w), put(g, make([]uint64, ranks*countLine/8))
		share, shares := put(g, []float32{1, .5}), []float32{1, .5}
		stride := n + 3
		learnt := put(g, make([]float32, ranks*stride))
		var jobs []job
		launch := func(kernel string, j job) {
			if err := g.kernels[kernel].run(min(3, ceilDiv(n, threads)), cu.DevicePtr(put(g, encode(j)))); err != nil {
				t.Fatal(err)
			}
		}
		for rank := range int64(ranks) {
			// What an earlier worker has left there is not added, nor copied.
			rubbish := slices.Repeat([]float32{float32(math.NaN())}, n)
			j := job{W: put(g, append(slices.Clone(rubbish), guardValue)), First: put(g, append(rubbish, guardValue)),
				Out: out, Updates: put(g, []uint64{0}), LR: share, Counts: counts, Weights: int64(n), Rank: rank,
				Ranks: ranks, Second: learnt, ScratchStride: int64(stride)}
			launch(begins, j)
			jobs = append(jobs, j)
		}
		for turn := range 2 * ranks {
			j, part := jobs[turn%ranks], 0
			if apart { // now all of it counts, now half
				part = turn % 2
			}
			j.LR += 4 * uint64(part)
			change, replica := eighths(), get[float32](g, n+1, j.W)
			for i := range n {
				replica[i] += change[i]
				w[i] += shares[part] * change[i]
			}
			if err := upload(cu.DevicePtr(j.W), replica); err != nil {
				t.Fatal(err)
			}
			j.Steps, j.Record = steps, put(g, make([]uint64, device.RecordWords))
			launch(merges, j)
			places := map[string]uint64{"weights": j.Out, "replica": j.W, "as it began": j.First}
			if apart {
				delete(places, "weights")
				if !slices.Equal(get[float32](g, n+1, j.Out), base) {
					t.Errorf("%d weights, merge %d: the base has changed", n, turn+1)
				}
				all := get[float32](g, ranks*stride, learnt)
				for i := range n {
					if base[i]+all[i]+all[stride+i]+all[2*stride+i] != w[i] {
						t.Fatalf("%d weights, merge %d: weight %d is not the sum of what ranks have learnt", n,
							turn+1, i)
					}
				}
			}
			for what, at := range places {
				if !slices.Equal(get[float32](g, n+1, at), w) {
					t.Errorf("%d weights, merge %d: %s differ from the sum", n, turn+1, what)
				}
			}
			others := min(turn, ranks-1) * steps
			record := get[uint64](g, device.RecordWords, j.Record)
			if record[4] != uint64(3*others) || record[5] != uint64(others) {
				t.Errorf("merge %d: stale by %d in all of three samples, %d at most; want %d updates", turn+1,
					record[4], record[5], others)
			}
		}
	}
}

// fourGPUs returns the result of a run of four workers on four GPUs, and the calls of its processes.
func fourGPUs(t *testing.T, c config.Config, p2p string) (rundir.Result, []call) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	c.GPU, c.Workers, c.Run = "0,1,2,3", 4, t.TempDir()
	r, err := apart(t, c, "HOGWILD_FAKE_DEVICES=4", "HOGWILD_FAKE_P2P="+p2p, "HOGWILD_FAKE_TRACE="+path).result(t)
	if err != nil {
		t.Fatal(err)
	}
	return r, callsIn(t, path)
}

// TestFourGPUs: four workers on four GPUs end where four on one do, however the GPUs reach each other; and each worker
// has a context on its own GPU alone, where it merges once a launch. With peer access and atomics those on the first
// GPU need not merge.
func TestFourGPUs(t *testing.T) {
	needStandIn(t)
	c := digits(t, func(c *config.Config) { c.Model, c.Workers, c.InFlight, c.MergeEvery = "softmax", 4, 8, "24" })
	want := train(t, c)
	for _, p2p := range peerings {
		r, calls := fourGPUs(t, c, p2p)
		if d := math.Abs(r.TestLoss - want.TestLoss); !(d <= .1) || r.Examples != want.Examples {
			t.Errorf("p2p %s: test loss %.4f after %d examples; on one GPU %.4f after %d", p2p, r.TestLoss, r.Examples,
				want.TestLoss, want.Examples)
		}
		steps, merges, most := map[int]int{}, map[int]int{}, contexts(calls) // launches by GPU
		for _, call := range calls {
			switch {
			case call.Call != "cuLaunchKernel":
			case call.Kernel == "linear_step":
				steps[call.Device]++
			case call.Kernel == "reduce_merge", call.Kernel == "reduce_sum": // which begins a replica too
				merges[call.Device]++
			}
		}
		t.Logf("p2p %s: test loss %.4f, on one GPU %.4f; contexts of a worker at most %d; launches of steps by GPU "+
			"%v, of merges %v", p2p, r.TestLoss, want.TestLoss, most, steps, merges)
		if most != 1 {
			t.Errorf("p2p %s: a worker has up to %d contexts, want 1", p2p, most)
		}
		if p2p != "on" {
			for gpu := range 4 {
				if steps[gpu] < 2 || merges[gpu] < steps[gpu] {
					t.Errorf("p2p %s: GPU %d: %d launches of steps and %d merges, want more", p2p, gpu, steps[gpu]-1,
						merges[gpu])
				}
			}
			continue
		}
		if merges[0] != 0 {
			t.Errorf("%d merges on GPU 0, want none", merges[0])
		}
		for gpu := 1; gpu < 4; gpu++ {
			if steps[gpu] != merges[gpu]+1 { // the self-check's
				t.Errorf("GPU %d: %d launches of steps and %d merges, want one each", gpu, steps[gpu]-1, merges[gpu])
			}
		}
		notes := strings.Join(r.Notes, "\n")
		if !strings.Contains(notes, "weights of gpu 0 after each launch, every 24 steps") ||
			strings.Contains(notes, "has no effect") {
			t.Errorf("notes %q", r.Notes)
		}
	}
}

// TestFourGPUsInRounds: in sync mode four GPUs give the bits of one, by peer access without atomics and through host
// memory, and a worker has a context on its own GPU alone.
func TestFourGPUsInRounds(t *testing.T) {
	needStandIn(t)
	c := digits(t, func(c *config.Config) {
		c.Model, c.Workers, c.Mode, c.AverageEvery = "softmax", 4, config.MustMode("sync"), 20
		c.Epochs, c.Data = 1, "digits:1500"
	})
	want := train(t, c)
	for _, p2p := range []string{"no-atomics", "off"} {
		r, calls := fourGPUs(t, c, p2p)
		if most := contexts(calls); r.TestLoss != want.TestLoss || most != 1 {
			t.Errorf("p2p %s: test loss %v, on one GPU %v; a worker has up to %d contexts, want 1", p2p, r.TestLoss,
				want.TestLoss, most)
		}
	}
}

// contexts is how many GPUs a worker has a context on, at most. The coordinator has one on each of the four.
func contexts(calls []call) (most int) {
	each := map[int]int{} // by process
	for _, c := range calls {
		if c.Call == "cuDevicePrimaryCtxRetain" {
			each[c.PID]++
		}
	}
	for _, n := range each {
		if n < 4 {
			most = max(most, n)
		}
	}
	return most
}

// TestWhoTrainsReplicas: which runs train replicas over NVLink, and which add to the weights directly.
func TestWhoTrainsReplicas(t *testing.T) {
	needStandIn(t)
	for _, c := range []struct {
		edit func(*config.Config)
		says string
	}{
		{func(c *config.Config) { c.Model, c.Optimizer, c.LR = "softmax", "momentum", .01 }, "trains a replica"},
		{func(c *config.Config) { c.Model, c.MergeEvery = "softmax", config.InPlace }, "updates go directly"},
		{func(c *config.Config) {
			c.Model, c.Optimizer, c.OptimizerState, c.LR = "softmax", "momentum", config.Shared, .01
		}, "updates go directly"},
		{func(c *config.Config) { c.Model, c.Data = "logistic", "synth:sparse:1000x1000x20" }, "updates go directly"},
		{func(c *config.Config) { c.Model, c.Data = "factor:4", "synth:lowrank:100x100x2000x4" },
			"updates go directly"},
	} {
		run := digits(t, c.edit)
		run.GPU, run.Workers, run.InFlight, run.Epochs = "0,1", 2, 4, 1
		r, err := twoApart(t, run, "HOGWILD_FAKE_P2P=on").result(t)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(r.Notes, "\n"), "gpu 1: "+c.says) {
			t.Errorf("%s on %s: notes %q do not say %q", run.Model, run.Data, r.Notes, c.says)
		}
	}
}

// TestReplicaStreams: a replica whose training set comes with its launches ends where a core does.
func TestReplicaStreams(t *testing.T) {
	needStandIn(t)
	c := digits(t, func(c *config.Config) { c.Model, c.Data = "softmax", "digits:1000" })
	cpu := c
	cpu.GPU, cpu.Run = "", t.TempDir()
	want := train(t, cpu)
	c.GPU, c.InFlight = "0,1", 1
	r := trainTwo(t, c, append([]string{"HOGWILD_FAKE_P2P=on", shiftVariable + "=1"}, cramped...)...)
	if !(math.Abs(r.TestLoss-want.TestLoss) <= 1e-3) || !strings.Contains(strings.Join(r.Notes, "\n"), "streams") {
		t.Errorf("test loss %.5f, a core's %.5f; notes %q", r.TestLoss, want.TestLoss, r.Notes)
	}
}
