package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hogwild/bench"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// sweepOf returns the command hogwild sweep of an experiment file with the text, into a folder.
func sweepOf(t *testing.T, text, folder string) (c *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	c = exec.Command("/proc/self/exe", "sweep", path, "--out", folder)
	c.Args[0] = "hogwild" // by which the test binary knows that it is the program
	c.Stdout, c.Stderr = stdout, stderr
	return c, stdout, stderr
}

// until returns when something is true, and fails the test after a while.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 20 s: %s", what)
		}
	}
}

// running returns the command lines, of all processes, with the text in them.
func running(text string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if line, _ := os.ReadFile(path); bytes.Contains(line, []byte(text)) {
			found = append(found, string(line))
		}
	}
	return found
}

// trials returns the trial.json in the folder of an experiment, by run.
func trials(t *testing.T, folder string) map[string]string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(folder, "runs", "*", "trial.json"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(filepath.Dir(path))] = string(text)
	}
	return found
}

// TestSweepKilled kills a sweep half-way, which leaves no process behind, and starts it again: it runs what is missing,
// and has the results of one that was left alone.
func TestSweepKilled(t *testing.T) {
	const plan, all = `
base: {data: "digits:500", epochs: 2, workers: 1}
grid: {lr: [0.1, 0.2, 0.3, 0.4]}
seeds: 3
`, 12
	folder, other := t.TempDir(), t.TempDir()
	first, _, _ := sweepOf(t, plan, folder)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "no three runs are done", func() bool { return len(trials(t, folder)) >= 3 })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	until(t, "a run goes on", func() bool { return len(running(folder)) == 0 })
	before := trials(t, folder)
	if len(before) == all {
		t.Fatal("it was done before it was killed")
	}

	again, _, said := sweepOf(t, plan, folder)
	if err := again.Run(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if n := strings.Count(said.String(), ", seed "); n != all-len(before) {
		t.Errorf("%d runs the second time, but %d of %d were done:\n%s", n, len(before), all, said)
	}
	after := trials(t, folder)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was run again", name)
		}
	}

	whole, _, said := sweepOf(t, plan, other)
	if err := whole.Run(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	// NaN: a target was not reached
	same := cmp.Comparer(func(a, b human.Number) bool { return a == b || a != a && b != b })
	if diff := cmp.Diff(untimed(t, other), untimed(t, folder), same); diff != "" {
		t.Errorf("the two came to other results:\n%s", diff)
	}
}

// untimed returns the results in a folder without what time decides.
func untimed(t *testing.T, folder string) *bench.Experiment {
	t.Helper()
	e, err := bench.ReadExperiment(folder)
	if err != nil {
		t.Fatal(err)
	}
	e.Time, e.Command = time.Time{}, ""
	for i := range e.Cases {
		c := &e.Cases[i]
		if c.Weights != "" {
			c.Weights = filepath.Base(c.Weights) // the folders differ
		}
		for k := range c.Runs {
			r := &c.Runs[k]
			r.Took, r.SecondsToTarget = 0, nil
			if was := r.Result; was != nil { // what of it is not a time, nor sampled
				r.Result = &rundir.Result{Mode: was.Mode, Workers: was.Workers, Device: was.Device, Batch: was.Batch,
					Epochs: was.Epochs, Examples: was.Examples, TrainLoss: was.TrainLoss, Tested: was.Tested,
					Parameters: was.Parameters, LRUsed: was.LRUsed, Seed: was.Seed, Notes: was.Notes}
			}
			for j := range r.History {
				r.History[j].Seconds = 0
			}
		}
	}
	return e
}

// TestRunsThatFailed: they make the command fail, those that diverged do not.
func TestRunsThatFailed(t *testing.T) {
	p := bench.Plan{Kind: "sweep", Name: "s", Command: "hogwild sweep s.yaml", Seeds: []uint64{1, 2},
		Cases: []bench.Case{{Name: "a"}, {Name: "b"}}}
	r := &bench.Runner{Folder: t.TempDir(),
		Program: []string{"sh", "-c",
			`echo "$@" | grep -q b.2 || exit 4; echo "hogwild: the numbers diverged" >&2; exit 3`, "sh"}}
	if _, err := r.Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	err := undone(r, p) // that b diverged with seed 2 is a result
	if err == nil || !strings.Contains(err.Error(), "3 of 4 runs failed") || !strings.Contains(err.Error(), p.Command) {
		t.Errorf("%v, want how many failed, and the command", err)
	}
	p.Cases, p.Seeds = p.Cases[1:], p.Seeds[1:]
	if err := undone(r, p); err != nil {
		t.Errorf("of a run that diverged: %v", err)
	}
}

// TestSweepInterrupted: what is done is reported, and kept; the run under way is not.
func TestSweepInterrupted(t *testing.T) {
	for signal, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		folder := t.TempDir()
		c, stdout, stderr := sweepOf(t, `
base: {data: "digits:500", workers: 2, target-accuracy: 1} # so that no rates are searched
cases: [{name: long, epochs: 1000000}, {name: short, epochs: 1}]
`, folder)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer c.Process.Kill()
		waitForLine(t, filepath.Join(folder, "runs", "long.1", "metrics.jsonl"))
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != status {
			t.Fatalf("%v: ended with %v, want exit status %d; stderr: %s", signal, err, status, stderr)
		}
		if left := running(folder); len(left) > 0 {
			t.Errorf("%v: left behind: %q", signal, left)
		}
		if got := trials(t, folder); len(got) != 1 || got["short.1"] == "" {
			t.Errorf("%v: kept %v, want short.1", signal, got)
		}
		if _, err := os.Stat(filepath.Join(folder, "report.html")); err != nil ||
			!strings.Contains(stdout.String(), "short") {
			t.Errorf("%v: no report (%v); stdout: %s", signal, err, stdout)
		}
		if said := stderr.String(); !strings.Contains(said,
			"after 1 of 2 runs, kept in "+folder+"; run `hogwild sweep ") {
			t.Errorf("%v: it does not say how to go on: %s", signal, said)
		}
	}
}
