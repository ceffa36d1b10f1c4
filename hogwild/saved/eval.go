// Package saved evaluates weights that a run or another program has saved, and predicts with them. It knows no workers.
//
//	eval.go     saved weights on data
//	result.go   what that came to
//	top.go      labels among the most probable classes
//	open.go     a file of weights, and the model that they belong to
//	predict.go  what they make of inputs
package saved

import (
	"fmt"
	"slices"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
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
	return EvalTop(path, d, data.Options{Path: dataPath, Format: format, Target: target}, 0)
}

// EvalTop does as EvalAs with a Path with a Format, a Target or Columns, and with precision and recall among the top
// most probable classes; 0: without.
func EvalTop(path string, d Description, in data.Options, top int) (EvalResult, error) {
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
	var set *data.Set
	if in.Path == "" {
		r.Data, r.own = s.config.Data, true
		set, err = s.testRows(s.path)
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
	if top != 0 {
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
	r.Detail, err = score.Detail(models, s.w, set, s.loss, r.Loss)
	return r, err
}

// testRows reads the data of the run again, and returns what it was tested on.
func (s *Saved) testRows(path string) (*data.Set, error) {
	if s.config.Data == "" {
		return nil, fmt.Errorf("%s does not say which data it was tested on; name it with --data", path)
	}
	sets, err := s.config.ReadSets(data.Options{})
	if err != nil {
		return nil, err
	}
	test := sets.Test
	sets.Test = nil
	defer sets.Close()
	if sets.Train.Checksum != s.meta.Checksum {
		err = fmt.Errorf("%s has changed since the run that saved %s, and so have its test rows; name a file with "+
			"--data", s.config.Data, path)
	} else if !readAlike(&sets.Train.Meta, &s.meta) { // a data cache that was converted again
		err = fmt.Errorf("%s has other rows, columns, classes or scaling than in the run that saved %s; name a file "+
			"with --data", s.config.Data, path)
	}
	if err != nil {
		_ = test.Close()
		return nil, err
	}
	return test, nil
}

// readAlike reports whether two sets from one file have the same rows, features and classes, and one scaling.
func readAlike(a, b *data.Meta) bool {
	return a.Rows == b.Rows && a.Features == b.Features && slices.Equal(a.Classes, b.Classes) && a.ScaledAlike(b)
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
