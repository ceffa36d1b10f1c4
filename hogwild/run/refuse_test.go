package run_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// TestResumeRefuses what would make another run of the one that was cut.
func TestResumeRefuses(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Workers, c.Optimizer = "slower", 3, "momentum"
	runtest.Cut(t, c, 1, 400)
	for _, d := range []struct {
		what string
		edit func(*config.Config)
	}{
		{"model", func(c *config.Config) { c.Model = "softmax" }},
		{"data", func(c *config.Config) { c.Data = "digits:2100" }},
		{"seed", func(c *config.Config) { c.Seed++ }},
		{"scale", func(c *config.Config) { c.Scale = "none" }},
		{"rows", func(c *config.Config) { c.Limit = 1000 }},
		{"mode", func(c *config.Config) { c.Mode = config.MustMode("sync") }},
		{"batch", func(c *config.Config) { c.Batch = 32 }},
		{"partition", func(c *config.Config) { c.Partition = "contiguous" }},
		{"workers", func(c *config.Config) { c.Workers = 2 }}, // each has its momentum
		{"optimizer", func(c *config.Config) { c.Optimizer = "adagrad" }},
		{"optimizer", func(c *config.Config) { c.Optimizer = "adam" }},
	} {
		other := runtest.Resumed(c)
		d.edit(&other)
		runtest.Refused(t, other, c.Run, d.what)
	}
	runtest.Refused(t, c, c.Run, "holds a run already")
	empty := t.TempDir()
	runtest.Refused(t, runtest.Resumed(runtest.WithRun(c, empty)), empty, rundir.SnapshotFile)
	if got := runtest.Train(t, runtest.Resumed(c)); got.Examples != 3*2000 {
		t.Errorf("%d examples in the end, want %d", got.Examples, 3*2000)
	}
}

// TestResumeRefusesADamagedSnapshot: any byte may be the one that changed.
func TestResumeRefusesADamagedSnapshot(t *testing.T) {
	c := configtest.Quick(t)
	c.Epochs, c.Data = 1, "digits:500"
	runtest.Train(t, c)
	path := filepath.Join(c.Run, rundir.SnapshotFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c.Epochs = 2
	for _, at := range []int{0, 9, 100, len(whole) / 2, len(whole) - 1} {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 0x10
		if err := os.WriteFile(path, damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		runtest.Refused(t, runtest.Resumed(c), c.Run, path)
	}
	if err := os.WriteFile(path, whole[:len(whole)-1], 0o666); err != nil {
		t.Fatal(err)
	}
	runtest.Refused(t, runtest.Resumed(c), c.Run, path)
	if err := os.WriteFile(path, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	runtest.Train(t, runtest.Resumed(c))
}

// TestTooLarge: a model that memory has no room for is refused in a line that says how much it needs and what to do,
// before there is memory for it or a run folder, and however many weights its name asks for.
func TestTooLarge(t *testing.T) {
	wide := "mlp:1048576" + strings.Repeat(",1048576", 1<<10)
	const cure = ": choose a smaller model or fewer --workers, or raise it with --max-memory"
	for name, m := range map[string]struct {
		edit func(*config.Config)
		says []string
	}{
		"beside the data": {func(c *config.Config) { c.MaxMemory, c.Model = "7MiB", "mlp:1000" },
			[]string{"model mlp:1000: 795,010 weights: needs 6.07 MiB beside the ", cure}},
		"optimizers": {func(c *config.Config) {
			c.MaxMemory, c.Model, c.Optimizer, c.Workers = "8MiB", "mlp:1000", "adam", 3
		}, []string{"needs 42.5 MiB", "the limit is 8.00 MiB (--max-memory)", cure}},
		"layers": {func(c *config.Config) { c.Model = "mlp:1048576,1048576" },
			[]string{"1,100,346,294,282 weights: needs 8.01 TiB", "three quarters of the free memory", cure}},
		"overflow": {func(c *config.Config) { c.Model, c.Workers, c.Optimizer = wide, 1000, "adam" },
			[]string{"1,125,901,814,202,378 weights: needs 4096 PiB", cure}},
		"images": {func(c *config.Config) { c.Model = "conv:1000@5,100000@5,1048576" },
			[]string{"41,945,551,660,346 weights: needs 305 TiB", cure}},
		"any limit": {func(c *config.Config) { c.Model, c.MaxMemory = "mlp:1048576,1048576", "100TiB" },
			[]string{"1100346294282 weights", "choose a smaller model"}},
		"a width": {func(c *config.Config) { c.Model = "mlp:1000000000" },
			[]string{`width "1000000000" is not a number from 1 to 1048576`}},
		"a rank": {func(c *config.Config) { c.Model = "factor:1000000000" },
			[]string{"the rank must be a number from 1 to 4096"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := configtest.Quick(t)
			m.edit(&c)
			check.Bounded(t, 64<<20, func() {
				_, err := runtest.Try(t, c)
				check.Error(t, err, m.says...)
				if !errors.Is(err, config.ErrUsage) || strings.Contains(err.Error(), "\n") ||
					len(runtest.State(t, c.Run)) > 0 {
					t.Errorf("%v: no usage error of a line, or the run folder was touched", err)
				}
			})
		})
	}
}
