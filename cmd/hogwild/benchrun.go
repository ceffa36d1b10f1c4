package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"hogwild/bench"
)

// run measures the cases, and before them what the machine does at best, if that was asked.
func (o *benchOptions) run(p bench.Plan, stdout, stderr io.Writer) error {
	before, err := o.found(p)
	if err != nil {
		return err
	}
	if before != nil {
		p.Limits = before.Limits
	}
	if o.limits && p.Limits == nil {
		fmt.Fprintf(stderr, "what this machine does at best: %g s\n", o.seconds)
		if p.Limits, err = o.measureLimits(); err != nil {
			return err
		}
	}
	if o.limits && !o.asJSON {
		if err := p.Limits.WriteText(stdout); err != nil {
			return err
		}
		fmt.Fprintln(stdout)
	}
	return carryOut(stdout, stderr, o.out, p, false, o.asJSON)
}

// found is what the folder of the results holds already: nothing, or results of the same
// cases, which need not be measured again. Nothing else is written over.
func (o *benchOptions) found(p bench.Plan) (*bench.Experiment, error) {
	if err := experimentFolder(o.out); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(o.out, "results.json")); err != nil {
		return nil, nil // nothing, or it was stopped in its first turn
	}
	before, err := bench.ReadExperiment(o.out)
	if err != nil {
		return nil, err
	}
	for _, was := range before.Cases {
		at := slices.IndexFunc(p.Cases, func(c bench.Case) bool { return c.Name == was.Name })
		switch {
		case at < 0:
			return nil, usagef("--out %s: it holds the case %s, which is not among these; name another folder", o.out, was.Name)
		case !slices.Equal(p.Cases[at].Settings, was.Settings):
			return nil, usagef("--out %s: it holds the case %s with other settings than these; name another folder", o.out, was.Name)
		}
	}
	return before, nil
}
