package ability_test

import (
	"math"
	"testing"

	"hogwild/hogwild/ability"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/tuning"
)

// TestLimitAgain: the least limit that a run reports is the limit of the weights that it has saved, whose rows are
// centred and whose two workers have merged them: half of (pi/2)/(lr g).
func TestLimitAgain(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Center, c.Workers, c.Batch, c.Epochs, c.LR = "mlp:8", "auto", 2, 64, 1, 0.02
	was := ability.MeasuredShare
	ability.MeasuredShare = 1e9
	defer func() { ability.MeasuredShare = was }()
	r, err := runtest.Try(t, c)
	if err != nil {
		t.Fatal(err)
	}
	set, m := runtest.Begun(t, c)
	spec, err := model.Resolve(c.ModelOptions(), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	var w []float32
	named := runtest.WeightsOf(t, c.Run)
	for _, p := range m.Params() {
		part, err := named[p.Name].Floats()
		if err != nil {
			t.Fatal(err)
		}
		if rows := p.Shape[0]; p.Transposed { // a file has a row for each output
			for i := range part {
				w = append(w, part[i%rows*(len(part)/rows)+i/rows])
			}
			continue
		}
		w = append(w, part...)
	}
	g := tuning.NewNewton(&c, spec, m, set, tuning.Measure(&c, spec, m, set)).Largest(w)
	if want := math.Pi / 4 / (c.LR * g); !r.Centered || !(math.Abs(r.LeastInFlight/want-1) < 1e-3) {
		t.Errorf("%g steps in flight, centred %t; the saved weights allow %g", r.LeastInFlight, r.Centered, want)
	}
}
