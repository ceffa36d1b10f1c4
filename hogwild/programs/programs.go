// Package programs has a run train models that programs of their own compute: see package program. In each worker a
// program takes the steps, and another, next to the coordinator, evaluates.
//
//	programs.go   the ability: what it hears
//	afterloop.go  what programs do after their loops
//	start.go      the program that evaluates: its start, and its scores
//	watch.go      whether the program that evaluates hangs
package programs

import (
	"fmt"
	"sync"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/workers"
	"hogwild/internal/human"
)

// New returns what has programs train and evaluate in a run.
func New() core.Ability { return &ability{} }

type ability struct {
	evaluator *program.Evaluator // nil: no program does
	failed    bool               // it could not answer
	prints    *workers.Log       // of the evaluator
	opened    bool               // that one has its folder
	told      sync.Once          // people, where programs print to
	watch     *ProgramWatch      // looks at the evaluator
	after     []loopFailure      // see afterloop.go
	run       *core.Run
}

// Handle starts the program that evaluates, and waits in the end for what programs do after their loops.
func (a *ability) Handle(r *core.Run, e core.Event) error {
	if r.Job.Asked.Program == "" {
		return nil
	}
	switch e := e.(type) {
	case *core.Reading:
		a.run = r
		return a.describe(r)
	case *core.Begins:
		return a.welcome(r, e.New)
	case *core.Folder:
		if !a.opened {
			a.opened = true
			a.prints.Open(r.Dir)
		}
	case *core.Reported:
		return a.leaveLoops(r, e.Result)
	case *core.Closing:
		a.close()
	}
	return nil
}

// describe has a program describe its model and its data.
func (a *ability) describe(r *core.Run) (err error) {
	c := &r.Job.Asked
	a.prints = a.Log(program.Coordinator)
	a.watch = WatchProgram(c.HangTimeout, r.Report.Event)
	if a.evaluator, err = startEvaluator(c, a.watch, r.Report.Event, a.prints); err != nil {
		return err
	}
	a.evaluator.Restarted = func(why error) {
		r.Report.Event("evaluating: %v: it is started again", why)
	}
	r.Hooks.Program = a
	c.Layout, c.Model = a.evaluator.Layout(), model.ProgramName
	switch own := c.Layout.Rows > 0; {
	case own && c.Data != data.None && c.Data != config.Default().Data:
		return config.Usage("data %s has no effect: the program has a data set of its own, of %s; leave data out",
			c.Data, human.Plural(c.Layout.Rows, "example"))
	case own && c.Validation+c.Test != "":
		return config.Usage("test and validation have no effect: the program has a data set of its own; its test set " +
			"is that of hogwild.join(net, dataset, test=...)")
	case own:
		c.Data = data.None
	case c.Data == data.None:
		return config.Usage("data none: the program has no data set of its own; name the data, or give one to " +
			"hogwild.join(net, dataset=...)")
	}
	return nil
}

// welcome gives the program that evaluates its data. Of a new run it writes the first weights.
func (a *ability) welcome(r *core.Run, first bool) error {
	var w []float32
	if first {
		w = r.Mem.Weights.W
	}
	if gpus := r.Mem.Traits.UUIDs; len(gpus) > 0 {
		a.evaluator.ComputeOn(gpus[0])
	}
	return a.evaluator.Welcome(r.Task.Sets, first, w)
}

// close ends what describe has started, at once if the program is there still: see leaveLoops.
func (a *ability) close() {
	if a.evaluator != nil {
		a.evaluator.Kill(errLate)
		_ = a.evaluator.Close() // the run's end does not wait for Python to tidy up
	}
	if a.watch != nil {
		a.watch.Close()
		a.prints.Close()
	}
}

// Log returns a log for the program of a rank.
func (a *ability) Log(rank int) *workers.Log {
	name := fmt.Sprintf("program-%d.log", rank)
	if rank == program.Coordinator {
		name = "program-evaluator.log"
	}
	return workers.NewLog(name, a.run.Dir, func(path string) {
		a.told.Do(func() { a.run.Report.Say("what a program prints is in " + path) })
	})
}
