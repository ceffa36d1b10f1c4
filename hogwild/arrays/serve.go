// Package arrays trains on arrays that another process has, and predicts for them: the Python package starts the
// program for each call, and is its only user. Rows are copied once, by that process, into the memory that the
// workers map.
//
//	serve.go    Serve: one call, from the first line to the last
//	predict.go  predictions
//	session.go  the socket, while the run goes on
//	message.go  the protocol
package arrays

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/format"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
)

// protocol is the version of what is said over the socket.
const protocol = 1

// Serve answers one call over a socket, which it owns from then on. read makes settings of train's flags. The error is
// nil if the other process was told of it.
func Serve(socket int, read func(map[string]string) (config.Config, error)) error {
	s := newSession(socket)
	defer s.close()
	var a ask
	if err := s.line.Receive(&a); err != nil {
		return err
	}
	s.files = s.line.Files()
	err := s.answer(&a, read)
	if err == nil {
		return nil
	}
	return s.refuse(err)
}

// Refuse answers a call by an error.
func Refuse(socket int, err error) error {
	s := newSession(socket)
	defer s.close()
	return s.refuse(err)
}

// answer carries out what is asked for.
func (s *session) answer(a *ask, read func(map[string]string) (config.Config, error)) error {
	switch {
	case a.Protocol != protocol:
		return fmt.Errorf("the Python package speaks version %d of the protocol, and this program %d: install both "+
			"from one wheel", a.Protocol, protocol)
	case a.Predict != nil:
		return s.predict(a.Predict)
	case a.Train == nil && a.Settings == nil:
		return errors.New("there are no rows to train on")
	}
	var c config.Config
	if a.Settings != nil { // before memory is taken
		if a.Validates {
			a.Settings["validation"] = "test" // what patience needs; the run is given the set
		}
		var err error
		if c, err = read(a.Settings); err != nil {
			return err
		}
	}
	if a.Train == nil { // the run reads what the settings name
		return s.train(c, nil, a)
	}
	sets, err := s.sets(a, &c)
	defer sets.Close()
	if err != nil || a.Settings == nil {
		return err
	}
	return s.train(c, &sets, a)
}

// sets has the rows filled in, and sends the sets back if they are to be kept.
func (s *session) sets(a *ask, c *config.Config) (sets data.Sets, err error) {
	budget := format.NewBudget(c.MemoryLimit())
	train, err := s.room(a.Train, budget)
	if err != nil {
		return sets, err
	}
	defer train.close()
	test, err := s.room(a.Test, budget)
	if err != nil {
		return sets, err
	}
	defer test.close()
	if err = s.fill(train, test); err != nil {
		return sets, err
	}
	if train.room != nil {
		train.room.Unsummed = a.Unscored && a.Test == nil && !a.Keep && c.Run == "" && c.Resume == "" &&
			c.AllNodes() == 1
	}
	if sets.Train, err = train.sealed(nil); err != nil {
		return sets, config.Usage("%w", err)
	}
	if a.Settings != nil {
		asked := *c
		asked.Data = sets.Train.Name
		if asked, err = asked.Resolve(); err != nil {
			return sets, err
		}
		o := data.Options{Grid: c.Mode.Grid, Apart: config.KeepsApart(&asked)}
		if sets.Train, err = data.Apart(sets.Train, o, budget); err != nil {
			return sets, err
		}
	}
	if test == nil {
		if sets, err = data.OnTraining(sets.Train); err != nil {
			return sets, err
		}
	} else if sets.Test, err = test.sealed(&sets.Train.Meta); err != nil {
		return sets, config.Usage("%w", err)
	} else if a.Validates {
		err = sets.ValidateOnTest()
	}
	if a.Keep {
		err = s.line.Send(reply{Sealed: []data.Meta{sets.Train.Meta}}, sets.Train.File())
	}
	return sets, err
}

// train trains, on what the settings name if there are no sets, and sends the weights.
func (s *session) train(c config.Config, sets *data.Sets, a *ask) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go s.listen(cancel)
	if c.Run == "" {
		dir, remove, err := rundir.Temporary("hogwild-arrays-")
		if err != nil {
			return err
		}
		defer remove()
		if c.Run = filepath.Join(dir, "run"); c.SavesByCost() {
			c.SaveEvery = "0" // it is never resumed
		}
		atomicfile.Volatile = true
	}
	o := run.Options{Sets: sets, Unscored: a.Unscored, Progress: os.Stderr, Quiet: true}
	d, epochs := &done{}, 0
	o.OnPlan = func(n int) { epochs = n }
	o.OnEpoch = func(e rundir.EpochResult) {
		if a.Silent {
			d.Epochs = append(d.Epochs, e)
			return
		}
		_ = s.line.Send(reply{Epoch: &e, Epochs: epochs}) // if the other end is closed, the run is over anyway
		if a.Waits {
			select {
			case <-s.goOn:
			case <-ctx.Done():
			}
		}
	}
	result, err := run.Run(ctx, c, o)
	if err != nil && config.Interruption(err) == nil && !errors.Is(err, config.ErrDiverged) &&
		!errors.Is(err, config.ErrAfterLoop) {
		return err
	}
	weights, missing := os.ReadFile(filepath.Join(c.Run, rundir.WeightsFile))
	if missing != nil {
		return errors.Join(err, missing)
	}
	if words, err := os.ReadFile(filepath.Join(c.Run, rundir.WordsFile)); err == nil {
		weights = append(weights, words...)
	}
	d.Result = &result
	if err != nil {
		d.Ended, d.Why = kindOf(err), err.Error()
	}
	return s.finish(d, weights)
}
