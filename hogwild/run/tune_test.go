package run

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/internal/check"
)

// TestTune: the learning rate that tuning finds does not diverge, and trains further
// in as many epochs than the default.
func TestTune(t *testing.T) {
	inFull(t)
	for _, c := range []struct {
		name, data string
		edit       func(*config.Config)
	}{
		{"digits", "digits:3000", func(c *config.Config) {}},
		{"digits mlp momentum", "digits:3000", func(c *config.Config) { c.Model, c.Optimizer = "mlp:16", "momentum" }},
		{"digits from above", "digits:3000", func(c *config.Config) { c.LR, c.LRCap = 100, "off" }},
		{"digits sync", "digits:3000", func(c *config.Config) { c.Mode = config.MustMode("sync") }},
		// Of two workers' short runs with adam chance decides between rates that are alike.
		{"digits adam", "digits:3000", func(c *config.Config) { c.Optimizer, c.Workers = "adam", 1 }},
		{"mnist", "mnist", func(c *config.Config) {}},
		{"a9a", "a9a/a9a", func(c *config.Config) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			var text bytes.Buffer
			settings := configtest.Dense()
			settings.Data, settings.Workers, settings.Epochs = c.data, 2, 3
			if c.edit(&settings); !strings.HasPrefix(c.data, "digits") {
				settings.Data = check.Data(t, c.data)
			}
			before := belongings(t)
			tuned, trials, err := Tune(t.Context(), settings, Options{Progress: &text})
			left(t, before)
			if err != nil {
				t.Fatal(err)
			}
			for _, tr := range trials {
				if tr.LR == tuned.LR && tr.Momentum == tuned.Momentum && math.IsInf(tr.Loss, 1) {
					t.Errorf("%+v diverged, and was chosen", tr)
				}
			}
			if n := strings.Count(text.String(), "  lr "); n != len(trials) || !strings.Contains(text.String(), "tuned: lr ") {
				t.Errorf("%d trials, but the text has %d:\n%s", len(trials), n, text.String())
			}
			if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) != 0 {
				t.Errorf("files are left behind: %v (%v)", files, err)
			}
			plain, err := try(t, withRun(settings, t.TempDir()))
			if errors.Is(err, config.ErrDiverged) {
				plain.TrainLoss = math.Inf(1)
			} else if err != nil {
				t.Fatal(err)
			}
			best := train(t, withRun(tuned, t.TempDir()))
			t.Logf("lr %g momentum %g: loss %.4f; untuned %.4f", tuned.LR, tuned.Momentum, best.TrainLoss, plain.TrainLoss)
			if !(best.TrainLoss < plain.TrainLoss) || best.LRUsed != tuned.LR {
				t.Errorf("learning rate %g (used %g): loss %g, it was %g untuned", tuned.LR, best.LRUsed, best.TrainLoss, plain.TrainLoss)
			}
		})
	}
}

// TestTuneStops: interrupted, it ends as a run does, and leaves nothing behind.
func TestTuneStops(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	before := belongings(t)
	c := quick(t)
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, _, err := Tune(ctx, c, Options{}); !errors.Is(err, config.ErrInterrupted) {
		t.Errorf("error %v, want ErrInterrupted", err)
	}
	left(t, before)
	if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) != 0 {
		t.Errorf("files are left behind: %v (%v)", files, err)
	}
	c.Resume = c.Run
	if _, _, err := Tune(t.Context(), c, Options{}); !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), "leave one of them out") {
		t.Errorf("tuning a run that is resumed: %v", err)
	}
}
