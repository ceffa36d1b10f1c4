// Package tune finds the learning rate of a run, and its momentum, by trying.
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
	"hogwild/hogwild/prepare"
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
	tuneSeeds = 3     // of the best few
)

// tuner finds the best settings of a run by trying.
type tuner struct {
	ctx         context.Context
	data        *run.Lender
	held        *heldRows     // nil: it goes by the rows that were trained on
	validates   bool          // the run holds them out, too
	short, long config.Config // of short runs, and of long ones
	folder      string
	trials      []Trial
}

// Tune finds the learning rate for c, and with the momentum optimizer the momentum,
// by runs judged on rows held out. It returns c with them, and the trials in order; o.Progress gets a
// line of each. The learning rate is neither capped nor scaled any more: what these estimate has
// been measured. Errors are those of Run, and with o.Signals it ends as Run does.
func Tune(ctx context.Context, c config.Config, o run.Options) (config.Config, []Trial, error) {
	settled, err := o.Settle(c)
	if err != nil {
		return c, nil, err
	}
	if c.Resume != "" {
		return c, nil,
			config.Usage("tune with resume %s: a resumed run keeps its learning rate; leave one of them out", c.Resume)
	}
	if err := prepare.Vacant(&c); err != nil {
		return c, nil, err
	}
	c.LRCap, settled.LRCap = "off", "off"
	if c.AverageLR == "auto" {
		c.AverageLR, settled.AverageLR = "same", "same"
	}
	t := &tuner{ctx: ctx}
	if err := t.load(settled, o); err != nil {
		return c, nil, err
	}
	defer t.data.Close()
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
	c.LR, c.LRMin, c.Momentum = best.LR, c.LRMin*best.LR/t.data.Job.Asked.LR, best.Momentum
	c.Tuned = "tuned" + how
	return c, t.trials, nil
}

// load reads the data with rows held out, by the run or for tuning alone. Where that cannot be, as of a graph, tuning
// goes by the rows that are trained on.
func (t *tuner) load(c config.Config, o run.Options) (err error) {
	read := func(validation string) error {
		c := c
		if validation != c.Validation {
			c.Validation, c.Patience = validation, 0
		}
		t.data, err = run.Load(c, o)
		return err
	}
	apart := c.Validation
	if apart == config.NoValidation || apart == "" && !c.HoldsOut() {
		apart = tuneShare
	}
	if c.Program != "" { // which alone knows how to score
		return read(c.Validation)
	}
	if err = read(apart); err == nil && t.data.Validation == nil { // too few rows for a run to hold some out by itself
		t.data.Close()
		apart = tuneShare
		err = read(apart)
	}
	if err != nil && apart != c.Validation {
		return read(c.Validation)
	}
	if err == nil && t.data.Validation != nil {
		t.held, t.validates = newHeldRows(t.data.Validation), apart == c.Validation
	}
	return err
}

// plan makes of the settings of the run those of a short run, a part of an epoch or as many epochs as it takes, and of
// a long one.
func (t *tuner) plan() {
	c, rows := t.data.Job.Asked, t.data.Train.Rows
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
	least := max(tuneExamples, tuneSteps*t.data.Job.Used.Batch*c.Workers)
	most := least
	if m, err := model.New(c.ModelOptions(), t.data.Train.Meta); err == nil && t.held != nil {
		most = max(least, longExamples, int(longFlops/max(1000, model.Flops(m, t.data.Train.ValuesPerRow()))))
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
	by := "the rows that they train on"
	if t.held != nil {
		by = t.held.String()
	}
	t.say("tuning: runs of %s examples%s, judged by %s; %s, %s", examples(t.short), then, by,
		human.Plural(c.Workers, "worker"), c.Mode)
}

// search tries decades from the one of the learning rate asked for, up and down, until it gets worse, by short runs.
// From the best one long runs go up and down by 1, 2, 5, 10; then they try other momenta, at equal lr/(1-momentum), and
// rates nearer to the best. The best few are tried with other seeds.
func (t *tuner) search() error {
	from := 3 * int(math.Round(math.Log10(t.short.LR)))
	if err := t.walk(&t.short, from, 3, t.short.Momentum); err != nil {
		return err
	}
	best := t.best(&t.short)
	if err := t.walk(&t.long, 3*int(math.Round(math.Log10(best.LR))), 1, best.Momentum); err != nil {
		return err
	}
	if t.long.Optimizer == config.Momentum {
		if err := t.tryMomenta(); err != nil {
			return err
		}
	}
	best = t.best(&t.long)
	for _, f := range []float64{0.7, 1.4} {
		if err := t.try(&t.long, shortest(best.LR*f), best.Momentum, 0); err != nil {
			return err
		}
	}
	for _, tr := range t.finalists() {
		for seed := range uint64(tuneSeeds) {
			if err := t.try(&t.long, tr.LR, tr.Momentum, seed); err != nil {
				return err
			}
		}
	}
	return nil
}

// tryMomenta tries other momenta at equal lr/(1-momentum), and rates beside the best of them.
func (t *tuner) tryMomenta() error {
	was := t.best(&t.long)
	for _, mu := range []float64{0, 0.5, 0.9, 0.97} {
		if err := t.try(&t.long, shortest(was.LR*(1-mu)/(1-was.Momentum)), mu, 0); err != nil {
			return err
		}
	}
	best := t.best(&t.long)
	if best.Momentum == was.Momentum {
		return nil
	}
	for _, f := range []float64{0.5, 2} {
		if err := t.try(&t.long, shortest(best.LR*f), best.Momentum, 0); err != nil {
			return err
		}
	}
	return nil
}

// walk tries rates up and down from one, by so many rungs at a time, until they are worse.
func (t *tuner) walk(c *config.Config, from, rungs int, momentum float64) error {
	if err := t.try(c, rung(from), momentum, 0); err != nil {
		return err
	}
	for _, direction := range []int{rungs, -rungs} {
		for i := 1; i <= tuneTries; i++ {
			best := t.best(c)
			if err := t.try(c, rung(from+direction*i), momentum, 0); err != nil {
				return err
			}
			last := t.trials[t.tried(c, rung(from+direction*i), momentum, 0)]
			if by, sigma := worse([]Trial{last}, []Trial{best}); by > sigma ||
				direction > 0 && math.IsInf(last.Loss, 1) {
				if lr := shortest(nearly * last.most); rungs == 1 && lr > best.LR && lr < last.LR { // other seeds find another
					if err := t.try(c, lr, momentum, 0); err != nil {
						return err
					}
				}
				break
			}
		}
	}
	if math.IsInf(t.best(c).Loss, 1) {
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
