package runtest

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
	"hogwild/hogwild/score"
)

// WithRun returns c with another run folder.
func WithRun(c config.Config, dir string) config.Config {
	c.Run = dir
	return c
}

// AsGiven returns a run with steps so small that its weights stay what they are.
func AsGiven(t *testing.T, model, init string, workers int) config.Config {
	c := config.Default()
	c.Data, c.Model, c.Init, c.Workers = "digits:300", model, init, workers
	c.Epochs, c.LR, c.Batch = 1, 1e-30, 10
	c.Run = filepath.Join(t.TempDir(), "run")
	return c
}

// RanAs runs c, and returns its result and its weights.
func RanAs(t *testing.T, c config.Config) (rundir.Result, []saved.Tensor) {
	t.Helper()
	r, err := run.Run(context.Background(), c, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := saved.Open(c.Run)
	if err != nil {
		t.Fatal(err)
	}
	return r, s.Tensors()
}

// Furthest returns how far two lists of tensors are apart.
func Furthest(a, b []saved.Tensor) (most float64) {
	for i := range a {
		for j, v := range a[i].Values {
			most = max(most, math.Abs(float64(v-b[i].Values[j])))
		}
	}
	return most
}

// Whole fails the test unless a folder has a whole run of this many epochs, each with its line, in order.
func Whole(t *testing.T, dir string, epochs int) {
	t.Helper()
	r, err := rundir.ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.State() != rundir.Done || r.Result.Epochs != epochs || r.Result.Run != dir {
		t.Errorf("state %s, result %+v", r.State(), r.Result)
	}
	onceEach(t, dir, epochs)
	f, err := rundir.ReadSnapshot(dir)
	if err != nil || f.Damage != nil || int(f.Pos.Epoch) != epochs+1 {
		t.Errorf("snapshot: %+v, %v", f, err)
	}
	NoHalves(t, dir)
}

// NoHalves fails the test if a file of the run was left half written.
func NoHalves(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, rundir.EventPrefix):
		case slices.Contains([]string{rundir.WeightsFile, rundir.SnapshotFile, rundir.PreviousFile, rundir.ResultFile,
			rundir.MetricsName, rundir.ConfigFile}, name):
		default:
			t.Errorf("%s was left in the run folder", e.Name())
		}
	}
	WeightsOf(t, dir)
}

// onceEach fails the test unless metrics.jsonl has one line for each epoch, in order.
func onceEach(t *testing.T, dir string, epochs int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, rundir.MetricsName))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for line := range strings.Lines(string(text)) {
		e, _, err := rundir.ReadMetric([]byte(line))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e != nil {
			got = append(got, e.Epoch)
		}
	}
	for i, epoch := range got {
		if epoch != i+1 {
			t.Fatalf("lines of epochs %v", got)
		}
	}
	if len(got) != epochs {
		t.Errorf("lines of epochs %v, want %d", got, epochs)
	}
}

// MustOpen opens saved weights.
func MustOpen(t *testing.T, path string) *saved.Saved {
	t.Helper()
	s, err := saved.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Evaluated scores the weights that a run has left.
func Evaluated(t *testing.T, run string, set *data.Set) rundir.Scores {
	t.Helper()
	f, err := rundir.ReadWeights(run, 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(f.Saved.Job.Asked.ModelOptions(), f.Saved.Meta)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Saved.Weights(m.Params())
	if err != nil {
		t.Fatal(err)
	}
	s, err := score.Evaluate([]model.Model{m}, w, set)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// State returns the time and the bytes of each file in a folder.
func State(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() { // the socket of a live run
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = info.ModTime().Format(time.RFC3339Nano) + string(text)
	}
	return files
}

// Refused fails the test unless Run refuses c with an error that says what, and
// touches nothing in the folder.
func Refused(t *testing.T, c config.Config, dir, what string) {
	t.Helper()
	before := State(t, dir)
	_, err := Try(t, c)
	if !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), what) ||
		strings.Count(err.Error(), "\n") > 3 {
		t.Errorf("error %v, want one that speaks of %q", err, what)
	}
	if !maps.Equal(before, State(t, dir)) {
		t.Errorf("the folder was touched, and refused: %v", err)
	}
}

// Interrupted starts a run and stops it, once this many examples of an epoch are done.
func Interrupted(t *testing.T, c config.Config, epoch uint64, examples int) rundir.Result {
	t.Helper()
	r := Start(t, c)
	r.Reach(epoch, examples)
	r.Stop()
	result, err := r.Wait()
	if !errors.Is(err, config.ErrInterrupted) || result.Stopped != "interrupted" {
		t.Fatalf("stopped %q, error %v, want an interruption", result.Stopped, err)
	}
	return result
}

// Cut stops it within that epoch.
func Cut(t *testing.T, c config.Config, epoch uint64, examples int) rundir.Result {
	t.Helper()
	result := Interrupted(t, c, epoch, examples)
	if f, err := rundir.ReadSnapshot(c.Run); err != nil || !f.Pos.Within || f.Pos.Epoch != epoch {
		t.Fatalf("the snapshot is not within epoch %d (%v)", epoch, err)
	}
	return result
}

// Resumed returns c, to go on where its run was cut.
func Resumed(c config.Config) config.Config {
	c.Resume = c.Run
	return c
}

// SameWeights fails the test unless two runs have left the same weights.
func SameWeights(t *testing.T, a, b string) {
	t.Helper()
	if !reflect.DeepEqual(SavedWeights(t, a), SavedWeights(t, b)) {
		t.Errorf("the weights in %s and %s differ", a, b)
	}
}
