package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/bench/page"
	"hogwild/hogwild/config"
)

// experimentFlags are the flags of the commands that carry out an experiment.
type experimentFlags struct {
	out                 string
	repeat              int
	json, fresh, dryRun bool
	sameLR, quick       bool
}

// addTo adds the flags to l; repeat and folder say what --repeat does and where results go by default.
func (o *experimentFlags) addTo(l *flagList, repeat, folder string) {
	l.add(&o.repeat, "repeat", repeat)
	l.add(&o.out, "out", "`DIR` folder for the results (default: "+folder+")")
	l.add(&o.fresh, "fresh", "also repeat runs that are done")
	l.add(&o.dryRun, "dry-run", "list the cases without running them")
	l.add(&o.json, "json", "print the results as one JSON object")
}

// addSameLR adds --same-lr.
func (o *experimentFlags) addSameLR(l *flagList) {
	l.add(&o.sameLR, "same-lr", "compare cases at one learning rate, without a search for the best one of each")
}

// run lists the cases of a plan, or measures them.
func (o *experimentFlags) run(stdout, stderr io.Writer, p bench.Plan) error {
	p.SetSearch(o.quick, o.sameLR)
	if o.dryRun {
		return report(stdout, dryRun(p, o.out), o.json)
	}
	if err := folderFor(o.out, p); err != nil {
		return err
	}
	return carryOut(stdout, stderr, o.out, p, o.fresh, o.json)
}

// carryOut measures a plan in a folder: what is missing there, or all if fresh. Progress
// goes to stderr, the table, or the results as JSON, to stdout. Ctrl-C stops it: what was
// measured so far is written and reported too.
func carryOut(stdout, stderr io.Writer, folder string, p bench.Plan, fresh, asJSON bool) error {
	ctx, stop := config.UntilSignal(context.Background())
	defer stop()
	r := &bench.Runner{Folder: folder, Progress: stderr, Fresh: fresh}
	e, err := r.Run(ctx, p)
	if e == nil {
		return err
	}
	if err == nil {
		err = undone(r, p)
	}
	if failed := writeExperiment(folder, e); failed != nil || errors.Is(err, config.ErrUsage) {
		return errors.Join(err, failed)
	}
	var a answer = e
	if p.Kind == "reproduce" {
		a = reproduced{e}
	}
	if failed := report(stdout, a, asJSON); failed != nil || asJSON {
		return errors.Join(err, failed)
	}
	saved := fmt.Sprintf("\nsaved in %s: report.html, results.csv, results.json, results.txt, runs/\n", folder)
	return errors.Join(err, show(stdout, saved))
}

// undone returns the error of a plan with runs that failed, other than by diverging.
func undone(r *bench.Runner, p bench.Plan) error {
	left, total := 0, len(p.Cases)*len(p.Seeds)
	for _, done := range r.Done(p) {
		left += len(p.Seeds) - done
	}
	done, tried, _ := r.Searched(p)
	left, total = left+tried-done, total+tried
	if left == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d runs failed and are left out of the results; the same command tries them again: %s",
		left, total, p.Command)
}

// folderFor refuses a folder in which other things lie than this experiment: they would be
// lost.
func folderFor(folder string, p bench.Plan) error {
	e, err := experimentIn(folder)
	if e != nil && (e.Kind != p.Kind || e.Name != p.Name) {
		err = usagef("%s holds another experiment, %s %s; name another folder with --out", folder, e.Kind, e.Name)
	}
	return err
}

// experimentIn returns the experiment in a folder; nil: nothing yet, or it was stopped in its first turn.
func experimentIn(folder string) (*bench.Experiment, error) {
	if err := experimentFolder(folder); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(folder, "results.json")); err != nil {
		return nil, nil
	}
	return bench.ReadExperiment(folder)
}

// experimentFolder refuses a folder in which other things than an experiment lie: files of
// the same names would be lost.
func experimentFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return usagef("results folder %s: %v; choose another with --out", folder, cause(err))
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "results.json":
			return nil
		case name != "runs" && name != "search" && !strings.HasSuffix(name, ".tmp"):
			// which a run that was killed leaves behind
			err = usagef("%s holds %s and is not the folder of an experiment; name another one with --out", folder,
				name)
		}
	}
	return err
}

// writeExperiment writes what an experiment came to into its folder: the figures as JSON,
// as a table and in Go's benchmark format, and the report.
func writeExperiment(folder string, e *bench.Experiment) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"results.json", e.WriteJSON},
		{"results.csv", e.WriteCSV},
		{"results.txt", e.WriteBenchmarks},
		{"report.html", page.OfExperiment(e).WriteHTML},
	} {
		if err := bench.WriteFile(filepath.Join(folder, f.name), f.write); err != nil {
			return fmt.Errorf("writing %s: %w", f.name, err)
		}
	}
	return nil
}

// again returns the command line with the flags that were given, but for those that only say how to go about it. The
// folder of the results stands at the end; "": the default.
func (s *settings) again(out string, words ...string) string {
	words = append([]string{"hogwild"}, words...)
	for _, c := range s.command.Flags {
		f := s.set.Lookup(c.Names()[0])
		switch {
		case !s.given[f.Name] || slices.Contains([]string{"out", "json", "fresh", "dry-run"}, f.Name):
		case isBool(f) && f.Value.String() == "true":
			words = append(words, "--"+f.Name)
		case isBool(f):
			words = append(words, "--"+f.Name+"=false")
		default:
			words = append(words, "--"+f.Name, f.Value.String())
		}
	}
	if out != "" {
		words = append(words, "--out", out)
	}
	return commandLine(words...)
}

// reproduced is an experiment with what it says of the publication.
type reproduced struct{ *bench.Experiment }

// dryRun looks at what the folder holds of a plan.
func dryRun(p bench.Plan, folder string) *dryRunReport {
	r := &bench.Runner{Folder: folder}
	done, total, known := r.Searched(p)
	return &dryRunReport{p.Name, folder, p.Seeds, p.Cases, r.Done(p), searchRuns{done, total, known}}
}

// searchRuns are the runs of the search for learning rates.
type searchRuns struct {
	Done  int  `json:"done"`
	Total int  `json:"total"`
	Known bool `json:"known"` // which rates are best; else there may be more runs
}

// dryRunReport is what a sweep would do.
type dryRunReport struct {
	Name   string       `json:"name"`
	Folder string       `json:"folder"`
	Seeds  []uint64     `json:"seeds"`
	Cases  []bench.Case `json:"cases"`
	Done   []int        `json:"done"` // runs of each case
	Search searchRuns   `json:"search"`
}
