package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// centredDevices returns the devices of workers that merge centred weights every 8 local steps, and the
// shared weights in their merged form.
func centredDevices(t *testing.T, name string, workers int) ([]*cpu, []float32, model.Centered, []float32) {
	t.Helper()
	set := randomSet(data.Bytes, 300, 23, 3)
	for range set.Features {
		set.Mean = append(set.Mean, rand.Float32())
	}
	for i := range set.Rows {
		m := float32(0)
		for j, mu := range set.Mean {
			m += mu * set.Mul[0] * float32(set.X8[i*set.Features+j])
		}
		set.M = append(set.M, m)
	}
	c := configtest.Dense()
	c.Model, c.Workers, c.Batch, c.MergeEvery, c.LR = name, workers, 4, "8", .05
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	job := tuning.AsAsked(c)
	job.Used.Center = true
	if settleMerges(t, job, set); !job.Used.MergesCentered() {
		t.Fatal("the run does not merge centred weights")
	}
	all, m := devicesOf(t, job, set)
	form, _ := model.CenteredOf(all[0].model.Params())
	// as after a run of some length, and then made anew by each worker
	fillRandom(m.W)
	clear(m.W[form.S : form.S+form.Width])
	for i := range all {
		all[i].own = newShared(m.W, false)
		all[i].local = all[i].newLocalCopy(all[i].model.Params())
	}
	return all, m.W, form, set.Mean
}

// exactPlain returns the plain model of weights in their local form, in float64: V - s mu', k, and
// what follows.
func exactPlain(c model.Centered, w, mean []float32) []float64 {
	var v []float64
	for _, x := range w {
		v = append(v, float64(x))
	}
	for j, mu := range mean {
		for k := range c.Width {
			v[j*c.Width+k] -= float64(mu) * v[c.S+k]
		}
	}
	return append(v[:c.S:c.S], v[c.S+c.Width:]...)
}

// TestMergedCentredWeights: what two workers have learnt adds up as parameters of the centred
// model do, in float64; each goes on from the function that all have now, and the shared
// weights are W, 0 and c.
func TestMergedCentredWeights(t *testing.T) {
	for _, name := range []string{"softmax", "mlp:5"} {
		all, shared, form, mean := centredDevices(t, name, 2)
		// centred is W, c and the rest, in float64, of weights in their local form
		centred := func(w []float32) []float64 {
			v := exactPlain(form, w, mean)
			for k := range form.Width {
				for j, mu := range mean {
					v[form.Bias+k] += float64(mu) * v[j*form.Width+k]
				}
			}
			return v
		}
		want := centred(all[0].local.mine)
		for _, d := range all {
			l := d.local
			before := centred(l.mine)
			for i := range l.mine {
				l.mine[i] += rand.Float32() - .5
			}
			after := centred(l.mine)
			for i := range want {
				want[i] += after[i] - before[i]
			}
		}
		for _, d := range append(all, all[0]) {
			d.local.made = 1
			d.merge(true)
		}
		merged := append(append([]float32{}, shared[:form.S]...), shared[form.S+form.Width:]...)
		near(t, name+": W and c", merged, want)
		for _, s := range shared[form.S : form.S+form.Width] {
			if s != 0 {
				t.Errorf("%s: s is %v in shared memory", name, s)
			}
		}
		for rank, d := range all[:1] { // who merged last
			got := centred(d.local.mine)
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-4*(1+math.Abs(want[i])) {
					t.Fatalf("%s: worker %d goes on from %g at %d, want %g", name, rank, got[i], i, want[i])
				}
			}
		}
	}
}

// TestCopiesOfOptimizersWithState: a worker that merges every few steps has, alone, the weights of one that writes in
// place, and of two each has a state for itself and what both have learnt adds up.
func TestCopiesOfOptimizersWithState(t *testing.T) {
	set := randomSet(data.Floats, 640, 23, 3)
	for _, kind := range []config.Optimizer{"momentum", "adagrad", "adam"} {
		workers := func(every config.Count) ([]*cpu, []float32) {
			c := configtest.Dense()
			c.Model, c.Workers, c.Batch, c.LR, c.Optimizer, c.MergeEvery = "mlp:5", 2, 4, .01, kind, every
			all, m := devices(t, &c, set)
			for i := range m.W { // the same for all
				m.W[i] = float32(math.Sin(float64(i))) / 4
			}
			for _, d := range all {
				if (d.local != nil) != (every != "1") {
					t.Fatalf("%s, merge-every %s: copies %t", kind, every, d.local != nil)
				}
				if d.local != nil {
					d.local.renew()
				}
			}
			return all, m.W
		}
		inPlace, want := workers("1")
		merging, got := workers("7")
		for i := range 3 {
			for _, all := range [][]*cpu{inPlace, merging} {
				if _, err := all[0].Train([]plan.Chunk{all[0].plan.At(0, i)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 2e-5 {
				t.Fatalf("%s, weight %d: %v merged, %v in place", kind, i, got[i], want[i])
			}
		}
		before := slices.Clone(got)
		other := merging[1]
		other.local.renew()
		for _, d := range merging {
			d.local.mine[2]++
			d.local.made = 1
			d.merge(true)
		}
		if math.Abs(float64(got[2]-before[2]-2)) > 1e-5 || *other.opt.Steps != 0 || *merging[0].opt.Steps == 0 {
			t.Errorf("%s: %v and two of 1 each merged as %v; %d steps of a worker that took none", kind, before[2],
				got[2], *other.opt.Steps)
		}
	}
}

// TestForms: weights that several workers have merged make the plain weights that float64 says,
// and the way to the other form and back leaves them.
func TestForms(t *testing.T) {
	for _, name := range []string{"softmax", "mlp:5"} {
		all, shared, form, mean := centredDevices(t, name, 2)
		for i, d := range all {
			if _, err := d.Train([]plan.Chunk{d.plan.At(1, i)}); err != nil {
				t.Fatal(err)
			}
		}
		want := append([]float64{}, exactPlain(form, shared, mean)...)
		for k := range form.Width {
			for j, mu := range mean {
				want[form.Bias+k] -= float64(mu) * want[j*form.Width+k]
			}
		}
		local := append([]float32{}, shared...)
		form.ToLocal(local, mean)
		near(t, name+": plain weights", append(append([]float32{}, local[:form.S]...), local[form.S+form.Width:]...),
			want)

		for i := range form.Width { // another point of the same function
			local[form.S+i] = rand.Float32()
		}
		for j, mu := range mean {
			for k := range form.Width {
				local[j*form.Width+k] += mu * local[form.S+k]
			}
		}
		form.ToMerged(local, mean)
		var back []float64
		for _, v := range shared {
			back = append(back, float64(v))
		}
		near(t, name+": there and back", local, back)
	}
}

// TestDroppedUpdates: two workers merge in turns, and a fifth of what they merge is lost, as
// when another who had loaded before stores afterwards. Merged as W and c the loss hardly
// changes; merged as V, s and k it runs away.
func TestDroppedUpdates(t *testing.T) {
	set, test, err := data.Load(data.Options{Path: "digits:6000", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	defer test.Close()
	loss := func(share float64, merged bool) float64 {
		c := configtest.Dense()
		c.Data, c.Model, c.Loss, c.Workers, c.LR, c.MergeEvery, c.Center = "digits:6000", "softmax", "cross-entropy", 2,
			.1, "1000000", "on"
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		job := tuning.AsAsked(c)
		job.Used.Center = true
		settleMerges(t, job, set)
		all, m := devicesOf(t, job, set)
		form, _ := model.CenteredOf(all[0].model.Params())
		if !merged { // the weights begin as zeros, which are the same in both forms
			for _, d := range all {
				d.local.center = nil
			}
		}
		rows := all[0].plan.Chunk // between two merges
		r, before := rand.New(rand.NewPCG(1, 1)), make([]float32, len(m.W))
		for epoch := range 12 {
			for i, at := 0, 0; at < set.Rows; i, at = i+1, at+rows {
				copy(before, m.W)
				chunk := plan.Chunk{Epoch: epoch, Rank: -1, First: at, Count: min(rows, set.Rows-at), Batch: c.Batch,
					Stride: c.Batch, Weight: 1}
				if _, err := all[i%2].Train([]plan.Chunk{chunk}); err != nil {
					return math.Inf(1)
				}
				for line := 0; line < form.Bias; line += 16 { // the few lines behind are lost less often
					if r.Float64() < share {
						copy(m.W[line:min(line+16, form.Bias)], before[line:])
					}
				}
			}
		}
		w := append([]float32{}, m.W...)
		if merged {
			form.ToLocal(w, set.Mean)
		} else {
			form.ToPlain(w, set.Mean)
		}
		plain, err := model.New(c.ModelOptions(), set.Meta)
		if err != nil {
			t.Fatal(err)
		}
		w = append(w[:form.S], w[form.S+form.Width:]...)
		sum, _ := Evaluate([]model.Model{plain}, w, test)
		return sum.Loss / float64(test.Rows)
	}
	whole, dropped, local := loss(0, true), loss(.2, true), loss(.2, false)
	t.Logf("loss %.4f; with a fifth of the updates lost %.4f, merged as V, s and k %.4f", whole, dropped, local)
	if !(dropped < 1.1*whole) {
		t.Errorf("loss %.4f with a fifth of the updates lost, %.4f without", dropped, whole)
	}
	if local < 1.1*whole {
		t.Errorf("merged as V, s and k the loss is %.4f: the test loses nothing", local)
	}
}

// TestRareFeatures: merges of frequent features leave the others of the shared weights as they are. What became of
// chunks is told once all that they have learnt is there, by Train without chunks at the latest.
func TestRareFeatures(t *testing.T) {
	set := randomSet(data.Sparse, 64*40, 5000, 2) // columns are the rarer, the higher their number
	c := configtest.Dense()
	c.Model, c.Workers, c.Batch, c.LR, c.Epochs = "logistic", 2, 1, .01, 1
	job := tuning.AsAsked(c)
	job.Used.MergeEvery, job.Used.RareMerge, job.Used.Lambda = 20, 9, 1e9
	all, m := devicesOf(t, job, set)
	d := all[0]
	first := append([]float32{}, m.W...)
	changed := func(w []float32) (frequent, rare int) {
		for i := range w {
			if w[i] == first[i] {
				continue
			}
			often := func(r model.Range) bool { return r.From <= i && i < r.To }
			if rare++; slices.ContainsFunc(d.local.frequent, often) {
				frequent, rare = frequent+1, rare-1
			}
		}
		return frequent, rare
	}
	told, trained, p := 0, 0, plan.New(&c, 1, set.Rows)
	for i := range 5 {
		ys, err := d.Train([]plan.Chunk{p.At(0, i)})
		if err != nil {
			t.Fatal(err)
		}
		told, trained = told+len(ys), trained+1
		switch frequent, rare := changed(m.W); {
		case trained == 1 && (p.Chunk < 20 || p.Chunk >= 180): // what follows speaks of this
			t.Fatalf("chunks of %d", p.Chunk)
		case trained == 1 && (frequent == 0 || rare > 0 || told > 0):
			t.Errorf("one chunk: %d frequent and %d rare weights are merged, %d chunks told", frequent, rare, told)
		case told == trained && !slices.Equal(m.W, d.local.mine):
			t.Errorf("all of %d chunks are told, and the shared weights are not those of the copy", told)
		}
	}
	if told == 0 || told == trained {
		t.Errorf("%d of %d chunks are told: want some after merges of all weights", told, trained)
	}
	ys, err := d.Train(nil)
	if err != nil || told+len(ys) != trained || !slices.Equal(m.W, d.local.mine) {
		t.Errorf("at the end %d of %d chunks are told, %v, all merged %t", told+len(ys), trained, err,
			slices.Equal(m.W, d.local.mine))
	}
}
