package cpu

import (
	"fmt"
	"math"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// stepConfig returns a run whose model takes its steps by itself.
func stepConfig(name string, workers int) config.Config {
	c := configtest.Dense()
	c.Model, c.Workers, c.Batch, c.LR = name, workers, 1, 0.05
	return c
}

// Whatever the loss and the regularizers: the model's own steps leave the weights that
// gradients applied one by one leave.
func TestStepsAreThoseOfGradients(t *testing.T) {
	for _, name := range []string{"logistic", "hinge", "linear", "l1"} {
		for _, reg := range [][2]float64{{0, 0}, {0.01, 0}, {0.01, 0.02}} {
			for _, bias := range []bool{true, false} {
				c := stepConfig(name, 1)
				c.L2, c.L1, c.Bias, c.LR = reg[0], reg[1], bias, 0.01
				stepsOrGradients(t, &c, data.Sparse)
				stepsOrGradients(t, &c, data.Floats)
			}
		}
	}
}

func stepsOrGradients(t *testing.T, c *config.Config, kind data.Kind) {
	classes := 2
	if c.Model == "linear" || c.Model == "l1" {
		classes = 0
	}
	set := randomSet(kind, 150, 23, classes)
	for i, y := range set.Y {
		if classes == 0 {
			set.Y[i] = y / 100
		}
	}
	own, _ := devices(t, c, set)
	slow, _ := devices(t, c, set)
	what := fmt.Sprintf("%s, %s rows, l2 %v, l1 %v, bias %v", c.Model, kind, c.L2, c.L1, c.Bias)
	if own[0].step == nil {
		t.Fatalf("%s: takes no steps by itself", what)
	}
	slow[0].step, slow[0].fused = nil, false
	chunk := plan.Chunk{Rank: -1, Batch: 1, Stride: 1, Count: own[0].plan.Chunk, Weight: 1}
	a, err1 := own[0].Train([]plan.Chunk{chunk})
	b, err2 := slow[0].Train([]plan.Chunk{chunk})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if a[0].Steps != b[0].Steps || a[0].Examples != b[0].Examples ||
		math.Abs(a[0].Loss-b[0].Loss) > 1e-3*(1+b[0].Loss) {
		t.Errorf("%s: result %+v, want %+v", what, a[0], b[0])
	}
	var want []float64
	for _, v := range slow[0].weights.w {
		want = append(want, float64(v))
	}
	near(t, what, own[0].weights.w, want)
}

// Bytes, several outputs, batches and optimizers keep the general way.
func TestStepsOnlyWhereTheySuit(t *testing.T) {
	for what, d := range map[string]struct {
		kind    data.Kind
		classes int
		set     func(*config.Config)
	}{
		"bytes":          {data.Bytes, 2, func(*config.Config) {}},
		"three classes":  {data.Sparse, 3, func(*config.Config) {}},
		"a batch of two": {data.Sparse, 2, func(c *config.Config) { c.Batch = 2 }},
		"momentum":       {data.Sparse, 2, func(c *config.Config) { c.Optimizer = "momentum" }},
	} {
		c := stepConfig("logistic", 1)
		d.set(&c)
		if all, _ := devices(t, &c, randomSet(d.kind, 20, 9, d.classes)); all[0].step != nil {
			t.Errorf("%s: the model takes steps that are not made for it", what)
		}
	}
	set := randomSet(data.Sparse, 20, 9, 2)
	set.Idx[3] = 9
	c := stepConfig("logistic", 1)
	if all, _ := devices(t, &c, set); all[0].step != nil {
		t.Error("an index beyond the features: the loop that looks at none is used")
	}
}

// A worker that is alone reaches the same weights through a copy as without one, to the
// rounding of the differences; and nothing is left to merge once Train returns.
func TestCopyOfOneWorker(t *testing.T) {
	set := randomSet(data.Sparse, 3000, 23, 2)
	chunks := func(p *plan.Plan) (cs []plan.Chunk) {
		for i := range p.Chunks() {
			cs = append(cs, p.At(0, i))
		}
		return cs
	}
	for _, every := range []string{"2", "7", "64", "1000", "auto"} {
		c := stepConfig("logistic", 2) // but only the first trains
		c.MergeEvery = config.Count(every)
		all, m := devices(t, &c, set)
		c.MergeEvery = "1"
		plain, want := devices(t, &c, set)
		if all[0].local == nil || plain[0].local != nil {
			t.Fatalf("merge-every %s: copy %v; 1: %v", every, all[0].local, plain[0].local)
		}
		for range 2 {
			for _, d := range []*cpu{all[0], plain[0]} {
				if _, err := d.Train(chunks(&d.plan)); err != nil {
					t.Fatal(err)
				}
			}
		}
		exact := make([]float64, len(want.W))
		for j, v := range want.W {
			exact[j] = float64(v)
		}
		near(t, "merge-every "+every, m.W, exact)
		near(t, "the copy, merge-every "+every, all[0].local.mine, exact)
	}
}

// What two workers learn on their copies adds up.
func TestCopiesAddUp(t *testing.T) {
	set := randomSet(data.Sparse, 400, 11, 2)
	c := stepConfig("logistic", 2)
	all, m := devices(t, &c, set)
	for j := range m.W {
		all[0].local.mine[j] += 1
		all[1].local.mine[j] += float32(j)
	}
	for _, d := range append(all, all[0]) {
		d.local.made = 1
		d.merge(true)
	}
	for j, v := range m.W {
		if want := float32(1 + j); v != want || all[0].local.mine[j] != want {
			t.Errorf("weight %d is %v, the first worker's copy %v, want %v", j, v, all[0].local.mine[j], want)
		}
	}
}

// Of a model too large to be copied only the bias is: what two workers learn of it adds
// up, and each goes on from the other's.
func TestBiasOfLargeModelIsCopied(t *testing.T) {
	set := randomSet(data.Sparse, 1000, 11, 2)
	set.Features = tuning.MaxCopied
	set.Freq = append(set.Freq, make([]float32, tuning.MaxCopied-11)...) // nor do those features occur
	c := stepConfig("logistic", 2)
	all, m := devices(t, &c, set)
	c.MergeEvery = "1"
	plain, want := devices(t, &c, set)
	if all[0].local != nil || all[0].biasCopy == nil || plain[0].biasCopy != nil {
		t.Fatalf("the copies are %v and %v; with merge-every 1 that of the bias is %v", all[0].local, all[0].biasCopy,
			plain[0].biasCopy)
	}
	p := &all[0].plan
	for i := range p.Chunks() {
		for _, d := range []*cpu{all[i%2], plain[i%2]} {
			if _, err := d.Train([]plan.Chunk{p.At(0, i)}); err != nil {
				t.Fatal(err)
			}
		}
		all[(i+1)%2].biasCopy.merge() // takes turns: nothing is late
	}
	exact := make([]float64, len(want.W))
	for j, v := range want.W {
		exact[j] = float64(v)
	}
	near(t, "in turns", m.W, exact)
	if at := len(m.W) - 1; m.W[at] == 0 {
		t.Error("the bias was not learnt")
	}
	var bias float32
	before := m.W[len(m.W)-1]
	all[0].step.Steps(m.W, set, []int32{1, 2, 3}, model.Step{LR: 1, Bias: &bias})
	if bias == 0 || m.W[len(m.W)-1] != before {
		t.Errorf("a bias apart from the weights is %v after its steps, that among them went from %v to %v", bias,
			before, m.W[len(m.W)-1])
	}
}

// Barrier mode without shares: a rank picks every so-manieth row out of one order, and
// all ranks together visit each once.
func TestStepsTakeEachRowOnce(t *testing.T) {
	set := randomSet(data.Sparse, 1000, 11, 2)
	for _, workers := range []int{1, 2, 3, 7} {
		c := stepConfig("logistic", workers)
		c.Mode, c.AverageEvery = config.MustMode("sync"), 50
		all, _ := devices(t, &c, set)
		seen := make([]int, set.Rows)
		p := &all[0].plan
		for i := range p.Chunks() {
			chunk := p.At(2, i)
			rows := make([]int32, chunk.Count)
			all[0].takeAll(chunk, rows)
			for k, r := range rows {
				seen[r]++
				var want [1]int32
				all[0].orders[0].Fill(want[:], 2, chunk.First+k*chunk.Stride)
				if r != want[0] {
					t.Fatalf("%d workers: step %d of chunk %d has row %d, want %d", workers, k, i, r, want[0])
				}
			}
		}
		for r, n := range seen {
			if n != 1 {
				t.Fatalf("%d workers: row %d is visited %d times", workers, r, n)
			}
		}
	}
}
