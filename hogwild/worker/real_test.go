package worker_test

import (
	"bufio"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// The bounds are what serial SGD reaches on these sets, less the spread of a few
// seeds. Where the last weights of a constant rate are noisy (one example a step, or
// a set with a large curvature for the rate) the rate falls to zero.
func TestRealSets(t *testing.T) {
	for _, c := range []struct {
		name, data string
		set        func(*config.Config)
		accuracy   float64 // at least, at the end
		r2         float64
	}{
		{"mnist softmax async", "mnist", func(c *config.Config) { c.Workers, c.LR, c.Epochs = 4, .1, 3 }, .91, 0},
		{"mnist mlp async", "mnist", func(c *config.Config) {
			c.Model, c.Workers, c.LR, c.Epochs, c.Scale = "mlp:128", 4, .1, 5, "0.1307,0.3081"
		}, .965, 0},
		{"mnist mlp sync", "mnist", func(c *config.Config) {
			c.Model, c.Workers, c.LR, c.Epochs = "mlp:128", 4, .4, 5
			c.Mode, c.AverageEvery = config.MustMode("sync"), 1
		}, .96, 0},
		{"mnist convnet async", "mnist", func(c *config.Config) {
			c.Model, c.Workers, c.Epochs, c.Scale = "convnet", 4, 6, "0.1307,0.3081"
			c.Optimizer, c.Momentum = "momentum", .5
		}, .974, 0},
		{"fashion softmax async", "fashion-mnist", func(c *config.Config) {
			c.Workers, c.LR, c.Epochs, c.Schedule = 4,
				.1, 3, "cosine"
		}, .82, 0},
		{"a9a logistic async", "a9a/a9a", func(c *config.Config) {
			c.Workers, c.Batch, c.LR, c.Schedule = 2, 1, .02,
				"cosine"
		}, .845, 0},
		{"imdb logistic async", "imdb/imdb_ltc_train.gz", func(c *config.Config) {
			c.Workers, c.Batch, c.LR, c.Epochs, c.Schedule = 2, 1, 1, 5, "cosine"
		}, .87, 0},
		{"housing linear", "housing/housing_scale", func(c *config.Config) {
			c.Workers, c.Batch, c.LR, c.Epochs, c.Model = 2, 8, .05, 200, "linear"
			c.Test, c.Schedule = reversed(t, c.Data), "cosine" // how well it fits the rows that it was trained on
		}, 0, .70},
		{"california linear", "california-housing/housing.csv", func(c *config.Config) {
			c.Workers, c.Batch, c.LR, c.Model = 2, 16, 1e-3, "linear"
			c.Target, c.Scale = "median_house_value", "standard"
		}, 0, .60},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := configtest.Dense()
			cfg.Data, cfg.Run, cfg.SaveEvery = check.Data(t, c.data), t.TempDir(), "0"
			c.set(&cfg)
			r, err := run.Run(context.Background(), cfg, run.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Examples == 0 || r.LostExamples != 0 {
				t.Errorf("%d examples, %d lost", r.Examples, r.LostExamples)
			}
			if c.accuracy > 0 && *r.TestAccuracy < c.accuracy {
				t.Errorf("accuracy %.4f, want %.4f", *r.TestAccuracy, c.accuracy)
			}
			if c.r2 > 0 && !(*r.TestR2 >= c.r2) {
				t.Errorf("R2 %.4f, want %.4f", *r.TestR2, c.r2)
			}
		})
	}
}

// TestPublishedAveraging repeats a published experiment in host memory: four workers,
// each with a quarter of MNIST, momentum SGD, weights averaged once an epoch. It
// reports 87, 92 and 93% after the first three epochs.
func TestPublishedAveraging(t *testing.T) {
	c := configtest.Dense()
	c.Data, c.Run, c.Model = check.Data(t, "mnist"), t.TempDir(), "mlp:128"
	c.Workers, c.Partition, c.Mode, c.Optimizer, c.LR, c.Epochs = 4, "contiguous", config.MustMode("sync"), "momentum",
		.05, 3
	r, err := run.Run(context.Background(), c, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{.87, .92, .93} {
		if got := *r.History[i].TestAccuracy; got < want {
			t.Errorf("epoch %d: accuracy %.4f, the published one is %.2f", i+1, got, want)
		}
	}
}

// TestExactOptimum trains logistic regression on a9a with l2 = 1e-4 and no bias. The
// least value of mean loss + l2/2 |w|^2 is known to 12 digits from a second-order
// method; the objective is computed here, from the saved weights and the file alone.
func TestExactOptimum(t *testing.T) {
	const optimum = 0.324506924714
	path := check.Data(t, "a9a/a9a")
	for _, mode := range []string{"async", "sync"} {
		c := configtest.Dense()
		c.Data, c.Run, c.Model, c.Bias, c.L2 = path, t.TempDir(), "logistic", false, 1e-4
		c.Workers, c.Batch, c.Mode = 2, 1, config.MustMode(mode)
		if mode == "sync" {
			c.AverageEvery = 16
		}
		c.Epochs, c.LR, c.Schedule, c.Decay, c.SaveEvery = 20, .05, "exp", .75, "0"
		if _, err := run.Run(context.Background(), c, run.Options{}); err != nil {
			t.Fatal(err)
		}
		_, tensors, err := rundir.ReadTensors(filepath.Join(c.Run, "weights.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := tensors[0].Floats()
		if err != nil {
			t.Fatal(err)
		}
		got := objective(t, path, w, c.L2)
		t.Logf("%s: objective %.6f, %.1e above the optimum", mode, got, got-optimum)
		if gap := got - optimum; !(gap >= -1e-9 && gap < 1e-3) {
			t.Errorf("%s: objective %.6f is %.1e from the optimum", mode, got, gap)
		}
	}
}

func objective(t *testing.T, path string, w []float32, l2 float64) float64 {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum, n := 0.0, 0.0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		y, z := number64(t, fields[0]), 0.0
		for _, field := range fields[1:] {
			i, v, _ := strings.Cut(field, ":")
			z += float64(w[int(number64(t, i))-1]) * number64(t, v)
		}
		sum += math.Log1p(math.Exp(-y * z))
	}
	norm := 0.0
	for _, v := range w {
		norm += float64(v) * float64(v)
	}
	return sum/n + l2/2*norm
}

func number64(t *testing.T, s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// reversed returns a copy of a file with its lines in reverse order: the training file itself is refused as a test set.
func reversed(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Reverse(lines)
	out := filepath.Join(t.TempDir(), "reversed")
	if err := os.WriteFile(out, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return out
}
