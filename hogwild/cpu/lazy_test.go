package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/plan"
)

// rareSet returns sparse rows in which most features occur now and then.
func rareSet(n, d int) *data.Set {
	s := &data.Set{Meta: data.Meta{Name: "rare", Rows: n, Features: d, Kind: data.Sparse}, Freq: make([]float32, d)}
	s.Classes = []string{"0", "1", "2"}
	s.Ptr = []int64{0}
	r := rand.New(rand.NewPCG(1, 2)) // always the same: a unit that dies a step sooner is another network
	for i := range n {
		for j := range d {
			if r.IntN(2+j) == 0 {
				s.Idx, s.Val = append(s.Idx, uint32(j)), append(s.Val, float32(r.NormFloat64()))
				s.Freq[j] += 1 / float32(n)
			}
		}
		s.Ptr = append(s.Ptr, int64(len(s.Idx)))
		s.Y = append(s.Y, float32(i%3))
	}
	return s
}

// TestLazyRows: on sparse rows an optimizer with state takes the steps of one that passes over all weights at each,
// in double precision: momentum and adagrad exactly, Adam but for the correction of its bias, which is 1 here.
func TestLazyRows(t *testing.T) {
	for _, model := range []string{"softmax", "mlp:4"} {
		for _, kind := range []config.Optimizer{"momentum", "adagrad", "adam"} {
			set := rareSet(600, 60)
			c := configtest.Dense()
			c.Model, c.Workers, c.Batch, c.LR, c.Optimizer = model, 1, 2, .01, kind
			lazy, lazyMem := devices(t, &c, set)
			whole, wholeMem := devices(t, &c, set)
			if whole[0].lazy = nil; lazy[0].lazy == nil {
				t.Fatalf("%s, %s: each step passes over all weights", model, kind)
			}
			for i := range lazyMem.W {
				lazyMem.W[i] = float32(math.Sin(float64(i))) / 4
				wholeMem.W[i] = lazyMem.W[i]
			}
			references := make([]exact, len(lazyMem.W))
			sums := make([]float64, len(references))
			for i := range references {
				references[i] = exact{kind: string(kind), mu: .9, b1: .9, b2: .999, t: 1e6}
				sums[i] = float64(lazyMem.W[i])
			}
			for _, d := range []*cpu{lazy[0], whole[0]} {
				*d.opt.Steps = 1e6
			}
			steps := 0
			for at := 0; at < set.Rows; at += c.Batch {
				chunk := plan.Chunk{Rank: -1, First: at, Count: c.Batch, Batch: c.Batch, Stride: c.Batch, Weight: 1}
				if _, err := lazy[0].Train([]plan.Chunk{chunk}); err != nil {
					t.Fatal(err)
				}
				d := whole[0] // takes the step by the reference
				rows := d.next(chunk, &plan.ChunkResult{})
				d.read(rows, c.LR)
				d.flatten()
				for i := range references {
					sums[i] -= references[i].step(float64(d.dense[i]), c.LR)
					wholeMem.W[i] = float32(sums[i])
				}
				clear(d.dense)
				steps++
			}
			behind := 0
			for _, seen := range lazy[0].lazy.seen {
				if seen < lazy[0].lazy.now {
					behind++
				}
			}
			if behind < 10 || lazy[0].lazy.now != uint64(steps) {
				t.Fatalf("%s, %s: %d rows wait after %d of %d steps", model, kind, behind, lazy[0].lazy.now,
					steps)
			}
			lazy[0].Flush()
			for i, v := range lazyMem.W {
				if moved := math.Abs(sums[i] - float64(float32(math.Sin(float64(i)))/4)); math.Abs(float64(v)-sums[i]) >
					1e-4+1e-3*moved {
					t.Fatalf("%s, %s, weight %d: %v, want %v, which has moved by %v", model, kind, i, v, sums[i], moved)
				}
			}
			for k, state := range lazy[0].opt.Slots {
				for i, v := range state {
					want := references[i].v
					switch {
					case kind == "adagrad":
						want = references[i].sum
					case kind == "adam" && k == 0:
						want = references[i].m
					}
					if math.Abs(float64(v)-want) > 2e-5+1e-3*math.Abs(want) {
						t.Fatalf("%s, %s, state %d of weight %d: %v, want %v", model, kind, k, i, v, want)
					}
				}
			}
		}
	}
}

// TestLazyRowsHaveLimits: where a step is to be of all weights, it is.
func TestLazyRowsHaveLimits(t *testing.T) {
	set := rareSet(60, 10)
	for what, edit := range map[string]func(*config.Config){
		"l2": func(c *config.Config) { c.L2 = .1 }, "plain sgd": func(c *config.Config) { c.Optimizer = "sgd" },
		"a state for all": func(c *config.Config) { c.Workers, c.OptimizerState = 2, "shared" },
		"locks":           func(c *config.Config) { c.Mode = config.MustMode("locked") },
		"a slow beta2":    func(c *config.Config) { c.Optimizer, c.Beta2 = "adam", .8 },
	} {
		c := configtest.Dense()
		c.Model, c.Workers, c.Batch, c.Optimizer = "softmax", 1, 2, "momentum"
		edit(&c)
		if all, _ := devices(t, &c, set); all[0].lazy != nil {
			t.Errorf("%s: steps are of some rows alone", what)
		}
	}
}
