package score

import (
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
)

// A result that is no success says so in one line, with what to try; a good one says nothing.
func TestWarning(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	classes := func(*config.Config) {}
	values := func(c *config.Config) { c.Data, c.Model = configtest.Planted(t), "linear" }
	raw := func(c *config.Config) { values(c); c.Scale = "none" }
	for _, c := range []struct {
		name  string
		set   func(*config.Config)
		first float64 // train loss of the first epoch
		last  rundir.EpochResult
		says  []string // nothing: no warning
	}{
		{"good", classes, 2,
			rundir.EpochResult{TrainLoss: 1, Tested: rundir.Tested{TestLoss: 1, TestAccuracy: number(.8)}}, nil},
		{"chance", classes, 2,
			rundir.EpochResult{TrainLoss: 1.9, Tested: rundir.Tested{TestLoss: 4, TestAccuracy: number(.05)}},
			[]string{"accuracy 5.00%, but always predicting the most common class has ",
				"; try --tune, or more --epochs than 3"}},
		{"by heart", classes, 2,
			rundir.EpochResult{TrainLoss: .1, Tested: rundir.Tested{TestLoss: 4, TestAccuracy: number(.05)}},
			[]string{"most common class has ", "; the run overfits, train loss 0.1000, test loss 4.0000; try " +
				"--validation 0.1 --patience 5, --l2, or fewer columns"}},
		{"never better", classes, 2,
			rundir.EpochResult{TrainLoss: .1, Tested: rundir.Tested{TestLoss: .6, TestAccuracy: number(.88)}}, nil},
		{"was better", classes, 2,
			rundir.EpochResult{TrainLoss: .1, Tested: rundir.Tested{TestLoss: 2.3, TestAccuracy: number(.88)}},
			[]string{"the run overfits, train loss 0.1000, test loss 2.3000; try --validation"}},
		{"stopped", func(c *config.Config) { c.Validation, c.Patience = "0.1", 5 }, 2,
			rundir.EpochResult{TrainLoss: .1, Tested: rundir.Tested{TestLoss: 2.3, TestAccuracy: number(.88)}},
			[]string{"; try --l2, or"}},
		{"few rows", func(c *config.Config) { c.Data = "digits:30" }, 2,
			rundir.EpochResult{TrainLoss: 1.9, Tested: rundir.Tested{TestLoss: 4, TestAccuracy: number(0)}}, nil},
		{"rose", classes, 2,
			rundir.EpochResult{TrainLoss: 2.5, Tested: rundir.Tested{TestLoss: 1, TestAccuracy: number(.7)}},
			[]string{"the train loss rose from 2.0000 in the first epoch to 2.5000; try a smaller --lr than 0.1, or " +
				"--tune"}},
		{"both", classes, 2,
			rundir.EpochResult{TrainLoss: 9, Tested: rundir.Tested{TestLoss: 9, TestAccuracy: number(.05)}},
			[]string{"most common class", "and the train loss rose", "try a smaller --lr"}},
		{"values", values, 2,
			rundir.EpochResult{TrainLoss: .1,
				Tested: rundir.Tested{TestLoss: .1, TestRMSE: number(.3), TestR2: number(.98)}}, nil},
		{"worse than the mean", values, 9,
			rundir.EpochResult{TrainLoss: 8,
				Tested: rundir.Tested{TestLoss: 8, TestRMSE: number(2.8), TestR2: number(-2)}},
			[]string{"R2 -2.0000: always predicting the mean of the training values has a smaller loss, 3."}},
		{"raw inputs", raw, 9,
			rundir.EpochResult{TrainLoss: 8,
				Tested: rundir.Tested{TestLoss: 8, TestRMSE: number(2.8), TestR2: number(-2)}},
			[]string{"; try --scale standard"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := configtest.Dense()
			cfg.Data, cfg.Epochs, cfg.LR = "digits:2000", 3, 0.1
			c.set(&cfg)
			sets, err := cfg.ReadSets(data.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer sets.Close()
			spec, err := model.Resolve(cfg.ModelOptions(), sets.Train.Meta)
			if err != nil {
				t.Fatal(err)
			}
			got := NewJudge(spec, sets).Warning(&cfg,
				[]rundir.EpochResult{{TrainLoss: c.first, Tested: rundir.Tested{TestLoss: 2}}, c.last},
				&c.last, false)
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
