package main

import (
	"fmt"
	"io"
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
		if p.Limits, err = machineLimits(stderr, o.seconds); err != nil {
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
	before, err := experimentIn(o.out)
	if before == nil {
		return nil, err
	}
	for _, was := range before.Cases {
		at := slices.IndexFunc(p.Cases, func(c bench.Case) bool { return c.Name == was.Name })
		switch {
		case at < 0:
			return nil, usagef("--out %s: it holds the case %s, which this bench does not have; name another folder",
				o.out, was.Name)
		case !bench.SameSettings(p.Cases[at].Settings, was.Settings) || p.Cases[at].Launcher != was.Launcher:
			return nil, usagef("--out %s: it holds the case %s with other settings; name another folder",
				o.out, was.Name)
		}
	}
	return before, nil
}
