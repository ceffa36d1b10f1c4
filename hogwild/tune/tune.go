// Package tune finds the learning rate of a run, and its momentum, by short runs. They are judged by rows that are held
// out.
//
//	tune.go   Tune: which rates are tried, and how long
//	trial.go  one run, and how runs are compared
//	held.go   the rows that they are judged by
package tune

import (
	"context"
	"fmt"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// Tuning: runs by the same processes in the same mode as the run to come, each with another learning rate, judged when
// they end by rows that they did not train on: the validation rows, or else a tenth of the training rows, which the run
// itself trains on. Short runs find the decade: they prefer longer steps than the run. Then come runs as long as it, if
// that is not too long. The test rows are not looked at.

const (
	tuneExamples = 20000   // that a short run trains, at least
	tuneSteps    = 256     // that each worker takes in it, at least
	longExamples = 100_000 // that a long one trains, at most,
	longFlops    = 1e10    // unless more of them cost no more than this

	tuneShare = "0.1" // of the training rows, held out
	tuneTries = 8     // steps in one direction
	fewHeld   = 2000  // rows in all: each seed holds out others
)

// tuner finds the best settings of a run by trying.
type tuner struct {
	ctx         context.Context
	data        []*run.Lender // of seeds, in turn
	held        []*heldRows   // their rows; nil: they are judged by those that they train on
	validates   bool          // the run holds the rows out, too
	short, long config.Config // of short runs, and of long ones
	folder      string
	trials      []Trial
}

// Tune finds the learning rate for c, and with the momentum optimizer the momentum, by runs judged on rows held out. It
// returns c with them, and the trials in order; o.Progress gets a line of each. The learning rate is neither capped nor
// scaled: what these estimate has been measured. Errors are Run's; with o.Signals it ends as Run does.
func Tune(ctx context.Context, c config.Config, o run.Options) (config.Config, []Trial, error) {
	settled, err := o.Settle(c)
	if err != nil {
		return c, nil, err
	}
	if c.Resume != "" {
		return c, nil,
			config.Usage("tune with resume %s: a resumed run keeps its learning rate; leave one of them out", c.Resume)
	}
	if err := run.Vacant(&c); err != nil {
		return c, nil, err
	}
	c.LRCap, settled.LRCap = config.Off, config.Off
	if c.AverageLR == config.Auto {
		c.AverageLR, settled.AverageLR = config.Same, config.Same
	}
	t := &tuner{ctx: ctx}
	defer func() {
		for _, d := range t.data {
			d.Close()
		}
	}()
	if err := t.load(settled, o); err != nil {
		return c, nil, err
	}
	if o.Signals {
		var stop func()
		t.ctx, stop = config.UntilSignal(ctx)
		defer stop()
	}
	folder, remove, err := rundir.Temporary("hogwild-tune-")
	if err != nil {
		return c, nil, err
	}
	defer remove()
	t.folder = folder
	t.plan()
	if err := t.search(); err != nil {
		return c, t.trials, err
	}
	best, how := t.choice()
	t.say("tuned: %s%s", t.named(best), how)
	c.LR, c.LRMin, c.Momentum, c.Schedule = best.LR, c.LRMin*best.LR/t.short.LR, best.Momentum, t.short.Schedule
	c.Tuned = "tuned" + how
	return c, t.trials, nil
}

// load reads the data with rows held out, by the run or for tuning alone: where these are few, other ones with other
// seeds. Where none can be, as of a graph, tuning goes by the rows that are trained on.
func (t *tuner) load(c config.Config, o run.Options) error {
	read := func(validation string) error {
		c := c
		if validation != c.Validation {
			c.Validation, c.Patience = validation, 0
		}
		d, err := run.Load(c, o)
		if err != nil {
			return err
		}
		t.data, t.held = append(t.data, d), append(t.held, nil)
		if d.Validation != nil && c.Program == "" { // which alone knows how to score
			t.held[len(t.held)-1] = newHeldRows(d.Validation)
		}
		return nil
	}
	apart := c.Validation
	if c.Program == "" && (apart == config.NoValidation || apart == "" && !c.HoldsOut()) {
		apart = tuneShare
	}
	err := read(apart)
	if err == nil && t.held[0] == nil && c.Program == "" { // too few rows for a run to hold some out by itself
		t.data[0].Close()
		t.data, t.held, apart = nil, nil, tuneShare
		err = read(apart)
	}
	switch {
	case err != nil && apart != c.Validation:
		return read(c.Validation)
	case err != nil || t.held[0] == nil:
		return err
	}
	t.validates, o.Progress = apart == c.Validation, nil
	for apart == tuneShare && t.held[0].all < fewHeld && len(t.held) < tuneSeeds {
		if c.Seed++; read(apart) != nil {
			break
		}
		t.held[0].all += t.held[len(t.held)-1].all
	}
	return nil
}

// plan makes the settings of short runs, of a part of an epoch or as many epochs as it takes, and of long ones.
func (t *tuner) plan() {
	on, held := t.data[0], t.held[0]
	c, rows := on.Job.Asked, on.Train.Rows
	c.SaveEvery, c.TargetLoss, c.TargetAccuracy, c.StopAfter = "0", 0, 0, 0
	c.OnDivergence = config.Stop // that is what tells which rates are too high
	upTo := func(most int) config.Config {
		c := c
		if most < c.Epochs*rows || !t.validates {
			c.Sample = min(rows, most)
			c.Epochs = min(c.Epochs, plan.CeilDiv(most, c.Sample))
			c.Validation, c.Patience = "", 0
		}
		return c
	}
	least := max(tuneExamples, tuneSteps*on.Job.Used.Batch*c.Workers)
	most := least
	if m, err := model.New(c.ModelOptions(), on.Train.Meta); err == nil && held != nil {
		most = max(least, longExamples, int(longFlops/max(1000, model.Flops(m, on.Train.ValuesPerRow()))))
	}
	t.short, t.long = upTo(least), upTo(most)
	examples := func(c config.Config) string { return human.Count(int64(c.PartOf(rows) * c.Epochs)) }
	then := ""
	if t.long != t.short {
		then = ", then of " + examples(t.long)
	}
	if t.long.PartOf(rows)*t.long.Epochs < c.Epochs*rows {
		then += fmt.Sprintf(" (the run has %s: it may do better with a lower rate)", examples(c))
	}
	t.say("tuning: runs of %s examples%s, judged by %s; %s, %s", examples(t.short), then, held,
		human.Plural(c.Workers, "worker"), c.Mode)
}

// search tries decades from the rate asked for, up and down, until it gets worse, by short runs. From the best one long
// runs go by 1, 2, 5, 10; then they try other momenta, at equal lr/(1-momentum), and rates nearer to the best.
func (t *tuner) search() error {
	if err := t.walk(&t.short, 3*int(math.Round(math.Log10(t.short.LR))), 3, t.short.Momentum); err != nil {
		return err
	}
	best := t.best(&t.short)[0]
	if err := t.walk(&t.long, 3*int(math.Round(math.Log10(best.LR))), 1, best.Momentum); err != nil {
		return err
	}
	if t.long.Optimizer == config.Momentum {
		was := t.best(&t.long)[0]
		for _, mu := range []float64{0, 0.5, 0.9, 0.97} {
			if _, err := t.try(&t.long, shortest(was.LR*(1-mu)/(1-was.Momentum)), mu); err != nil {
				return err
			}
		}
		if best = t.best(&t.long)[0]; best.Momentum != was.Momentum {
			if err := t.beside(best, 0.5, 2); err != nil {
				return err
			}
		}
	}
	return t.beside(t.best(&t.long)[0], 0.7, 1.4)
}

// beside tries multiples of a trial's rate.
func (t *tuner) beside(best Trial, times ...float64) error {
	for _, f := range times {
		if _, err := t.try(&t.long, shortest(best.LR*f), best.Momentum); err != nil {
			return err
		}
	}
	return nil
}

// walk tries rates up and down from one, by rungs, until they are worse; long runs go up to the bound of single steps.
func (t *tuner) walk(c *config.Config, from, rungs int, momentum float64) error {
	for _, direction := range []int{rungs, -rungs} {
		for i := range tuneTries + 1 {
			last, err := t.try(c, rung(from+direction*i), momentum)
			if err != nil {
				return err
			}
			best := t.best(c)
			if by, sigma := worse(last, best); by <= sigma && !(direction > 0 && math.IsInf(meanLoss(last), 1)) {
				continue
			}
			for r := last[len(last)-1]; rungs == 1 && direction > 0 && 0 < r.most && r.most < r.LR; {
				if last, err = t.try(c, shortest(0.99*r.most), momentum); err != nil {
					return err
				}
				r = last[len(last)-1] // another seed may refuse it
			}
			break
		}
	}
	if math.IsInf(meanLoss(t.best(c)), 1) {
		return fmt.Errorf("%w at every learning rate down to %g: check the inputs, or scale them with --scale standard",
			config.ErrDiverged, t.trials[len(t.trials)-1].LR)
	}
	return nil
}

// rung returns the i-th of the rates 1, 2, 5, 10, ...
func rung(i int) float64 {
	decade := math.Floor(float64(i) / 3)
	return shortest([]float64{1, 2, 5}[i-3*int(decade)] * math.Pow(10, decade))
}

// shortest returns x to three digits.
func shortest(x float64) float64 {
	digits := math.Pow(10, 2-math.Floor(math.Log10(x)))
	return math.Round(x*digits) / digits
}
