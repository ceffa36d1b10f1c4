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
	"strings"
	"syscall"

	"hogwild/bench"
	"hogwild/bench/page"
	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

// carryOut measures a plan in a folder: what is missing there, or all if fresh. Progress
// goes to stderr, the table, or the results as JSON, to stdout. Ctrl-C stops it: what was
// measured so far is written and reported too.
func carryOut(stdout, stderr io.Writer, folder string, p bench.Plan, fresh, asJSON bool) error {
	if err := folderFor(folder, p); err != nil {
		return err
	}
	ctx, stop := untilSignal()
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
	_, failed := fmt.Fprintf(stdout, "\nsaved in %s: report.html, results.csv, results.json, results.txt, runs/\n", folder)
	return errors.Join(err, failed)
}

// undone is the error of a plan of which runs failed, other than by diverging.
func undone(r *bench.Runner, p bench.Plan) error {
	left, total := 0, len(p.Cases)*len(p.Seeds)
	for _, done := range r.Done(p) {
		left += len(p.Seeds) - done
	}
	if left == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d runs failed, and count nowhere; the same command tries them again: %s", left, total, p.Command)
}

// folderFor refuses a folder in which other things lie than this experiment: they would be
// lost.
func folderFor(folder string, p bench.Plan) error {
	if err := experimentFolder(folder); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, "results.json")); err != nil {
		return nil // nothing, or it was stopped in its first turn
	}
	e, err := bench.ReadExperiment(folder)
	if err == nil && (e.Kind != p.Kind || e.Name != p.Name) {
		err = usagef("%s holds another experiment, %s %s; name another folder with --out", folder, e.Kind, e.Name)
	}
	return err
}

// experimentFolder refuses a folder in which other things than an experiment lie: files of
// the same names would be lost.
func experimentFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return usagef("the folder of the results: %v; name another one with --out", err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == "results.json":
			return nil
		case name != "runs" && !strings.HasSuffix(name, ".tmp"): // which a run that was killed leaves behind
			err = usagef("%s holds %s, and is not the folder of an experiment; name another one with --out", folder, name)
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

// untilSignal is a context that the first Ctrl-C or SIGTERM ends; the second one ends the
// program.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if s == syscall.SIGTERM {
				cancel(config.ErrTerminated)
			}
			cancel(config.ErrInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// commandLine is a command as a shell takes it.
func commandLine(words ...string) string {
	for i, w := range words {
		words[i] = human.ShellWord(w)
	}
	return strings.Join(words, " ")
}
