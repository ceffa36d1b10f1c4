// Package program trains a model that a program in another language computes: each worker has such a process, and the
// coordinator has one to evaluate. They map the weights and the data of the run, and take one message a chunk over a
// socket: see docs/designs/programs.md.
//
//	evaluator.go  the coordinator's program
//	device.go     a worker's program
//	process.go    a program that runs
//	layout.go     what it says of its model
//	end.go        how it ends
//	command.go    how it is started
//	arrays.go     what a program is told of shared memory
//	protocol.go   the messages
package program

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/shm"
)

// Evaluator is the coordinator's program: it has the first weights of a run, and scores copies of the weights.
type Evaluator struct {
	Restarted func(why error) // called when the program has died and is started once more; nil: not called

	batch int
	l2    float64

	mu        sync.Mutex // for one request at a time
	p         *Process
	seg       *shm.Segment
	copy      []float32 // that the program maps
	sets      data.Sets
	gpu       *gpu // nil: it computes on cores
	evaluates bool
	ends      bool // it wants to hear of the ends of epochs

	ending sync.Mutex // for what Kill needs
	now    *Process
	killed error
}

// NewEvaluator returns the evaluator of a program that was started with the rank Coordinator.
func NewEvaluator(p *Process, batch int, l2 float64) (*Evaluator, error) {
	var l shm.Layout
	l.Add("weights", shm.F32, model.Size(p.Layout.Params()))
	seg, err := l.Create("evaluated")
	if err != nil {
		return nil, err
	}
	e := &Evaluator{p: p, now: p, seg: seg, batch: batch, l2: l2}
	e.copy, err = shm.View[float32](seg, "weights")
	return e, err
}

// ComputeOn has the program compute on a GPU, on a copy of the weights there. It is called before Welcome.
func (e *Evaluator) ComputeOn(uuid string) { e.gpu = &gpu{UUID: uuid} }

// Layout returns what the program has said of its model.
func (e *Evaluator) Layout() *model.Layout { return &e.p.Layout }

// Welcome gives the program the data, and waits until it is ready. With first it is asked for the first weights
// of a run, which w gets. One that is killed meanwhile is started once more.
func (e *Evaluator) Welcome(sets data.Sets, first bool, w []float32) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sets = sets
	err := e.welcome(first)
	if ended := (*EndError)(nil); errors.As(err, &ended) && ended.Killed {
		err = e.restart(err, first)
	}
	if err != nil {
		return err
	}
	if first {
		copy(w, e.copy)
	}
	return nil
}

func (e *Evaluator) welcome(first bool) (err error) {
	var a arrays
	offset, err := e.seg.Offset("weights")
	if err != nil {
		return err
	}
	hi := welcome{Welcome: protocol, Role: "evaluator", Rank: Coordinator, Workers: e.p.command.Workers,
		Seed: e.p.command.Seed, Batch: e.batch, Mode: "async", L2: e.l2, GPU: e.gpu,
		Weights: place{a.file(e.seg.File()), offset}, Init: first}
	hi.Data, err = a.sets(map[string]*data.Set{"train": e.sets.Train, "validation": e.sets.Validation,
		"test": e.sets.Test})
	if err != nil {
		return err
	}
	r, err := e.p.welcome(hi, a.files)
	e.evaluates, e.ends = r.Evaluates, r.Ends
	return err
}

// Evaluates reports whether the program scores weights: it has a function that evaluates, and data to test.
func (e *Evaluator) Evaluates() bool {
	l := e.Layout()
	return e.evaluates && (l.Rows == 0 || l.TestRows > 0)
}

// piece is how many rows are scored at once, at least.
const piece = 256

// Judge scores the weights after an epoch on a set, and tells the program of the epoch's end, if it wants to hear of
// that: its metrics are of the whole set.
func (e *Evaluator) Judge(w []float32, set *data.Set,
	epoch int) (sum model.Score, metrics map[string]float64, err error) {
	if e.Evaluates() {
		sum, err = e.Score(w, set)
	}
	if err != nil || !e.ends {
		return sum, nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	copy(e.copy, w)
	err = e.twice(func() error {
		r, err := e.p.ask(request{End: &end{epoch, e.nameOf(set), set.Rows}})
		if err == nil && r.Ended == nil {
			err = e.p.protocolError("its answer to end is not ended")
		}
		if err == nil {
			metrics = plainNumbers(r.Ended.Metrics)
		}
		return err
	})
	return sum, metrics, err
}

// nameOf returns a set's name; "" if the program does not know it.
func (e *Evaluator) nameOf(set *data.Set) string {
	switch set {
	case e.sets.Test:
		return "test"
	case e.sets.Validation:
		return "validation"
	case e.sets.Train:
		return "train"
	}
	return ""
}

// Score returns the score of weights on a set. A program that dies is started once more.
func (e *Evaluator) Score(w []float32, set *data.Set) (sum model.Score, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := e.nameOf(set)
	if name == "" {
		return sum, errors.New("program: a set that the program does not know cannot be scored")
	}
	copy(e.copy, w)
	from := 0
	err = e.twice(func() error {
		for from < set.Rows {
			to := min(from+max(piece, e.batch), set.Rows)
			s, err := e.score(score{name, from, to})
			if err != nil {
				return err
			}
			sum.Add(s, 1)
			from = to
		}
		return nil
	})
	return sum, err
}

// twice has the program do something; one that dies is started once more, and goes on with it.
func (e *Evaluator) twice(do func() error) error {
	err := do()
	if ended := (*EndError)(nil); errors.As(err, &ended) {
		if err = e.restart(err, false); err == nil {
			err = do()
		}
	}
	if err != nil {
		err = fmt.Errorf("evaluating: %w", err)
	}
	return err
}

// score returns the score of some rows.
func (e *Evaluator) score(q score) (s model.Score, err error) {
	r, err := e.p.ask(request{Score: &q})
	if err != nil {
		return s, err
	}
	if r.Scored == nil || r.Scored.Examples != q.To-q.From {
		return s, e.p.protocolError("its answer to score is not scored, with %d examples", q.To-q.From)
	}
	s.N, s.Loss = r.Scored.Examples, float64(r.Scored.Loss)
	if len(r.Scored.Metrics) == 0 {
		return s, nil
	}
	metrics := model.Metrics(plainNumbers(r.Scored.Metrics))
	s.Metrics = &metrics
	if right := math.Round((*s.Metrics)["accuracy"]); right >= 0 && right <= float64(s.N) {
		s.Correct = int(right)
	}
	return s, nil
}

func plainNumbers(metrics map[string]number) map[string]float64 {
	all := map[string]float64{}
	for name, v := range metrics {
		all[name] = float64(v)
	}
	return all
}

// restart starts the program once more; with first it writes the first weights.
func (e *Evaluator) restart(why error, first bool) error {
	if e.Restarted != nil {
		e.Restarted(why)
	}
	e.p.shut()
	p, err := Start(context.Background(), e.p.command)
	if err != nil {
		return err
	}
	e.ending.Lock()
	e.now = p
	killed := e.killed
	e.ending.Unlock()
	if killed != nil {
		p.Kill(killed)
	}
	if err := Compare(&e.p.Layout, &p.Layout); err != nil {
		p.finish(err)
		return err
	}
	e.p = p
	return e.welcome(first)
}

// Kill ends the program. Calls that wait for it return the error why.
func (e *Evaluator) Kill(why error) {
	e.ending.Lock()
	defer e.ending.Unlock()
	e.killed = why
	e.now.Kill(why)
}

// Close ends the program. If it is scoring, it is killed, and Score fails.
func (e *Evaluator) Close() error {
	if !e.mu.TryLock() {
		e.Kill(errClosed)
		e.mu.Lock()
	}
	defer e.mu.Unlock()
	return errors.Join(e.p.Close(), e.seg.Close())
}
