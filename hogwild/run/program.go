package run

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// startEvaluator starts the program that evaluates, which describes its model.
func startEvaluator(c *config.Config, w *programWatch, prints io.Writer) (*program.Evaluator, error) {
	p, err := program.Start(context.Background(), program.Command{Line: c.Program, Workers: c.Workers, Seed: c.Seed, Rank: program.Coordinator, Stderr: prints, Awaits: w.awaits})
	if err != nil {
		return nil, config.Usage("%w", err)
	}
	w.hasJoined()
	e, err := program.NewEvaluator(p, max(c.AskedBatch(), 1), c.L2)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return e, nil
}

// describe has a program describe its model and its data.
func (r *coordinator) describe() (err error) {
	c := &r.job.Config
	if c.Program == "" {
		return nil
	}
	r.prints = r.programLog(program.Coordinator)
	r.watching = watchProgram(c.HangTimeout, r.report.event)
	if r.evaluator, err = startEvaluator(c, r.watching, r.prints); err != nil {
		return err
	}
	r.evaluator.Restarted = func(why error) {
		r.report.event("evaluating: %v: it is started again", why)
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

// endEvaluator ends what describe has started.
func (r *coordinator) endEvaluator() {
	if r.evaluator != nil && config.Interruption(r.epochs.ended) != nil { // nobody shall wait for Python to tidy up
		r.evaluator.Kill(r.epochs.ended)
	}
	if r.evaluator != nil {
		_ = r.evaluator.Close() // the run has all that it needs of it
	}
	if r.watching != nil {
		r.watching.close()
		r.prints.close()
	}
}

// welcome gives the program that evaluates its data. Of a new run it writes the first weights, to w.
func (r *task) welcome(first bool, w []float32) error {
	if r.evaluator == nil {
		return nil
	}
	if o, ok := r.owner.(device.OnGPU); ok {
		r.evaluator.ComputeOn(o.GPUMemory().UUID)
	}
	if err := r.evaluator.Welcome(data.Sets{Train: r.train, Validation: r.validation, Test: r.test}, first, w); err != nil {
		return err
	}
	return r.mayJudge()
}

// mayJudge refuses what ends a run by its scores, if the program has none.
func (r *task) mayJudge() error {
	c := &r.job
	if r.evaluator.Evaluates() {
		return nil
	}
	for _, end := range []struct {
		name  string
		given bool
	}{{"target-loss", c.TargetLoss > 0}, {"target-accuracy", c.TargetAccuracy > 0}, {"patience", c.Patience > 0}} {
		if end.given {
			return config.Usage("%s needs scores: mark a function of the program with @job.evaluate, and give hogwild.join a test set if it has a dataset", end.name)
		}
	}
	return nil
}

// lastScore is how long an interrupted run waits for its program's score.
var lastScore = 10 * time.Second

// errLate is the error of a score that an interrupted run no longer waits for.
var errLate = errors.New("the run was interrupted")

// scoredByProgram is a program's score of weights on a set; of no examples, where it has no function that evaluates, or
// no test data, could not answer before, or takes too long after an interruption.
func (r *coordinator) scoredByProgram(w []float32, set *data.Set) (model.Score, error) {
	if r.scoreless || !r.evaluator.Evaluates() {
		return model.Score{}, nil
	}
	done, interrupted := make(chan struct{}), r.interrupted
	defer close(done)
	go func() {
		select {
		case <-done:
			return
		case <-interrupted:
		}
		select {
		case <-done:
		case <-time.After(lastScore):
			r.evaluator.Kill(errLate)
		}
	}()
	s, err := r.evaluator.Score(w, set)
	r.scoreless = err != nil // the run ends, and its last weights are saved without a score
	if errors.Is(err, errLate) {
		r.late = true
		return model.Score{}, nil
	}
	return s, err
}

// testBest has a program test the weights of the best epoch, where a validation set has chosen it; and the last ones, where they have no
// score, since the run was interrupted before.
func (r *coordinator) testBest(res *rundir.Result) error {
	w := r.saver.copy.Best
	if w == nil && math.IsNaN(res.TestLoss) {
		w = r.saver.copy.Plain(r.trained)
	}
	if w == nil {
		return nil
	}
	sum, err := r.scoreOn(w, r.test)
	switch {
	case err == nil && r.late:
		err = r.cause()
		res.Stopped = config.Interruption(err).Error()
	case err == nil && sum.N > 0:
		s := scoresOf("test", sum, false)
		res.TestLoss, res.TestAccuracy = s.Loss, s.Accuracy
		if r.saver.copy.Best == nil {
			res.Metrics = s.Metrics
		}
	}
	return err
}

// evaluateProgram has the program of a run evaluate saved weights.
func (s *Saved) evaluateProgram(r *EvalResult, set *data.Set) error {
	c := &s.config
	r.Model = c.Program
	if c.Layout.Rows > 0 && !r.own {
		return config.Usage("data %s has no effect: the program has a data set of its own; leave data out", r.Data)
	}
	w := watchProgram(c.HangTimeout, func(string, ...any) {})
	defer w.close()
	e, err := startEvaluator(c, w, nil)
	if err != nil {
		return err
	}
	defer e.Close()
	if err := program.Compare(c.Layout, e.Layout()); err != nil {
		return config.Usage("%s: %w", r.Weights, err)
	}
	if err := e.Welcome(data.Sets{Train: set, Test: set}, false, nil); err != nil {
		return err
	}
	if !e.Evaluates() {
		return config.Usage("program %s has no function marked @job.evaluate, or no test data: there is nothing to evaluate", c.Program)
	}
	score, err := e.Score(s.w, set)
	if err != nil {
		return err
	}
	own := scoresOf("test", score, false)
	r.Examples, r.Loss, r.Accuracy, r.Metrics = score.N, own.Loss, own.Accuracy, own.Metrics
	return nil
}
