package run

import (
	"math"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
)

// TestLimitAgain: the least limit that a run reports is that of the weights that it has saved, whose rows are centred and whose
// two workers have merged them: half of (pi/2)/(lr g).
func TestLimitAgain(t *testing.T) {
	c := quick(t)
	c.Model, c.Center, c.Workers, c.Batch, c.Epochs, c.LR = "mlp:8", "auto", 2, 64, 1, 0.02
	was := measuredShare
	measuredShare = 1e9
	defer func() { measuredShare = was }()
	r, err := try(t, c)
	if err != nil {
		t.Fatal(err)
	}
	set, m := begun(t, c)
	spec, err := model.Resolve(c.ModelOptions(), set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	var w []float32
	named := weightsOf(t, c.Run)
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

// TestLimitFalls: a limit below the steps in flight is said once, and one above them never; measurements become rarer, and
// wait until the training has taken a hundred times as long.
func TestLimitFalls(t *testing.T) {
	r := newCoordinator(config.Default(), Options{Quiet: true})
	r.newton = &tuning.Newton{Took: 10 * time.Millisecond}
	r.spec = model.Spec{Name: "mlp:8", Loss: model.Squared}
	r.facts = tuning.Facts{Curvature: 2, RowNorm: 1, Squares: 1, Newton: 1}
	r.job.Used = tuning.Tuning{Batch: 1 << 20, Lambda: 1, InFlight: 4}
	const lr = math.Pi / 8 / 8 // eight steps in flight where the curvature is 1
	for _, x := range []struct {
		epoch    int
		seconds  float64
		measures bool
		g        float64
		least    float64
		events   int
	}{
		{1, 0.9, false, 0, 0, 0}, {2, 1.1, true, 1.6, 5, 0}, {3, 99, false, 0, 5, 0}, {4, 2.2, true, 1, 5, 0},
		{8, 2.9, false, 0, 5, 0}, {9, 99, true, 4, 2, 1}, {20, 99, true, 8, 1, 1},
	} {
		e := rundir.EpochResult{Epoch: x.epoch, Seconds: x.seconds, LR: lr}
		measures := r.measures(&e)
		if measures {
			r.measured(x.g, &e)
		}
		if measures != x.measures || !(math.Abs(r.limit.least-x.least) < 1e-9) || len(r.report.Events()) != x.events {
			t.Errorf("epoch %d after %g s: %t, least %g, events %q; want %t, %g, %d", x.epoch, x.seconds, measures, r.limit.least, r.report.Events(), x.measures, x.least, x.events)
		}
	}
	if want := "about 2 steps in flight at epoch 9 (lr 0.0491): lower --lr or --workers"; !strings.Contains(strings.Join(r.report.Events(), "\n"), want) {
		t.Errorf("said %q, want %q", r.report.Events(), want)
	}
}
