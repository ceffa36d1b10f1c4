package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
)

// ruledDevices are those of a run with a rule for late updates, on weights that are the same in each call.
func ruledDevices(t *testing.T, c config.Config, rule string, set *data.Set) ([]*cpu, *control.Weights) {
	t.Helper()
	c.Stale = config.MustRule(rule)
	all, m := devices(t, &c, set)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range m.W {
		m.W[i] = float32(r.NormFloat64()) / 8
	}
	for _, d := range all {
		if d.local != nil {
			d.local.renew()
		}
	}
	return all, m
}

// trained trains chunks and returns what they came to together.
func trained(t *testing.T, d *cpu, cs ...plan.Chunk) (sum plan.ChunkResult) {
	t.Helper()
	ys, err := d.Train(cs)
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range ys {
		sum = sum.Plus(y)
	}
	return sum
}

// epoch is all chunks of one.
func epoch(d *cpu) (cs []plan.Chunk) {
	for i := range d.plan.Chunks() {
		cs = append(cs, d.plan.At(0, i))
	}
	return cs
}

// fates is what became of a device's updates.
func fates(d *cpu) string {
	u := d.sample.record.Instruments(0).Updates
	if u == nil {
		return "none"
	}
	return fmt.Sprintf("%d applied, %d repeated, %d dropped", u.Applied, u.Repeated, u.Dropped)
}

// hooked calls a function in each gradient: between the read and the write of a step.
type hooked struct {
	model.Model
	hook func()
}

func (h hooked) Grad(w []float32, b *data.Batch, g *model.Gradient) float64 {
	h.hook()
	return h.Model.Grad(w, b, g)
}

// TestRuleOfOneWorker: no update of a worker alone is late. It ends at the bits of a run without a rule.
func TestRuleOfOneWorker(t *testing.T) {
	set := randomSet(data.Sparse, 300, 11, 2)
	for _, c := range []struct {
		model, optimizer string
		batch            int
	}{{"logistic", "sgd", 1}, {"logistic", "sgd", 3}, {"mlp:5", "sgd", 4}, {"mlp:5", "adam", 4}} {
		cfg := configtest.Dense()
		cfg.Model, cfg.Optimizer, cfg.Batch = c.model, config.Optimizer(c.optimizer), c.batch
		cfg.Workers, cfg.LR = 1, .05
		plain, want := ruledDevices(t, cfg, "plain", set)
		y := trained(t, plain[0], epoch(plain[0])...)
		for _, rule := range []string{"inverse", "adaptive", "tail", "tail:0.5", "drop:1"} {
			all, got := ruledDevices(t, cfg, rule, set)
			what := fmt.Sprintf("%s, %s, batch %d, %s", c.model, c.optimizer, c.batch, rule)
			if x := trained(t, all[0], epoch(all[0])...); x != y || !slices.Equal(got.W, want.W) {
				t.Errorf("%s: the run comes to %+v, without a rule to %+v", what, x, y)
			}
			if is, want := fates(all[0]), fmt.Sprintf("%d applied, 0 repeated, 0 dropped", y.Steps); is != want {
				t.Errorf("%s: %s, want %s", what, is, want)
			}
		}
	}
}

// lateJobs are runs of two workers, of which the second one's updates are counted and not made.
func lateJobs() (all []config.Config, sets []*data.Set) {
	for _, c := range []struct {
		model, every string
		batch        int
		set          *data.Set
	}{
		{"logistic", "7", 1, randomSet(data.Sparse, 3000, 11, 2)}, // the model takes its steps by itself
		{"logistic", "7", 1, randomSet(data.Floats, 3000, 11, 2)},
		{"softmax", "4", 8, randomSet(data.Bytes, 500, 11, 3)},
		{"softmax", "1", 8, randomSet(data.Bytes, 500, 11, 3)},
		{"mlp:5", "1", 3, randomSet(data.Sparse, 100, 11, 3)},
	} {
		cfg := configtest.Dense()
		cfg.Model, cfg.MergeEvery, cfg.Batch, cfg.Workers, cfg.LR = c.model, c.every, c.batch, 2, .05
		all, sets = append(all, cfg), append(sets, c.set)
	}
	return all, sets
}

// TestRuleThatScalesNothing: where no update is late enough, the bits are those without a rule. Chunks are trained one
// by one: a copy is merged at the end of each.
func TestRuleThatScalesNothing(t *testing.T) {
	jobs, sets := lateJobs()
	for i, c := range jobs {
		plain, want := ruledDevices(t, c, "plain", sets[i])
		all, got := ruledDevices(t, c, "drop:1000000", sets[i])
		for _, chunk := range epoch(all[0]) {
			x, y := trained(t, all[0], chunk), trained(t, plain[0], chunk)
			if all[1].sample.wrote(20); x != y || !slices.Equal(got.W, want.W) {
				t.Fatalf("%s, merged every %s: %+v, without a rule %+v, or other weights", c.Model, c.MergeEvery, x, y)
			}
		}
	}
}

// TestDroppedIsTrainedAgain: an update that is dropped leaves no trace, and its examples are trained again; those that
// are late twice are in no weights, and the others are.
func TestDroppedIsTrainedAgain(t *testing.T) {
	jobs, sets := lateJobs()
	for i, c := range jobs {
		what := fmt.Sprintf("%s on %s rows, merged every %s", c.Model, sets[i].Kind, c.MergeEvery)
		plain, want := ruledDevices(t, c, "plain", sets[i])
		chunk := plain[0].plan.At(0, 0)
		y := trained(t, plain[0], chunk)
		each := config.Whole(c.MergeEvery) // steps of an update

		all, got := ruledDevices(t, c, "drop:3", sets[i])
		late := func(d, other *cpu) { // its next update is
			if c.MergeEvery != "1" {
				other.sample.wrote(3*each + 1)
				return
			}
			once := false
			d.model = hooked{d.model, func() {
				if !once {
					once = true
					other.sample.wrote(3)
				}
			}}
		}
		late(all[0], all[1])
		x := trained(t, all[0], chunk)
		if x != y || !slices.Equal(got.W, want.W) {
			t.Errorf("%s: %+v with an update that is late once, %+v without, or other weights", what, x, y)
		}
		if is, want := fates(all[0]), fmt.Sprintf("%d applied, %d repeated, 0 dropped", y.Steps, each); is != want {
			t.Errorf("%s: %s, want %s", what, is, want)
		}

		all, got = ruledDevices(t, c, "drop:3", sets[i])
		all[0].stale.again = true // as if it were late for the first time before
		late(all[0], all[1])
		x = trained(t, all[0], chunk)
		plain, want = ruledDevices(t, c, "plain", sets[i])
		rest := chunk
		rest.First, rest.Count = chunk.First+each*c.Batch, chunk.Count-each*c.Batch
		trained(t, plain[0], rest)
		if x.Steps != y.Steps || x.Examples != y.Examples || !slices.Equal(got.W, want.W) {
			t.Errorf("%s: %+v with an update that is late twice, %+v without, or other weights than without its steps",
				what, x, y)
		}
		counts := fmt.Sprintf("%d applied, 0 repeated, %d dropped", y.Steps-each, each)
		if is := fates(all[0]); is != counts {
			t.Errorf("%s: %s, want %s", what, is, counts)
		}
	}
}

// TestLateUpdatesAddUp: however often updates are late, those applied and those dropped for good are the steps of all
// examples, and all are counted.
func TestLateUpdatesAddUp(t *testing.T) {
	jobs, sets := lateJobs()
	for i, c := range jobs {
		if c.Batch == 1 {
			continue // whose gradients nobody calls
		}
		all, _ := ruledDevices(t, c, "drop:2", sets[i])
		d, calls := all[0], 0
		r := rand.New(rand.NewPCG(3, 4))
		d.model = hooked{d.model, func() {
			if calls++; r.IntN(3) == 0 {
				all[1].sample.wrote(r.IntN(12))
			}
		}}
		steps := trained(t, d, epoch(d)...).Steps
		u := d.sample.record.Instruments(0).Updates
		if u.Applied+u.Dropped != int64(steps) || u.Applied+u.Dropped+u.Repeated != int64(calls) || u.Dropped == 0 ||
			u.Repeated <= u.Dropped || u.Scale != 1 {
			t.Errorf("%s, merged every %s: %+v of %d steps, %d gradients", c.Model, c.MergeEvery, *u, steps, calls)
		}
		if *d.sample.own != uint64(u.Applied) {
			t.Errorf("%s: others see %d updates, %d are applied", c.Model, *d.sample.own, u.Applied)
		}
	}
}

// TestScaledMerge: what others have written stays whole, and what the worker adds is scaled, in float64; of centred
// weights, which are merged in another form, too.
func TestScaledMerge(t *testing.T) {
	for _, centred := range []bool{false, true} {
		for _, name := range []string{"softmax", "mlp:5"} {
			for rule, tau := range map[string]int{"inverse": 3, "adaptive": 5} {
				var all []*cpu
				var shared, mean []float32
				var form model.Centered
				if centred {
					all, shared, form, mean = centredDevices(t, name, 2)
				} else {
					cfg := configtest.Dense()
					cfg.Model, cfg.Workers, cfg.MergeEvery, cfg.Batch = name, 2, "8", 4
					var m *control.Weights
					all, m = ruledDevices(t, cfg, "plain", randomSet(data.Bytes, 300, 23, 3))
					shared = m.W
				}
				// inForm is what is merged, in float64, of weights in the form of steps
				inForm := func(w []float32) (v []float64) {
					if !centred {
						for _, x := range w {
							v = append(v, float64(x))
						}
						return v
					}
					v = exactPlain(form, w, mean)
					for k := range form.Width {
						for j, mu := range mean {
							v[form.Bias+k] += float64(mu) * v[j*form.Width+k]
						}
					}
					return v
				}
				d, l := all[0], all[0].local
				job := *d.cfg
				job.Asked.Stale, job.Used.MergeEvery = config.MustRule(rule), 8
				d.stale = newStale(&job, 32, d.sample)
				rho := map[string]float64{"inverse": 1. / 4, "adaptive": 2. / 5}[rule]

				before := inForm(l.mine)
				for i := range l.mine {
					l.mine[i] += rand.Float32() - .5
				}
				want := inForm(l.mine)
				for i := range want {
					want[i] = before[i] + rho*(want[i]-before[i])
				}
				for i := range shared { // another's updates
					if centred && i >= form.S && i < form.S+form.Width {
						continue
					}
					more := rand.Float32()
					at := i
					if centred && i >= form.S {
						at -= form.Width
					}
					want[at] += float64(shared[i]+more) - float64(shared[i])
					shared[i] += more
				}
				all[1].sample.wrote(8*tau - 3) // rounded up
				l.made = 8
				d.merge(true)
				what := fmt.Sprintf("%s, centred %t, %s", name, centred, rule)
				merged := shared
				if centred {
					merged = slices.Concat(shared[:form.S], shared[form.S+form.Width:])
				}
				near(t, what, merged, want)
				for i, got := range inForm(l.mine) {
					if diff := got - want[i]; diff > 1e-4 || diff < -1e-4 {
						t.Fatalf("%s: the worker goes on from %g at %d, want %g", what, got, i, want[i])
					}
				}
				u := d.sample.record.Instruments(0).Updates
				if u.Applied != 8 || u.Scale < rho-1e-5 || u.Scale > rho+1e-5 {
					t.Errorf("%s: %+v, want 8 applied, scaled by %g", what, *u, rho)
				}
			}
		}
	}
}

// TestScaledStep: in place, the rate of a late step is scaled, l2's with it.
func TestScaledStep(t *testing.T) {
	for _, optimizer := range []config.Optimizer{"sgd", "momentum"} {
		c := configtest.Dense()
		c.Model, c.Workers, c.Batch, c.MergeEvery, c.LR, c.Optimizer, c.L2 = "mlp:5", 2, 4, "1", .125, optimizer, .5
		set := randomSet(data.Floats, 300, 11, 2)
		all, got := ruledDevices(t, c, "inverse", set)
		chunk := all[0].plan.At(0, 0)
		chunk.Count = 4
		all[0].model = hooked{all[0].model, func() { all[1].sample.wrote(3) }}
		all[1].sample.wrote(50) // before it begins
		trained(t, all[0], chunk)
		c.LR /= 4
		plain, want := ruledDevices(t, c, "plain", set)
		if trained(t, plain[0], chunk); !slices.Equal(got.W, want.W) {
			t.Errorf("%s: a step that is three updates late is not one at a quarter of the rate", optimizer)
		}
	}
}
