package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/plan"
	"hogwild/internal/human"
)

// Tuning: short runs, by the same processes in the same mode as the run to come, each
// with another learning rate. A short run goes through the whole course of the
// schedule, and is judged by the mean loss of the examples of the second half of its
// last epoch, each taken before it is learned from. Nothing of the test set is used.

const (
	tuneExamples = 20000 // that a short run trains, at least
	tuneSteps    = 256   // that each worker takes in it, at least
	tuneTries    = 8     // decades in one direction
	tuneAlike    = 0.01  // losses that differ by a smaller share are alike
)

// Trial is one short run of Tune.
type Trial struct {
	LR, Momentum float64
	Loss         float64 // mean over the second half of its last epoch; infinite when the numbers diverged
	Seconds      float64 // of training
}

// reach is how far a gradient moves the weights in the long run.
func (t Trial) reach() float64 { return t.LR / (1 - t.Momentum) }

// tuner finds the best settings of a run by trying.
type tuner struct {
	ctx    context.Context
	c      config.Config // of a short run
	data   *coordinator
	folder string
	trials []Trial
}

// Tune finds the learning rate for c, and with the momentum optimizer the momentum,
// by short runs. It returns c with them, and the trials in order; o.Progress gets a
// line of each. The learning rate is neither capped nor scaled any more: what these estimate has
// been measured. Errors are those of Run, and with o.Signals it ends as Run does.
func Tune(ctx context.Context, c config.Config, o Options) (config.Config, []Trial, error) {
	short, err := o.settle(c, nil)
	if err != nil {
		return c, nil, err
	}
	if c.Resume != "" {
		return c, nil, config.Usage("tune with resume %s: a resumed run keeps its learning rate; leave one of them out", c.Resume)
	}
	if err := errors.Join(mayStart(), ready()); err != nil {
		return c, nil, err
	}
	if c.LRCap == "auto" {
		c.LRCap, short.LRCap = "off", "off"
	}
	if c.AverageLR == "auto" {
		c.AverageLR, short.AverageLR = "same", "same"
	}
	t := &tuner{ctx: ctx, c: short, data: newCoordinator(short, o)}
	defer t.data.close()
	if err := t.data.load(); err != nil {
		return c, nil, err
	}
	t.c = t.data.job.Config // with the rate and the epochs that were left to the program
	if t.folder, err = os.MkdirTemp("", "hogwild-tune-"); err != nil {
		return c, nil, err
	}
	defer os.RemoveAll(t.folder)
	if o.Signals {
		var stop func()
		t.ctx, stop = config.UntilSignal(ctx)
		defer stop()
	}
	t.shorten()
	best, err := t.search()
	c.LR, c.LRMin = best.LR, c.LRMin*best.LR/t.data.job.Config.LR
	c.Momentum = best.Momentum
	return c, t.trials, err
}

// shorten makes of the configuration of the run that of a short one: a part of an
// epoch, or as many epochs as it takes.
func (t *tuner) shorten() {
	c, rows := &t.c, t.data.train.Rows
	want := max(tuneExamples, tuneSteps*t.data.job.Tuning.Batch*c.Workers)
	c.Sample = min(rows, want)
	c.Epochs = min(c.Epochs, plan.CeilDiv(want, c.Sample))
	c.SaveEvery, c.TargetLoss, c.TargetAccuracy, c.StopAfter = "0", 0, 0, 0
	c.OnDivergence = config.Stop     // that is what tells which rates are too high
	c.Validation, c.Patience = "", 0 // a short run is judged by its training loss
	t.say("tuning: short runs of %s examples, %s, %s", human.Count(int64(c.Sample*c.Epochs)), human.Plural(c.Workers, "worker"), c.Mode)
}

func (t *tuner) say(format string, args ...any) {
	t.data.report.display.event(fmt.Sprintf(format, args...))
}

// search tries decades from the one of the learning rate asked for, up and down, until
// it gets worse; then the steps 2 and 5 between; then, at equal lr/(1-momentum),
// other momenta.
func (t *tuner) search() (Trial, error) {
	exponent := math.Round(math.Log10(t.c.LR))
	if err := t.try(decade(exponent), t.c.Momentum); err != nil {
		return Trial{}, err
	}
	for _, direction := range []float64{1, -1} {
		for i := 1.0; i <= tuneTries; i++ {
			best := t.best().Loss
			if err := t.try(decade(exponent+direction*i), t.c.Momentum); err != nil {
				return Trial{}, err
			}
			if last := t.trials[len(t.trials)-1].Loss; last > best || direction > 0 && math.IsInf(last, 1) {
				break
			}
		}
	}
	if math.IsInf(t.best().Loss, 1) {
		return Trial{}, fmt.Errorf("%w at every learning rate down to %g: check the inputs, or scale them with --scale standard", config.ErrDiverged, t.trials[len(t.trials)-1].LR)
	}
	if err := t.around(t.best().LR, t.c.Momentum, 0.2, 0.5, 2, 5); err != nil {
		return Trial{}, err
	}
	if t.c.Optimizer == config.Momentum {
		best := t.best()
		for _, mu := range []float64{0, 0.5, 0.9, 0.97} {
			if err := t.around(best.LR*(1-mu)/(1-best.Momentum), mu, 0.5, 1, 2); err != nil {
				return Trial{}, err
			}
		}
	}
	best := t.best()
	t.say("tuned: lr %g%s", best.LR, t.momentum(best))
	return best, nil
}

// decade is the power of ten as one writes it.
func decade(exponent float64) float64 { return shortest(math.Pow(10, exponent)) }

// shortest is x to three digits.
func shortest(x float64) float64 {
	digits := math.Pow(10, 2-math.Floor(math.Log10(x)))
	return math.Round(x*digits) / digits
}

func (t *tuner) around(lr, momentum float64, factors ...float64) error {
	for _, f := range factors {
		if err := t.try(shortest(lr*f), momentum); err != nil {
			return err
		}
	}
	return nil
}

// best is the trial with the least loss, and of those alike the one whose steps go
// least far in the long run: a short run thinks too well of long steps.
func (t *tuner) best() Trial {
	least := math.Inf(1)
	for _, tr := range t.trials {
		least = min(least, tr.Loss)
	}
	best := t.trials[0]
	for _, tr := range t.trials {
		alike := tr.Loss <= least*(1+tuneAlike)
		if alike && (best.Loss > least*(1+tuneAlike) || tr.reach() < best.reach()) {
			best = tr
		}
	}
	return best
}

// interruption is why ctx is done: a signal, or the caller.
func interruption(ctx context.Context) error {
	err := context.Cause(ctx)
	if config.Interruption(err) == nil {
		err = fmt.Errorf("%w: %w", config.ErrInterrupted, err)
	}
	return err
}

// try makes one short run, unless it has been made.
func (t *tuner) try(lr, momentum float64) error {
	if slices.ContainsFunc(t.trials, func(tr Trial) bool { return tr.LR == lr && tr.Momentum == momentum }) {
		return nil
	}
	if t.ctx.Err() != nil {
		return interruption(t.ctx)
	}
	c := t.c
	c.LR, c.LRMin, c.Momentum = lr, c.LRMin*lr/c.LR, momentum
	c.Run = filepath.Join(t.folder, fmt.Sprint(len(t.trials)))
	r := newCoordinator(c, Options{})
	r.train, r.test, r.lent = t.data.train, t.data.test, true
	result, err := r.run(t.ctx)
	tr := Trial{LR: lr, Momentum: momentum, Loss: r.epochs.secondHalf, Seconds: result.Seconds}
	if errors.Is(err, config.ErrDiverged) || math.IsNaN(r.epochs.secondHalf) {
		tr.Loss, err = math.Inf(1), nil
	}
	if err != nil {
		return err
	}
	t.trials = append(t.trials, tr)
	loss := "diverged"
	if !math.IsInf(tr.Loss, 1) {
		loss = "loss " + human.Loss(tr.Loss)
	}
	t.say("  lr %-8g%s  %-12s %6.2f s", lr, t.momentum(tr), loss, tr.Seconds)
	return os.RemoveAll(c.Run)
}

func (t *tuner) momentum(tr Trial) string {
	if t.c.Optimizer != config.Momentum {
		return ""
	}
	return fmt.Sprintf("  momentum %-5g", tr.Momentum)
}

// secondHalfLoss is the mean loss of the second half of the open epoch, all of which is done;
// of an epoch of one chunk it is that of the whole.
func (r *task) secondHalfLoss() float64 {
	p, epoch := &r.block.Plan, int(r.block.Get(control.WordEpoch))-1
	sum, n := 0.0, 0
	for i := range p.Chunks() {
		c := p.At(epoch, i)
		state, loss := r.block.Chunk(i)
		if state == control.ChunkDone && (p.Chunks() == 1 || c.Seen-int64(epoch)*int64(p.N) >= int64(p.N/2)) {
			sum, n = sum+loss, n+c.Count
		}
	}
	return sum / float64(n)
}
