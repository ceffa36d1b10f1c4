package cpu

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// alone trains two epochs by one worker, and returns the weights and the summed loss.
func alone(t *testing.T, c config.Config, set *data.Set) (w []float32, loss float64) {
	t.Helper()
	all, m := devices(t, &c, set)
	d := all[0]
	d.model.Init(m.W, 1)
	for epoch := range 2 {
		var cs []plan.Chunk
		for i := range d.plan.Chunks() {
			cs = append(cs, d.plan.At(epoch, i))
		}
		ys, err := d.Train(cs)
		if err != nil {
			t.Fatal(err)
		}
		d.Flush()
		for _, y := range ys {
			loss += y.Loss
		}
	}
	return m.W, loss
}

// synthSet returns a small synthetic set.
func synthSet(t *testing.T, name string) *data.Set {
	t.Helper()
	set, test, err := data.Load(data.Options{Path: name, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = set.Close()
		_ = test.Close()
	})
	return set
}

// aloneCases returns runs of one worker that take their steps in all the ways that there are.
func aloneCases(t *testing.T) map[string]func() (config.Config, *data.Set) {
	run := func(name string, batch int, set *data.Set, edit func(c *config.Config)) func() (config.Config, *data.Set) {
		return func() (config.Config, *data.Set) {
			c := configtest.Dense()
			c.Model, c.Workers, c.Batch, c.LR, c.Schedule, c.Epochs = name, 1, batch, 0.02, "cosine", 2
			if edit != nil {
				edit(&c)
			}
			return c, set
		}
	}
	sparse, values := randomSet(data.Sparse, 3001, 23, 2), randomSet(data.Sparse, 3001, 23, 0)
	for i, y := range values.Y {
		values.Y[i] = y / 1000
	}
	pairs, graph := synthSet(t, "synth:netflix:0.0001"), synthSet(t, "synth:dblife:0.001")
	dense, thin, images := randomSet(data.Floats, 1003, 37, 3), synthSet(t, "synth:rcv1:0.001"),
		randomSet(data.Bytes, 301, 64, 3)
	images.Shape = []int{1, 8, 8}
	return map[string]func() (config.Config, *data.Set){
		"logistic":       run("logistic", 1, sparse, nil),
		"hinge l2":       run("hinge", 1, sparse, func(c *config.Config) { c.L2 = 0.01 }),
		"logistic l2 l1": run("logistic", 1, sparse, func(c *config.Config) { c.L2, c.L1 = 0.01, 0.002 }),
		"linear no bias": run("linear", 1, values, func(c *config.Config) { c.Bias = false }),
		"factor":         run("factor:10", 1, pairs, func(c *config.Config) { c.L2 = 0.05 }),
		"factor:7":       run("factor:7", 1, pairs, nil),
		"factor:39":      run("factor:39", 1, pairs, nil),
		"factor:67":      run("factor:67", 1, pairs, func(c *config.Config) { c.Biases = true }),
		"cut":            run("cut:3", 1, graph, nil),
		"softmax batch":  run("softmax", 9, dense, nil),
		"mlp batch":      run("mlp:19", 16, dense, func(c *config.Config) { c.L2 = 0.01 }),
		"mlp batch 1":    run("mlp:5", 1, dense, nil),
		"momentum":       run("mlp:5", 8, dense, func(c *config.Config) { c.Optimizer = "momentum" }),
		"sparse batch":   run("softmax", 5, sparse, nil),
		"sparse rows":    run("softmax", 1, thin, nil),
		"thin batch":     run("logistic", 7, thin, nil),
		"wide layer":     run("mlp:100,7", 16, sparse, nil),
		"dense logistic": run("logistic", 1, randomSet(data.Floats, 1003, 37, 2), nil),
		"centred bytes": run("mlp:19", 16, randomSet(data.Bytes, 1003, 37, 3),
			func(c *config.Config) { c.Center, c.LR = "on", 0.002 }),
		"convnet": run("conv:3@3p2,9", 6, images, nil),
	}
}

// One worker alone leaves the same bits whatever its mode: its steps are the same, and no other worker comes between.
func TestModesAreAlikeAlone(t *testing.T) {
	for name, run := range aloneCases(t) {
		c, set := run()
		want, loss := alone(t, c, set)
		if start := make([]float32, len(want)); slices.Equal(want, start) || math.IsNaN(loss) {
			t.Fatalf("%s: the run has not trained", name)
		}
		for _, mode := range []string{"locked", "ordered", "atomic", "delayed:0"} {
			c, set := run()
			c.Mode = config.MustMode(mode)
			got, sum := alone(t, c, set)
			for i, v := range got {
				if math.Float32bits(v) != math.Float32bits(want[i]) {
					t.Errorf("%s, %s: weight %d is %v, async makes it %v", name, mode, i, v, want[i])
					break
				}
			}
			if math.Abs(sum-loss) > 1e-5*(1+math.Abs(loss)) {
				t.Errorf("%s, %s: loss %v, async's is %v", name, mode, sum, loss)
			}
		}
	}
}

// Of models that take their steps by themselves, too, a delayed update is computed on the weights that were read, K
// steps late, but for regularizers, which act on the weights as they are at the write: all in double precision.
func TestDelayedHalves(t *testing.T) {
	const k, lr, l2 = 7, 0.05, 0.1
	for _, rank := range []int{1, 10, 19} {
		set := synthSet(t, "synth:netflix:0.0001")
		c := configtest.Dense()
		c.Model, c.Workers, c.Batch, c.LR, c.L2, c.Mode = fmt.Sprint("factor:", rank), 1, 1, lr, l2,
			config.MustMode(fmt.Sprint("delayed:", k))
		all, m := devices(t, &c, set)
		d := all[0]
		if d.step == nil || d.fused {
			t.Fatal("the steps are not taken in halves")
		}
		d.model.Init(m.W, 1)
		var w []float64
		for _, v := range m.W {
			w = append(w, float64(v))
		}
		chunk := d.plan.At(0, 0)
		if _, err := d.Train([]plan.Chunk{chunk}); err != nil {
			t.Fatal(err)
		}
		d.Flush()
		rows := make([]int32, chunk.Count)
		d.orders[0].Fill(rows, chunk.Epoch, chunk.First)
		lateFactors(w, set, rows, rank, k, lr, l2)
		near(t, c.Model, m.W, w)
	}
}

// lateFactors factorizes without biases, with updates k steps late.
func lateFactors(w []float64, set *data.Set, rows []int32, rank, k int, lr, l2 float64) {
	type update struct {
		u, v int
		p, q []float64 // as they were read
		e    float64
	}
	var late []update
	land := func() {
		g := late[0]
		late = late[1:]
		for c := range rank {
			p, q := &w[g.u*rank+c], &w[g.v*rank+c]
			*p, *q = *p-lr*(2*g.e*g.q[c]+l2**p), *q-lr*(2*g.e*g.p[c]+l2**q)
		}
	}
	for _, r := range rows {
		u, v := int(set.Idx[2*r]), int(set.Idx[2*r+1])
		g := update{u, v, slices.Clone(w[u*rank:][:rank]), slices.Clone(w[v*rank:][:rank]),
			w[len(w)-1] - float64(set.Y[r])}
		for c := range rank {
			g.e += g.p[c] * g.q[c]
		}
		if late = append(late, g); len(late) > k {
			land()
		}
	}
	for len(late) > 0 {
		land()
	}
}

// A worker that is not alone waits between its halves: a lock that another one holds keeps
// the write back, not the read. Biases have locks of their own, which no loop takes.
func TestLockKeepsHalvesBack(t *testing.T) {
	for _, biases := range []bool{false, true} {
		lockKeepsBack(t, biases)
	}
}

func lockKeepsBack(t *testing.T, biases bool) {
	set := synthSet(t, "synth:netflix:0.0001")
	c := configtest.Dense()
	c.Model, c.Workers, c.Batch, c.Mode, c.Biases = "factor:10", 2, 1, config.MustMode("locked"), biases
	all, m := devices(t, &c, set)
	d := all[0]
	d.model.Init(m.W, 1)
	ranges := d.step.Touched(set, 5, nil)
	before := slices.Clone(m.W)
	other := newLocks(m, 1)
	for _, r := range ranges {
		other.mark(r.From, r.To)
	}
	other.acquire()
	d.sample.left = math.MaxInt // a sampled step is not left to the loop
	d.begin([]int32{5})
	if _, n, rest := d.read([]int32{5, 6}, 0.1); n > 0 || !slices.Equal(rest, []int32{5}) ||
		!slices.Equal(m.W, before) {
		t.Fatalf("%d steps taken, %v left; weights changed: %v", n, rest, !slices.Equal(m.W, before))
	}
	done := make(chan bool)
	go func() {
		d.write([]int32{5}, 0.1)
		done <- true
	}()
	u := ranges[0].From
	m.W[u] += 1 // as the holder of the lock may
	now := slices.Clone(m.W)
	other.release()
	<-done
	var written []model.Range
	for i, v := range m.W {
		if v != now[i] {
			written = append(written, model.Range{From: i, To: i + 1})
		}
	}
	if len(written) == 0 || m.W[u] < before[u]+0.5 {
		t.Errorf("%d weights written; the other's update of weight %d came to %v of 1", len(written), u,
			m.W[u]-before[u])
	}
	for _, r := range written {
		if !slices.ContainsFunc(ranges, func(in model.Range) bool { return in.From <= r.From && r.To <= in.To }) {
			t.Errorf("weight %d was written, of which Touched knows nothing", r.From)
		}
	}
}

// Workers that write the same few weights at the same time lose no update, in any mode that
// promises it: each step adds the same whole number to what it writes, whatever it has read.
func TestNoStepIsLost(t *testing.T) {
	for name, set := range map[string]*data.Set{"l1": countedRows(20_000), "factor:6": countedPairs(20_000)} {
		for _, mode := range []string{"atomic", "locked", "ordered"} {
			epochs := 200
			if mode == "ordered" {
				epochs = 1 // they wait for each other at every step
			}
			c := stepConfig(name, 2)
			c.Mode, c.Bias, c.LR = config.MustMode(mode), false, 1
			want := make([]float32, set.Features)
			for _, j := range set.Idx {
				want[j] += float32(epochs)
			}
			rank := 1
			if name != "l1" {
				rank, c.LR = 6, 0x1p-111 // for each step 2^-30 times the row's factors
			}
			all, m := devices(t, &c, set)
			clear(m.W)
			if name != "l1" {
				for i := range set.Shape[0] * rank {
					m.W[i], want[i/rank] = 0x1p30, 0x1p30 // too large to be moved by the columns'
				}
			}
			var workers sync.WaitGroup
			for w, d := range all {
				if d.step == nil || d.guard == nil {
					t.Fatalf("%s, %s: no steps under a guard", name, mode)
				}
				workers.Go(func() {
					for i := w; i < epochs*d.plan.Chunks(); i += len(all) {
						if _, err := d.Train([]plan.Chunk{d.plan.At(0, i%d.plan.Chunks())}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			workers.Wait()
			for i, n := range want {
				for c, v := range m.W[i*rank : (i+1)*rank] {
					if v != n {
						t.Fatalf("%s, %s: number %d of %d is %v, want %v", name, mode, c, i, v, n)
					}
				}
			}
		}
	}
}

// countedRows returns sparse rows of ones with a target that no weight reaches.
func countedRows(n int) *data.Set {
	set := randomSet(data.Sparse, n, 9, 0)
	for i := range set.Val {
		set.Val[i] = 1
	}
	for i := range set.Y {
		set.Y[i] = 1e9
	}
	return set
}

// countedPairs returns entries of a matrix of three columns, with a target that no product changes.
func countedPairs(n int) *data.Set {
	const rows, columns = 300, 3
	set := &data.Set{Meta: data.Meta{Name: "counted", Rows: n, Kind: data.Pairs, Features: rows + columns,
		Shape: []int{rows, columns}}}
	for i := range n {
		set.Idx = append(set.Idx, uint32(i*7%rows), uint32(rows+i%columns))
		set.Y = append(set.Y, 0x1p80)
	}
	return set
}
