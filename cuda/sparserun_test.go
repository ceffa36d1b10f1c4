//go:build cuda

package cuda

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/run"
	"hogwild/hogwild/tuning"
)

// Whole runs on sparse rows, against the CPU device.

// sparseRun is a short run on the first rows of one of the real sets.
func sparseRun(t *testing.T, set string, edit func(*config.Config)) config.Config {
	t.Helper()
	c := digits(t, func(c *config.Config) {
		c.Limit, c.Batch, c.LR, c.BiasStep = 2000, 1, .03, "off"
		edit(c)
	})
	c.Data, c.Test = firstRows(t, set, c.Limit), firstRows(t, tests[set], 4000)
	return c
}

// firstRows is a file of the first n rows of a set: reading all of it takes longer than
// the tests.
func firstRows(t *testing.T, set string, n int) string {
	path := filepath.Join(cmp.Or(os.Getenv("HOGWILD_DATA"), "../../shared/data"), set)
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("%s is neither in $HOGWILD_DATA nor in ../shared/data", set)
	}
	defer f.Close()
	var from io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if from, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	lines := bufio.NewReader(from)
	for range n {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		text.Write(line)
	}
	cut := filepath.Join(t.TempDir(), "rows.libsvm")
	if err := os.WriteFile(cut, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return cut
}

const (
	a9a  = "a9a/a9a"
	imdb = "imdb/imdb_ltc_train.gz"
)

var tests = map[string]string{a9a: "a9a/a9a.t", imdb: "imdb/imdb_ltc_test.gz"}

// TestSparseSameAsCPU: one worker with one step in flight is serial SGD in the CPU's
// order, and barrier mode is the same with any number of workers.
func TestSparseSameAsCPU(t *testing.T) {
	for _, c := range []struct {
		name, set string
		edit      func(*config.Config)
	}{
		{"logistic", a9a, func(*config.Config) {}},
		{"logistic imdb", imdb, func(c *config.Config) { c.LR, c.Bias = 3, false }},
		{"logistic l1 l2", a9a, func(c *config.Config) { c.L1, c.L2 = 1e-4, 1e-3 }},
		{"hinge batch 8", a9a, func(c *config.Config) { c.Model, c.Batch = "hinge", 8 }},
		{"softmax", a9a, func(c *config.Config) { c.Model, c.Batch, c.Limit = "softmax", 4, 1000 }},
		{"momentum l2", a9a, func(c *config.Config) { c.Optimizer, c.Batch, c.L2, c.LR = "momentum", 16, 1e-3, .01 }},
		{"adagrad", a9a, func(c *config.Config) { c.Optimizer, c.Batch, c.LR = "adagrad", 8, .1 }},
		{"adagrad l1", imdb, func(c *config.Config) {
			c.Optimizer, c.Batch, c.LR, c.L1, c.Epochs = "adagrad", 8,
				.1, 1e-5, 1
		}},
		{"adam", a9a, func(c *config.Config) { c.Optimizer, c.Batch, c.Limit = "adam", 16, 1000 }},
		{"sync", a9a,
			func(c *config.Config) { c.Mode, c.Workers, c.AverageEvery, c.L2 = config.MustMode("sync"), 2, 5, 1e-3 }},
		{"sync gradients", a9a, func(c *config.Config) {
			c.Mode, c.Average, c.Workers, c.Batch, c.L2, c.LR = config.MustMode("sync"), "gradients", 2, 8, 1e-3, .1
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			gpu := sparseRun(t, c.set, c.edit)
			if gpu.Mode.Kind == config.Async {
				gpu.InFlight = 1
			}
			sameAsCPU(t, gpu, 1e-3)
		})
	}
}

// TestSparseInFlight: many steps in flight end at the loss of one, whether frequent
// columns have a local copy or not. Updates that all are 256 steps
// late end 35% above it on a9a, half the rate 12% above it on imdb. Losses are
// compared, not accuracies, whose spread over 4,000 rows is ten times as wide.
func TestSparseInFlight(t *testing.T) {
	for _, set := range []string{a9a, imdb} {
		edit := func(c *config.Config) {
			c.Limit, c.Epochs, c.Schedule, c.GPU = 5000, 2, "cosine", ""
			if c.LR = .03; set == imdb {
				c.LR, c.Bias = 3, false
			}
		}
		want := train(t, sparseRun(t, set, edit)).TestLoss
		for _, how := range []func(*config.Config){
			func(c *config.Config) { c.InFlight, c.MergeEvery = 64, "1" },
			func(c *config.Config) { c.InFlight, c.Workers, c.MergeEvery = 64, 2, "16" },
		} {
			c := sparseRun(t, set, edit)
			c.GPU = "0"
			how(&c)
			got := train(t, c).TestLoss
			t.Logf("%s, merge every %s: test loss %.4f, the CPU's %.4f", set, c.MergeEvery, got, want)
			if got > 1.05*want {
				t.Errorf("%s, merge every %s: test loss %.4f, the CPU's %.4f", set, c.MergeEvery, got, want)
			}
		}
	}
}

// TestSparseRefuses: what a GPU does not train on sparse rows is said before anything starts.
func TestSparseRefuses(t *testing.T) {
	for _, c := range []struct {
		edit func(*config.Config)
		says string
	}{
		{func(c *config.Config) { c.Model = "mlp:8" }, "mlp:8 on sparse rows"},
		{func(c *config.Config) { c.Mode, c.Average, c.L1 = config.MustMode("sync"), "gradients", 1e-4 },
			"averaged gradients with optimizer sgd and l1 0.0001"},
	} {
		_, err := run.Run(context.Background(), sparseRun(t, a9a, c.edit), run.Options{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want an error that says %q", err, c.says)
		}
	}
}

// TestLocalColumns: the most frequent ones, and the bias last.
func TestLocalColumns(t *testing.T) {
	const d = 1500
	s := &device.Setup{Job: tuning.AsAsked(config.Config{Mode: config.MustMode("async"), Optimizer: "sgd",
		MergeEvery: "16"}), Set: sparseSet(d)}
	s.Spec.Outputs, s.Spec.Features, s.Spec.Bias = 1, d, true
	got := localColumns(s)
	if len(got) != localSlots || got[localSlots-1] != d {
		t.Fatalf("%d columns, the last %d; want %d, the last %d", len(got), got[len(got)-1], localSlots, d)
	}
	all := slices.Sorted(slices.Values(s.Set.Freq))
	least := all[d-(localSlots-1)]
	for i, j := range got[:localSlots-1] {
		if f := s.Set.Freq[j]; f < least || i > 0 && f > s.Set.Freq[got[i-1]] {
			t.Errorf("column %d is in slot %d with frequency %g; the least of these is %g", j, i, f, least)
		}
	}
	if s.Job.Asked.Mode = config.MustMode("atomic"); localCount(s) != 0 {
		t.Errorf("mode atomic holds %d columns back", localCount(s))
	}
}
