package run

import (
	"context"
	"errors"
	"io"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/hang"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/saved"
	"hogwild/hogwild/score"
	"hogwild/internal/human"
)

// A program that evaluates saved weights is watched as that of a run is.
func init() {
	saved.Evaluator = func(c *config.Config) (*program.Evaluator, func(), error) {
		silent := func(string, ...any) {}
		w := hang.WatchProgram(c.HangTimeout, silent)
		e, err := startEvaluator(c, w, silent, nil)
		if err != nil {
			w.Close()
			return nil, nil, err
		}
		return e, func() {
			e.Kill(errLate) // nobody wants what follows its loop
			_ = e.Close()
			w.Close()
		}, nil
	}
}

// startEvaluator starts the program that evaluates, which describes its model.
func startEvaluator(c *config.Config, w *hang.ProgramWatch, warn func(string, ...any), prints io.Writer) (*program.Evaluator, error) {
	command := program.Command{Line: c.Program, Workers: c.Workers, Seed: c.Seed, Rank: program.Coordinator, Stderr: prints, Awaits: w.Awaits}
	p, err := program.Start(context.Background(), command)
	if killed(err) { // nobody's mistake: it is started once more, as a worker is
		warn("the program that evaluates: %v: it is started again", err)
		p, err = program.Start(context.Background(), command)
	}
	if err != nil && !killed(err) {
		err = config.Usage("%w", err)
	}
	if err != nil {
		return nil, err
	}
	w.Joined()
	e, err := program.NewEvaluator(p, max(c.AskedBatch(), 1), c.L2)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return e, nil
}

// killed reports whether a program was ended by a signal.
func killed(err error) bool {
	var ended *program.EndError
	return errors.As(err, &ended) && ended.Killed
}

// describe has a program describe its model and its data.
func (r *scorer) describe() (err error) {
	c := &r.job.Asked
	if c.Program == "" {
		return nil
	}
	r.prints = r.programLog(program.Coordinator)
	r.watching = hang.WatchProgram(c.HangTimeout, r.report.Event)
	if r.evaluator, err = startEvaluator(c, r.watching, r.report.Event, r.prints); err != nil {
		return err
	}
	r.evaluator.Restarted = func(why error) {
		r.report.Event("evaluating: %v: it is started again", why)
	}
	c.Layout, c.Model = r.evaluator.Layout(), model.ProgramName
	switch own := c.Layout.Rows > 0; {
	case own && c.Data != data.None && c.Data != config.Default().Data:
		return config.Usage("data %s has no effect: the program has a data set of its own, of %s; leave data out", c.Data, human.Plural(c.Layout.Rows, "example"))
	case own && c.Validation+c.Test != "":
		return config.Usage("test and validation have no effect: the program has a data set of its own; its test set is that of hogwild.join(net, dataset, test=...)")
	case own:
		c.Data = data.None
	case c.Data == data.None:
		return config.Usage("data none: the program has no data set of its own; name the data, or give one to hogwild.join(net, dataset=...)")
	}
	return nil
}

// endEvaluator ends what describe has started, at once if the program is there still: see leaveLoops.
func (r *scorer) endEvaluator() {
	if r.evaluator != nil {
		r.evaluator.Kill(errLate)
		_ = r.evaluator.Close() // nobody shall wait for Python to tidy up
	}
	if r.watching != nil {
		r.watching.Close()
		r.prints.Close()
	}
}

// welcome gives the program that evaluates its data. Of a new run it writes the first weights, to w.
func (r *scorer) welcome(first bool, w []float32) error {
	if r.evaluator == nil {
		return nil
	}
	if o, ok := r.owner.(device.OnGPU); ok {
		r.evaluator.ComputeOn(o.GPUMemory().UUID)
	}
	if err := r.evaluator.Welcome(data.Sets{Train: r.train, Validation: r.validation, Test: r.test}, first, w); err != nil {
		return err
	}
	if stops := score.StopSetting(&r.job.Asked); stops != "" && !r.evaluator.Evaluates() {
		return config.Usage("%s needs scores: mark a function of the program with @job.evaluate, and give hogwild.join a test set if it has a dataset", stops)
	}
	return nil
}

// lastScore is how long an interrupted run waits for its program's score.
var lastScore = 10 * time.Second

// errLate is the error of a score that an interrupted run no longer waits for.
var errLate = errors.New("the run was interrupted")

// killLate kills the evaluator's program if it takes too long after an interruption. What it returns ends that.
func (r *scorer) killLate() (done func()) {
	over, interrupted, evaluator, limit := make(chan struct{}), r.interrupted, r.evaluator, lastScore
	go func() {
		select {
		case <-over:
			return
		case <-interrupted:
		}
		select {
		case <-over:
		case <-time.After(limit):
			evaluator.Kill(errLate)
		}
	}()
	return func() { close(over) }
}

// scoredByProgram is a program's score of weights on a set; of no examples, where it has no function that evaluates, or
// no test data, could not answer before, or takes too long after an interruption. With an epoch the program hears of
// its end, and may have metrics of the whole set.
func (r *scorer) scoredByProgram(w []float32, set *data.Set, epoch int) (s model.Score, metrics map[string]float64, err error) {
	if r.scoreless {
		return s, nil, nil
	}
	defer r.killLate()()
	if epoch > 0 {
		s, metrics, err = r.evaluator.Judge(w, set, epoch)
	} else if r.evaluator.Evaluates() {
		s, err = r.evaluator.Score(w, set)
	}
	r.scoreless = err != nil // the run ends, and its last weights are saved without a score
	if errors.Is(err, errLate) {
		r.late = true
		return model.Score{}, nil, nil
	}
	return s, metrics, err
}
