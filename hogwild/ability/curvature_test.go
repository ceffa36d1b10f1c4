package ability

import (
	"math"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
)

// TestLimitFalls: a limit below the steps in flight is said once, and one above them never; measurements become rarer,
// and wait until the training has taken a hundred times as long.
func TestLimitFalls(t *testing.T) {
	r, a := core.New(config.Default(), core.Options{Quiet: true}, nil), &curvature{}
	a.newton = &tuning.Newton{Took: 10 * time.Millisecond}
	r.Mem.Traits.InHost = true
	r.Task.Spec = model.Spec{Name: "mlp:8", Loss: model.Squared}
	r.Task.Facts = tuning.Facts{Curvature: 2, RowNorm: 1, Squares: 1, Newton: 1}
	r.Job.Used = tuning.Tuning{Batch: 1 << 20, Lambda: 1, InFlight: 4}
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
		measures := a.measures(r, &e)
		if measures {
			a.measured(r, x.g, &e)
		}
		if measures != x.measures || !(math.Abs(a.least-x.least) < 1e-9) || len(r.Report.Events()) != x.events {
			t.Errorf("epoch %d after %g s: %t, least %g, events %q; want %t, %g, %d", x.epoch, x.seconds, measures,
				a.least, r.Report.Events(), x.measures, x.least, x.events)
		}
	}
	if want := "about 2 steps in flight at epoch 9 (lr 0.0491): lower --lr or --workers"; !strings.Contains(
		strings.Join(r.Report.Events(), "\n"), want) {
		t.Errorf("said %q, want %q", r.Report.Events(), want)
	}
}
