package run

import (
	"context"
	"errors"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/hogwild/workers"
)

// Lender has what a run is made of before any process starts: its data, read once for many runs, and its settings.
type Lender struct {
	data.Sets
	Job tuning.Job // the settings, with nothing left open
	of  *coordinator
}

// Load reads the data of c, and settles its settings, as Run does. Errors match ErrUsage.
func Load(c config.Config, o Options) (*Lender, error) {
	if err := errors.Join(workers.CheckStart(c.Workers), workers.Ready()); err != nil {
		return nil, err
	}
	r := newCoordinator(c, o)
	if err := settleTask(r.crew.Run, false); err != nil {
		r.close()
		return nil, err
	}
	return &Lender{r.Task.Sets, r.Job, r}, nil
}

// Say shows a line where the progress of the run goes.
func (l *Lender) Say(line string) { l.of.Report.Say(line) }

// Close gives the data back.
func (l *Lender) Close() { l.of.close() }

// Borrow does Run with settings that leave nothing open, on sets that stay the caller's. It also returns the mean loss
// over the second half of the last epoch.
func Borrow(ctx context.Context, c config.Config, s data.Sets) (res rundir.Result, half float64, err error) {
	r := newCoordinator(c, Options{})
	r.Task.Sets, r.Task.Borrowed = s, true
	res, err = r.run(ctx)
	return res, r.secondHalf, err
}
