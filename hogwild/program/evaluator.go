// Package program trains a model that a program in another language computes. Each worker has such a
// process, and the coordinator has one to evaluate. They map the weights and the data of the run, and take
// one message a chunk over a socket: see docs/programs.md.
//
//	evaluator.go  the coordinator's program
//	device.go     a worker's program
//	arrays.go     what a program is told of shared memory
//	process.go    a program that runs
//	end.go        how it ends
//	layout.go     what it says of its model
//	command.go    how it is started
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
	Restarted func(why error) // called when the program has died and is started once more; nil: by nobody

	batch int
	l2    float64

	mu        sync.Mutex // for one request at a time
	p         *Process
	seg       *shm.Segment
	copy      []float32 // that the program maps
	sets      data.Sets
	gpu       *gpu // nil: it computes on cores
	evaluates bool

	ending sync.Mutex // for what Kill needs
	now    *Process
	killed error
}

// NewEvaluator is one of a program that was started with the rank Coordinator.
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

// Layout is what the program has said of its model.
func (e *Evaluator) Layout() *model.Layout { return &e.p.Layout }

// Welcome gives the program the data, and waits until it is ready. With first it is asked for the first weights
// of a run, which w gets.
func (e *Evaluator) Welcome(sets data.Sets, first bool, w []float32) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sets = sets
	if err := e.welcome(first); err != nil {
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
	hi := welcome{Welcome: protocol, Role: "evaluator", Workers: e.p.command.Workers, Seed: e.p.command.Seed, Batch: e.batch, Mode: "async", L2: e.l2, GPU: e.gpu,
		Weights: place{a.file(e.seg.File()), offset}, Init: first}
	hi.Data, err = a.sets(map[string]*data.Set{"train": e.sets.Train, "validation": e.sets.Validation, "test": e.sets.Test})
	if err != nil {
		return err
	}
	e.evaluates, err = e.p.welcome(hi, a.files)
	return err
}

// Evaluates tells whether the program scores weights: it has a function that evaluates, and data to test.
func (e *Evaluator) Evaluates() bool {
	l := e.Layout()
	return e.evaluates && (l.Rows == 0 || l.TestRows > 0)
}

// piece is how many rows are scored at once, at least.
const piece = 256

// Score is the score of weights on a set. A program that dies is started once more.
func (e *Evaluator) Score(w []float32, set *data.Set) (sum model.Score, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := ""
	switch set {
	case e.sets.Test:
		name = "test"
	case e.sets.Validation:
		name = "validation"
	case e.sets.Train:
		name = "train"
	default:
		return sum, errors.New("program: a set that the program does not know cannot be scored")
	}
	copy(e.copy, w)
	restarted := false
	for from := 0; from < set.Rows; {
		to := min(from+max(piece, e.batch), set.Rows)
		var s model.Score
		s, err = e.score(score{name, from, to})
		var ended *EndError
		if errors.As(err, &ended) && !restarted {
			restarted = true
			if err = e.restart(err); err == nil {
				continue
			}
		}
		if err != nil {
			return sum, fmt.Errorf("evaluating: %w", err)
		}
		sum.Add(s, 1)
		from = to
	}
	return sum, nil
}

// score is that of some rows.
func (e *Evaluator) score(q score) (s model.Score, err error) {
	r, err := e.p.ask(request{Score: &q})
	if err != nil {
		return s, err
	}
	if r.Scored == nil || r.Scored.Examples != q.To-q.From {
		return s, e.p.broke("its answer to score is not scored, with %d examples", q.To-q.From)
	}
	s.N, s.Loss = r.Scored.Examples, float64(r.Scored.Loss)
	if len(r.Scored.Metrics) == 0 {
		return s, nil
	}
	s.Metrics = &model.Metrics{}
	for name, sum := range r.Scored.Metrics {
		(*s.Metrics)[name] = float64(sum)
	}
	if right := math.Round((*s.Metrics)["accuracy"]); right >= 0 && right <= float64(s.N) {
		s.Correct = int(right)
	}
	return s, nil
}

// restart starts the program once more.
func (e *Evaluator) restart(why error) error {
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
	return e.welcome(false)
}

// Kill ends the program. Whoever waits for it gets the error why.
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
