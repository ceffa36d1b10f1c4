package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/tuning"
)

// centredDevices are those of workers that merge centred weights every 8 local steps, and the
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
	c := defaults()
	c.Model, c.Workers, c.Batch, c.MergeEvery, c.LR = name, workers, 4, "8", .05
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	job := &tuning.Job{Config: c, Tuning: tuning.Tuning{Center: true, BiasStep: 1, LR: c.LR}}
	if err := job.SettleMerges(set); err != nil || !job.MergesCentered() {
		t.Fatal("the run does not merge centred weights:", err)
	}
	all, m := devicesOf(t, job, set)
	form, _ := model.CenteredOf(all[0].model.Params())
	// as after a run of some length, and then made anew by each worker
	fillRandom(m.W)
	clear(m.W[form.S : form.S+form.Width])
	for i := range all {
		all[i].w = m.W
		all[i].local = all[i].newLocalCopy(all[i].model.Params())
	}
	return all, m.W, form, set.Mean
}

// exactPlain is the plain model of weights in their local form, in float64: V - s mu', k, and
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
			d.merge()
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
		near(t, name+": plain weights", append(append([]float32{}, local[:form.S]...), local[form.S+form.Width:]...), want)

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
