package run

import (
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// A result that is no success says so in one line, with what to try; a good one says nothing.
func TestWarning(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	classes := func(*config.Config) {}
	values := func(c *config.Config) { c.Data, c.Model = planted(t), "linear" }
	raw := func(c *config.Config) { values(c); c.Scale = "none" }
	for _, c := range []struct {
		name  string
		set   func(*config.Config)
		first float64 // train loss of the first epoch
		last  rundir.EpochResult
		says  []string // nothing: no warning
	}{
		{"good", classes, 2, rundir.EpochResult{TrainLoss: 1, TestLoss: 1, TestAccuracy: number(.8)}, nil},
		{"chance", classes, 2, rundir.EpochResult{TrainLoss: 1.9, TestLoss: 4, TestAccuracy: number(.05)},
			[]string{"accuracy 5.00%, but always predicting the most common class has ", "; try --tune, or more --epochs than 3"}},
		{"by heart", classes, 2, rundir.EpochResult{TrainLoss: .1, TestLoss: 4, TestAccuracy: number(.05)},
			[]string{"most common class has ", "; the run overfits, train loss 0.1000, test loss 4.0000; try --validation 0.1 --patience 5, --l2, or fewer columns"}},
		{"never better", classes, 2, rundir.EpochResult{TrainLoss: .1, TestLoss: .6, TestAccuracy: number(.88)}, nil},
		{"was better", classes, 2, rundir.EpochResult{TrainLoss: .1, TestLoss: 2.3, TestAccuracy: number(.88)}, []string{"the run overfits, train loss 0.1000, test loss 2.3000; try --validation"}},
		{"stopped", func(c *config.Config) { c.Validation, c.Patience = "0.1", 5 }, 2, rundir.EpochResult{TrainLoss: .1, TestLoss: 2.3, TestAccuracy: number(.88)}, []string{"; try --l2, or"}},
		{"few rows", func(c *config.Config) { c.Data = "digits:30" }, 2, rundir.EpochResult{TrainLoss: 1.9, TestLoss: 4, TestAccuracy: number(0)}, nil},
		{"rose", classes, 2, rundir.EpochResult{TrainLoss: 2.5, TestLoss: 1, TestAccuracy: number(.7)},
			[]string{"the train loss rose from 2.0000 in the first epoch to 2.5000; try a smaller --lr than 0.1, or --tune"}},
		{"both", classes, 2, rundir.EpochResult{TrainLoss: 9, TestLoss: 9, TestAccuracy: number(.05)},
			[]string{"most common class", "and the train loss rose", "try a smaller --lr"}},
		{"values", values, 2, rundir.EpochResult{TrainLoss: .1, TestLoss: .1, TestRMSE: number(.3), TestR2: number(.98)}, nil},
		{"worse than the mean", values, 9, rundir.EpochResult{TrainLoss: 8, TestLoss: 8, TestRMSE: number(2.8), TestR2: number(-2)},
			[]string{"R2 -2.0000: always predicting the mean of the training values has a smaller loss, 3."}},
		{"raw inputs", raw, 9, rundir.EpochResult{TrainLoss: 8, TestLoss: 8, TestRMSE: number(2.8), TestR2: number(-2)}, []string{"; try --scale standard"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := quick(t)
			c.set(&cfg)
			r := newCoordinator(cfg, Options{})
			defer r.close()
			if err := r.load(); err != nil {
				t.Fatal(err)
			}
			r.epochs.last = &c.last
			r.epochs.position.History = []rundir.EpochResult{{TrainLoss: c.first, TestLoss: 2}, c.last}
			got := r.warning()
			if c.says == nil && got != "" || strings.Contains(got, "\n") {
				t.Errorf("%q", got)
			}
			for _, part := range c.says {
				if !strings.Contains(got, part) {
					t.Errorf("%q does not say %q", got, part)
				}
			}
		})
	}
}

// TestNoR2OfOneRow: where all values are the same there is no variance to explain, and no R2.
func TestNoR2OfOneRow(t *testing.T) {
	for _, y := range []float64{3, 0.1, -12345.678, 1e-30} {
		for n := 1.0; n < 4; n++ {
			s := scoresOf("test", model.Score{N: int(n), SqErr: 1, Y: n * y, Y2: n * y * y}, false)
			if s.R2 != nil || s.RMSE == nil {
				t.Errorf("%g rows of %g: R2 %v, RMSE %v", n, y, s.R2, s.RMSE)
			}
		}
	}
}
