package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"hogwild/bench"
)

// run measures the cases and writes the folder, also of a bench that is interrupted.
func (o *benchOptions) run(p bench.Plan, stdout, stderr io.Writer) error {
	dir, before, err := o.place(p)
	if err != nil {
		return err
	}
	if before != nil {
		p.Floors = before.Floors
	}
	if o.floors && p.Floors == nil {
		fmt.Fprintf(stderr, "what this machine does at best: %g s\n", o.seconds)
		if p.Floors, err = o.measureFloors(); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	program, err := trainProgram()
	if err != nil {
		return err
	}
	r := &bench.Runner{Folder: dir, Program: program, Progress: stderr}
	e, failed := r.Run(ctx, p)
	if e == nil {
		return failed
	}
	if err := writeExperiment(dir, e); err != nil {
		return errors.Join(failed, err)
	}
	if o.asJSON {
		return errors.Join(failed, e.WriteJSON(stdout))
	}
	if p.Floors != nil {
		if err := p.Floors.WriteText(stdout); err != nil {
			return errors.Join(failed, err)
		}
		fmt.Fprintln(stdout)
	}
	if err := e.WriteText(stdout); err != nil {
		return errors.Join(failed, err)
	}
	fmt.Fprintf(stdout, "\nAll figures are in %s; report.html there shows them.\n", dir)
	return failed
}

// place is the folder of the results, and what it holds already: nothing, or results of
// the same cases, which need not be measured again.
func (o *benchOptions) place(p bench.Plan) (string, *bench.Experiment, error) {
	if o.out == "" {
		name := fmt.Sprintf("bench-%s-%s", time.Now().Format("20060102-150405"), p.Name)
		return filepath.Join("runs", name), nil, nil
	}
	entries, err := os.ReadDir(o.out)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return o.out, nil, nil
	}
	if err != nil {
		return "", nil, usagef("--out %s: %v; name a folder", o.out, err)
	}
	if _, err := os.Stat(filepath.Join(o.out, "results.json")); err != nil {
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != "runs" }) {
			return "", nil, usagef("--out %s: there are other files in it; name another folder", o.out)
		}
		return o.out, nil, nil // stopped before the first turn was done
	}
	before, err := bench.ReadExperiment(o.out)
	if err != nil {
		return "", nil, usagef("--out %s: %v; name another folder", o.out, err)
	}
	for _, was := range before.Cases {
		if !slices.ContainsFunc(p.Cases, func(c bench.Case) bool {
			return c.Name == was.Name && slices.Equal(c.Settings, was.Settings)
		}) {
			return "", nil, usagef("--out %s: it holds the case %s with other settings than these; name another folder", o.out, was.Name)
		}
	}
	return o.out, before, nil
}
