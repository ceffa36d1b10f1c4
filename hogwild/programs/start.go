package programs

import (
	"context"
	"errors"
	"io"
	"os"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/program"
	"hogwild/hogwild/saved"
	"hogwild/hogwild/worker"
)

// A program that evaluates saved weights is watched as that of a run is.
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
			e.Kill(errLate) // nobody wants what follows its loop
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
