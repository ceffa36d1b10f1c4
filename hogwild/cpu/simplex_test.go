package cpu

import (
	"math"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// TestProjectIsTheStep: a step of the device ends on the simplex, at the nearest point,
// whether it is added plainly or atomically; the terminals stay at their corners.
func TestProjectIsTheStep(t *testing.T) {
	for _, mode := range []string{"async", "atomic", "locked"} {
		set, test, err := data.Load(data.Options{Path: "synth:dblife:0.001", Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		defer test.Close()
		c := configtest.Dense()
		c.Model, c.Mode, c.Workers, c.Batch, c.LR = "cut:3", config.MustMode(mode), 1, 4, 0.1
		ranks, _ := devices(t, &c, set)
		d := ranks[0]
		d.model.Init(d.own.w, 1)
		for i := range 120 {
			b := d.reader.Batch([]int32{int32(i), int32(i + 7), int32(3 * i), int32(i)})
			d.x = b.Rows
			d.begin([]int32{int32(i)})
			d.model.Grad(d.own.w, b, &d.g)
			want := append([]float32(nil), d.own.w...)
			for _, p := range d.g.Parts {
				x := want[p.Offset : p.Offset+3]
				for i, g := range p.G {
					x[i] -= 0.1 * g
				}
				model.Project(x, make([]float32, 3))
			}
			d.write(nil, 0.1)
			for i := range want {
				if math.Abs(float64(want[i]-d.own.w[i])) > 1e-6 {
					t.Fatalf("%s: number %d is %v, want %v", mode, i, d.own.w[i], want[i])
				}
			}
		}
	}
}
