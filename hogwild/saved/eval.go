// Package saved evaluates weights that a run or another program has saved, and predicts with them. It knows no workers.
//
//	eval.go     saved weights on data
//	result.go   what that came to
//	top.go      labels among the most probable classes
//	best.go     the best candidates for queries
//	open.go     a file of weights, and the model that they belong to
//	again.go    the data of the run, read once more, and what is asked of rankings
//	predict.go  what they make of inputs
package saved

import (
	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
)

// Eval computes loss and accuracy of saved weights (a weights.safetensors, or a run
// folder) on data, read and scaled as the training data were. Without data they are the test
// rows of the run itself. Errors match ErrUsage when one of the files is not what it should be.
func Eval(path, dataPath, format, target string) (EvalResult, error) {
	return EvalAs(path, Description{}, dataPath, format, target)
}

// EvalAs evaluates weights that another program has saved. If the description names a model, but no training data, the
// data count as such.
func EvalAs(path string, d Description, dataPath, format, target string) (EvalResult, error) {
	return EvalTop(path, d, data.Options{Path: dataPath, Format: format, Target: target}, 0, "")
}

// EvalTop does as EvalAs with a Path with a Format, a Target or Columns, and with precision and recall among the top
// most probable classes; 0: without. Of a model that ranks, top and seen are settings of its rankings; 0 and "": as in
// the run.
func EvalTop(path string, d Description, in data.Options, top int, seen config.Seen) (EvalResult, error) {
	r := EvalResult{Weights: path, Data: in.Path}
	if d.Model != "" && d.Train == "" {
		d.Train, d.Format, d.Target = in.Path, in.Format, in.Target
	}
	s, err := OpenAs(path, d)
	if err != nil {
		return r, err
	}
	r.Weights = s.path
	if s.config.Program != "" && s.path == path { // a run folder is its user's; a file may come from anybody
		return r, config.Usage("%s has the command of a program in it, %q, which eval starts only for a run: "+
			"name the run's folder, if you trust it", path, s.config.Program)
	}
	if err = s.asks(top, seen); err != nil {
		return r, err
	}
	var set *data.Set
	var own data.Sets
	if in.Path == "" {
		r.Data, r.own = s.config.Data, true
		own, err = s.readAgain()
		set, own.Test = own.Test, nil
		defer own.Close()
	} else {
		if set, err = in.Like(&s.meta); err == nil {
			err = config.CheckData(in, &set.Meta)
		}
	}
	if err != nil {
		return r, config.Usage("%w", err)
	}
	defer set.Close()
	r.Model, r.Examples, r.Notes = s.name, set.Rows, set.Notes
	if top != 0 && !s.ranks() {
		if r.Top, err = s.top(set, top); err != nil {
			return r, err
		}
	}
	if s.config.Program != "" {
		err = s.evaluateProgram(&r, set)
		return r, err
	}
	models := []model.Model{s.model}
	if r.Scores, err = score.Evaluate(models, s.w, set); err != nil {
		return r, err
	}
	if r.Detail, err = score.Detail(models, s.w, set, s.loss, r.Loss); err != nil {
		return r, err
	}
	ranked, err := s.rank(set, own)
	r.Detail = r.Detail.With(ranked)
	return r, err
}

// rank ranks the candidates for a set: the test set of the run's own, or another one, for which those are read again.
// If they cannot be, the ranking says so.
func (s *Saved) rank(set *data.Set, own data.Sets) (*rundir.Ranked, error) {
	if !s.ranks() || s.config.RanksAt(&set.Meta) == 0 {
		return nil, nil
	}
	models, err := s.models()
	if err != nil {
		return nil, err
	}
	note := ""
	if own.Train == nil && (set.Facts() || s.config.Seen != config.SeenIn) {
		if own, err = s.readAgain(); err != nil {
			note, s.config.Seen = "what the training data have is not left out: "+reason(err), config.SeenIn
		}
		defer own.Close()
	}
	others := []*data.Set{own.Train, own.Validation}
	if set.Facts() {
		others = append(others, own.Test)
	}
	ranked := score.RankSet(models, s.w, set, &s.config, others...)
	if ranked != nil {
		ranked.Note = note
	}
	return ranked, nil
}

// Evaluator starts the program of a run, to evaluate its weights; done ends it. Package run, which knows how programs
// hang, sets it.
var Evaluator func(c *config.Config) (e *program.Evaluator, done func(), err error)

// evaluateProgram evaluates saved weights by the program of their run.
func (s *Saved) evaluateProgram(r *EvalResult, set *data.Set) error {
	c := &s.config
	r.Model = c.Program
	if c.Layout.Rows > 0 && !r.own {
		return config.Usage("data %s has no effect: the program has a data set of its own; leave data out", r.Data)
	}
	e, done, err := Evaluator(c)
	if err != nil {
		return err
	}
	defer done()
	if err := program.Compare(c.Layout, e.Layout()); err != nil {
		return config.Usage("%s: %w", r.Weights, err)
	}
	if err := e.Welcome(data.Sets{Train: set, Test: set}, false, nil); err != nil {
		return err
	}
	if !e.Evaluates() {
		return config.Usage("program %s has no function marked @job.evaluate, or no test data: there is nothing to "+
			"evaluate", c.Program)
	}
	sum, err := e.Score(s.w, set)
	if err != nil {
		return err
	}
	own := score.Of("test", sum, false)
	r.Examples, r.Loss, r.Accuracy, r.Metrics = sum.N, own.Loss, own.Accuracy, own.Metrics
	return nil
}
