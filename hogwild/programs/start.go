package programs

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/saved"
	"hogwild/hogwild/worker"
)

// A program that evaluates saved weights is watched as a run's is.
func init() {
	saved.Evaluator = func(c *config.Config) (*program.Evaluator, func(), error) {
		silent := func(string, ...any) {}
		w := WatchProgram(c.HangTimeout, silent)
		e, err := startEvaluator(c, w, silent, nil)
		if err != nil {
			w.Close()
			return nil, nil, err
		}
		return e, func() {
			e.Kill(errLate) // what follows its loop is not wanted
			_ = e.Close()
			w.Close()
		}, nil
	}
}

// startEvaluator starts the program that evaluates, which describes its model.
func startEvaluator(c *config.Config, w *ProgramWatch, warn func(string, ...any),
	prints io.Writer) (*program.Evaluator, error) {
	command := program.Command{Line: c.Program, Workers: c.Workers, Seed: c.Seed, Rank: program.Coordinator,
		Stderr: prints, Awaits: w.Awaits}
	p, err := program.Start(context.Background(), command)
	if killed(err) { // no mistake of the program: it is started once more, as a worker is
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

func init() { worker.Program = join }

// join gives a worker's device to a program that takes the steps.
func join(h *control.Header, rank int, block *control.Block, s *device.Setup,
	inner device.Device) (device.Device, error) {
	c := &h.Job.Asked
	awaits := func(p program.Awaited) { // the coordinator looks whether it hangs
		pid := 0
		if p != nil {
			pid = p.PID()
		}
		block.SetRank(rank, control.RankProgram, uint64(pid))
	}
	p, err := program.Start(context.Background(), program.Command{Line: c.Program, Workers: c.Workers, Seed: c.Seed,
		Rank: rank, Stderr: os.Stderr, Awaits: awaits})
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return program.Join(s, rank, inner, p)
}

// LastScore is how long an interrupted run waits for its program's score.
var LastScore = 10 * time.Second

// errLate is the error of a score that an interrupted run no longer waits for.
var errLate = errors.New("the run was interrupted")

// killLate kills the evaluator's program if it takes too long after an interruption. What it returns ends that.
func (a *ability) killLate() (done func()) {
	over, interrupted, evaluator, limit := make(chan struct{}), a.run.Mem.Interrupted, a.evaluator, LastScore
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

// Score returns a program's score of weights on a set; of no examples, where it has no function that evaluates, or
// no test data, could not answer before, or takes too long after an interruption. With an epoch the program hears of
// its end, and may have metrics of the whole set.
func (a *ability) Score(w []float32, set *data.Set, epoch int) (s model.Score, metrics map[string]float64, err error) {
	if a.failed {
		return s, nil, nil
	}
	defer a.killLate()()
	if epoch > 0 {
		s, metrics, err = a.evaluator.Judge(w, set, epoch)
	} else if a.evaluator.Evaluates() {
		s, err = a.evaluator.Score(w, set)
	}
	a.failed = err != nil // the run ends, and its last weights are saved without a score
	if errors.Is(err, errLate) {
		a.run.End.ScoreSkipped = true
		return model.Score{}, nil, nil
	}
	return s, metrics, err
}

// Scores reports whether the program has a function that evaluates.
func (a *ability) Scores() bool { return a.evaluator.Evaluates() }
