package hogwild

import (
	"errors"
	"math"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// TestProjectIsTheStep: a step of the device ends on the simplex, at the nearest point,
// whether it is added plainly or atomically; the terminals stay at their corners.
func TestProjectIsTheStep(t *testing.T) {
	for _, mode := range []string{"async", "atomic", "locked"} {
		set, test, err := data.Load(data.Options{Path: "made:dblife:0.001", Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		defer test.Close()
		c := defaults()
		c.Model, c.Mode, c.Workers, c.Batch, c.LR = "cut:3", mode, 1, 4, 0.1
		ranks, _ := devices(t, &c, set)
		d := ranks[0]
		d.model.Init(d.w, 1)
		for i := range 120 {
			b := d.reader.Batch([]int32{int32(i), int32(i + 7), int32(3 * i), int32(i)})
			d.x = b.Rows
			d.begin()
			d.model.Grad(d.w, b, &d.g)
			want := append([]float32(nil), d.w...)
			for _, p := range d.g.Parts {
				x := want[p.Offset : p.Offset+3]
				for i, g := range p.G {
					x[i] -= 0.1 * g
				}
				model.Project(x, make([]float32, 3))
			}
			d.apply(0.1)
			for i := range want {
				if math.Abs(float64(want[i]-d.w[i])) > 1e-6 {
					t.Fatalf("%s: number %d is %v, want %v", mode, i, d.w[i], want[i])
				}
			}
		}
	}
}

// TestCutRuns: two workers come to the loss that one comes to, with steps of one edge
// and of several.
func TestCutRuns(t *testing.T) {
	run := func(workers, batch int) float64 {
		c := quick(t)
		c.Data, c.Model, c.Workers, c.Batch = "made:dblife:0.01", "cut:10", workers, batch
		c.Epochs, c.LR, c.Schedule = 6, 0.05*float64(batch), "linear"
		r := train(t, c)
		if r.TestRMSE != nil || r.TestAccuracy != nil {
			t.Error("a cut has an RMSE or an accuracy")
		}
		return r.TestLoss
	}
	serial := run(1, 1)
	for _, got := range []float64{run(2, 1), run(2, 4)} {
		if math.Abs(got-serial) > 0.05*serial {
			t.Errorf("two workers come to %v, one to %v", got, serial)
		}
	}
	c := quick(t)
	c.Data, c.Model, c.Optimizer = "made:dblife:0.01", "cut", "adam"
	if _, err := try(t, c); !errors.Is(err, ErrUsage) {
		t.Errorf("cut with adam: %v", err)
	}
}
