package cpu

import (
	"math"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// ranksOf returns the devices of four ranks of a barrier-mode job, of 25 weights unless
// edit says otherwise, which do not divide by four.
func ranksOf(t *testing.T, edit func(c *config.Config)) ([]*cpu, *control.Weights) {
	t.Helper()
	c := configtest.Dense()
	c.Model, c.Mode, c.Workers = "softmax", config.MustMode("sync"), 4
	edit(&c)
	all, m := devices(t, &c, randomSet(data.Floats, 64, 4, 5))
	fillRandom(m.W)
	for r := range m.Slots {
		fillRandom(m.Slots[r])
	}
	return all, m
}

func averageAll(t *testing.T, all []*cpu, r plan.Round) {
	t.Helper()
	for _, d := range all {
		if err := d.Average(r); err != nil {
			t.Fatal(err)
		}
	}
}

// The mean is as in the formula but for rounding, and a rank that trained nothing
// may hold anything.
func TestMeanOfReplicas(t *testing.T) {
	for _, examples := range [][]int{{64, 64, 64, 64}, {10, 0, 7, 3}, {0, 0, 5, 0}, {1, 2, 3, 0}} {
		all, m := ranksOf(t, func(*config.Config) {})
		for r, n := range examples {
			if n == 0 {
				m.Slots[r][3] = float32(math.NaN())
			}
		}
		averageAll(t, all, plan.Round{Number: 1, Examples: examples})
		total := 0
		for _, n := range examples {
			total += n
		}
		for i, got := range m.W {
			exactly := 0.0
			for r, n := range examples {
				if n > 0 {
					exactly += float64(n) * float64(m.Slots[r][i]) / float64(total)
				}
			}
			if !(math.Abs(float64(got)-exactly) <= 2e-7) {
				t.Fatalf("%v, weight %d: %v, the formula gives %v", examples, i, got, exactly)
			}
		}
		if d := all[1]; d.Pull() != nil || !slices.Equal(d.own.w, m.W) {
			t.Errorf("after Pull the replica is %v", d.own.w)
		}
	}
}

func TestNothingTrainedNothingAveraged(t *testing.T) {
	all, m := ranksOf(t, func(*config.Config) {})
	before := slices.Clone(m.W)
	averageAll(t, all, plan.Round{Number: 1, Examples: make([]int, 4)})
	if !slices.Equal(before, m.W) {
		t.Error("the weights have changed")
	}
}

func TestSlicesCoverTheWeights(t *testing.T) {
	for workers := 1; workers <= 40; workers++ {
		at := 0
		for rank := range workers {
			d := cpu{rank: rank, weights: newShared(make([]float32, 25), false),
				cfg: tuning.AsAsked(config.Config{Workers: workers})}
			from, to := plan.SliceOf(d.weights.len(), d.rank, d.cfg.Asked.Workers)
			if from != at || to < from || to-from > 25/workers+1 {
				t.Fatalf("rank %d of %d has %d to %d, the one before ended at %d", rank, workers, from, to, at)
			}
			at = to
		}
		if at != 25 {
			t.Fatalf("%d ranks have %d of 25 weights", workers, at)
		}
	}
}

// With averaged gradients all take the step of one worker with the mean gradient: here against double precision, with
// every rule, and with l1 on the weights of both layers but not on their biases.
func TestStepTogether(t *testing.T) {
	for _, kind := range []string{"sgd", "momentum", "adagrad", "adam"} {
		all, m := ranksOf(t, func(c *config.Config) {
			c.Model, c.Average, c.Optimizer, c.Schedule, c.L1 = "mlp:3", "gradients",
				config.Optimizer(kind), "linear", 0.01
			c.LR, c.Epochs = 0.5, 8 // of 64 examples: 0.5 down to 0, an eighth of it at a time
		})
		w := make([]float64, len(m.W))
		references := make([]exact, len(m.W))
		for i := range w {
			w[i] = float64(m.W[i])
			references[i] = exact{kind: kind, mu: 0.9, b1: 0.9, b2: 0.999}
		}
		for round := range 8 {
			for r := range m.Slots {
				fillRandom(m.Slots[r])
			}
			examples := []int{2, 2, 2, 2 - round%3}
			total := float64(8 - round%3)
			lr := 0.5 * (1 - float64(round)/8)
			averageAll(t, all, plan.Round{Number: round + 1, Seen: int64(64 * round), Examples: examples})
			for i := range w {
				mean := 0.0
				for r, n := range examples {
					mean += float64(n) * float64(m.Slots[r][i]) / total
				}
				w[i] -= references[i].step(mean, lr)
				if i < 12 || i >= 15 && i < 30 {
					w[i] -= max(-lr*0.01, min(lr*0.01, w[i]))
				}
				if got := float64(m.W[i]); math.Abs(got-w[i]) > 1e-4 {
					t.Fatalf("%s, round %d, weight %d: %v, want %v", kind, round+1, i, got, w[i])
				}
			}
		}
	}
}

// Where gradients are averaged, the ranks send the values of a program's buffers: these become
// their mean, whatever the optimizer, and parameters take the step.
func TestBuffersAreAveraged(t *testing.T) {
	layout := &model.Layout{Tensors: []model.Tensor{
		{Name: "weight", Shape: []int{3, 2}, Kind: model.Parameter},
		{Name: "mean", Shape: []int{7}, Kind: model.Buffer},
		{Name: "bias", Shape: []int{3}, Kind: model.Parameter},
		{Name: "batches", Kind: model.Integer},
	}}
	isBuffer := func(i int) bool { return i >= 6 && i < 13 || i == 16 }
	for _, optimizer := range []config.Optimizer{config.SGD, config.Momentum, config.Adam} {
		all, m := ranksOf(t, func(c *config.Config) {
			c.Model, c.Layout, c.Program, c.Average, c.Optimizer, c.LR = model.ProgramName, layout, "program",
				"gradients", optimizer, 0.5
		})
		was := slices.Clone(m.W)
		examples := []int{4, 4, 1, 3}
		averageAll(t, all, plan.Round{Number: 1, Examples: examples})
		for i, got := range m.W {
			mean := 0.0
			for r, n := range examples {
				mean += float64(n) * float64(m.Slots[r][i]) / 12
			}
			want := mean
			switch {
			case isBuffer(i):
			case optimizer == config.Adam: // a first step is as long as the rate, against the gradient's sign
				want = float64(was[i]) - 0.5*mean/(math.Abs(mean)+1e-8)
			default:
				want = float64(was[i]) - 0.5*mean
			}
			if math.Abs(float64(got)-want) > 1e-5 {
				t.Errorf("%s: weight %d became %v, want %v", optimizer, i, got, want)
			}
		}
	}
}
