package run_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/data"
	"hogwild/hogwild/run/runtest"
	"hogwild/internal/check"
)

// onCache converts the data of c, and returns c on the cache.
func onCache(t *testing.T, c config.Config) config.Config {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "set.hog")
	o := data.Options{Path: c.Data, Seed: c.Seed, Validation: c.Validation, Scale: c.Scale}
	if _, err := data.Convert(t.Context(), o, path, func(*data.Meta) error { return nil },
		func(string, int, int) {}); err != nil {
		t.Fatal(err)
	}
	c.Data, c.Run = path, t.TempDir()
	return c
}

// TestCacheTrainsAlike: one worker, and workers in step, leave the same bits with a cache as with its source,
// and a run on the one resumes on the other.
func TestCacheTrainsAlike(t *testing.T) {
	for name, edit := range map[string]func(c *config.Config){
		"bytes":      func(c *config.Config) { c.Validation = "0.1" },
		"sync":       func(c *config.Config) { c.Mode, c.Workers, c.AverageEvery = config.MustMode("sync"), 3, 5 },
		"contiguous": func(c *config.Config) { c.Partition, c.Scale, c.Batch = "contiguous", "standard", 7 },
		"floats":     func(c *config.Config) { c.Data, c.Model = "synth:linear:2000x30", "linear" },
		"sparse":     func(c *config.Config) { c.Data, c.Model, c.Batch = "synth:sparse:2000x300x10", "logistic", 1 },
		"matrix": func(c *config.Config) {
			c.Data, c.Model, c.Batch, c.LR = "synth:lowrank:30x40x3000x3", "factor:3", 1, 0.02
		},
		"graph": func(c *config.Config) { c.Data, c.Model, c.Batch = "synth:dblife:0.002", "cut:10", 1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := configtest.Quick(t)
			edit(&c)
			from := onCache(t, c)
			want, got := runtest.Train(t, c), runtest.Train(t, from)
			if want.TestLoss != got.TestLoss ||
				!cmp.Equal(runtest.WeightsOf(t, c.Run), runtest.WeightsOf(t, from.Run)) {
				t.Errorf("test loss %v of a cache, %v of its source", got.TestLoss, want.TestLoss)
			}
			c.Epochs, from.Epochs = c.Epochs+1, c.Epochs+1
			c.Resume, from.Resume = from.Run, c.Run
			c.Run, from.Run = t.TempDir(), t.TempDir()
			again := runtest.Train(t, c)
			if on := runtest.Train(t, from); on.TestLoss != again.TestLoss {
				t.Errorf("resumed: test loss %v and %v", on.TestLoss, again.TestLoss)
			}
		})
	}
}

// TestDataChangeUnderRun: if a cache becomes shorter, or is written to, while a run reads it, the run ends
// with a line that says so, whichever process comes upon it first, and what was saved stays.
func TestDataChangeUnderRun(t *testing.T) {
	for name, change := range map[string]func(f *os.File) error{
		"shorter": func(f *os.File) error { return f.Truncate(100_000) },
		"empty":   func(f *os.File) error { return f.Truncate(0) },
		"written": func(f *os.File) error { _, err := f.WriteAt([]byte{1}, 100_000); return err },
	} {
		for _, workers := range []int{1, 2} {
			t.Run(fmt.Sprint(name, " ", workers), func(t *testing.T) {
				c := configtest.Quick(t)
				c.Workers, c.Epochs, c.SaveEvery = workers, 1_000_000, "1"
				c = onCache(t, c)
				if err := os.Chmod(c.Data, 0o600); err != nil {
					t.Fatal(err)
				}
				r := runtest.Start(t, c)
				runtest.Await(t, "a snapshot",
					func() bool { _, err := os.Stat(filepath.Join(c.Run, "snapshot.safetensors")); return err == nil })
				time.Sleep(runtest.Within(20 * time.Millisecond))
				f, err := os.OpenFile(c.Data, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if err := change(f); err != nil {
					t.Fatal(err)
				}
				<-r.Done
				check.Error(t, r.Err, "can no longer be read", "set.hog changed during the run",
					"convert the data again")
				if !errors.Is(r.Err, data.ErrUnreadable) || strings.Count(r.Err.Error(), "\n") > 1 {
					t.Errorf("%v", r.Err)
				}
				runtest.WeightsOf(t, c.Run)
			})
		}
	}
}

// TestCacheTakesNoMemory: of a set in a file a worker has pages that the kernel can take back; none of it is
// memory of its own, nor shared memory.
func TestCacheTakesNoMemory(t *testing.T) {
	const most = 48 << 10 // KiB, of a set of 96 MB
	c := configtest.Quick(t)
	c.Data, c.Model, c.Epochs, c.Workers = "synth:dense:30000x800", "logistic", 1_000_000, 2
	c = onCache(t, c)
	p := runtest.StartCoordinator(t, c)
	runtest.Await(t, "an epoch", func() bool {
		text, _ := os.ReadFile(filepath.Join(c.Run, "metrics.jsonl"))
		return strings.Contains(string(text), `"kind":"epoch"`)
	})
	for _, pid := range append(p.Workers, p.Cmd.Process.Pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		own := 0
		for _, m := range regexp.MustCompile(`(?m)^(?:RssAnon|RssShmem):\s+(\d+) kB`).FindAllSubmatch(text, -1) {
			n, _ := strconv.Atoi(string(m[1]))
			own += n
		}
		if own == 0 {
			t.Skip("the kernel does not tell")
		}
		if own > most {
			t.Errorf("process %d has %d KiB that are no file's\n%s", pid, own, text)
		}
	}
}
