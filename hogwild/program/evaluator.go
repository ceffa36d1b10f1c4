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
	batch int
	l2    float64

	mu        sync.Mutex // for one request at a time
	p         *Process
	seg       *shm.Segment
	copy      []float32 // that the program maps
	sets      data.Sets
	gpu       *gpu // nil: it computes on cores
	evaluates bool
	restarted bool

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
	sets := map[string]*data.Set{}
	if e.p.Layout.Rows == 0 {
		sets = map[string]*data.Set{"train": e.sets.Train, "validation": e.sets.Validation, "test": e.sets.Test}
	}
	if hi.Data, err = a.sets(sets); err != nil {
		return err
	}
	e.evaluates, err = e.p.welcome(hi, a.files)
	return err
}

// Evaluates tells whether the program has a function that evaluates.
func (e *Evaluator) Evaluates() bool { return e.evaluates }

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
	for from := 0; from < set.Rows; {
		to := min(from+max(piece, e.batch), set.Rows)
		var s model.Score
		s, err = e.score(score{name, from, to})
		var ended *EndError
		if errors.As(err, &ended) && !e.restarted {
			if err = e.restart(); err == nil {
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
	s.Correct = int(math.Round((*s.Metrics)["accuracy"]))
	return s, nil
}

// restart starts the program once more.
func (e *Evaluator) restart() error {
	e.restarted = true
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
		p.Kill(err)
		_ = p.Close()
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

// Close ends the program. A score that it computes fails.
func (e *Evaluator) Close() error {
	e.Kill(errClosed)
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.p.Close()
	return e.seg.Close()
}
