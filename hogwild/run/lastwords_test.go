package run_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// crashing is the softmax model with a mistake in it, from the second epoch on.
type crashing struct{ model.Model }

func (c crashing) Grad(w []float32, b *data.Batch, g *model.Gradient) float64 {
	if b.Epoch > 0 {
		fmt.Fprintln(os.Stderr, "a custom model prints")
		_ = w[:len(b.Y)][len(b.Y)+int(b.ID[0])] // the index differs from step to step
	}
	return c.Model.Grad(w, b, g)
}

func init() {
	model.Register("crashing", func(m data.Meta) (model.Model, error) {
		softmax, err := model.New(model.Options{Name: "softmax", Bias: true}, m)
		return crashing{softmax}, err
	})
}

// TestSameFaultEverywhere: a mistake in a model ends the run when each worker has met it, and what was
// trained before is there. The error is one line, and names the file with the rest.
func TestSameFaultEverywhere(t *testing.T) {
	for _, workers := range []int{1, 3} {
		c := configtest.Quick(t)
		c.Model, c.Workers, c.MaxRestarts, c.Epochs = "crashing", workers, 50, 3
		got, err := runtest.Try(t, c)
		if err == nil {
			t.Fatal("no error")
		}
		for _, part := range []string{"every worker fails at the same place, lastwords_test.go:",
			"panic: runtime error: index out of range [", "saved in " + c.Run} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
		if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "a custom model prints") {
			t.Errorf("not one line of what matters: %q", err)
		}
		if most := max(2*workers, 2); got.Restarts >= most || got.Epochs != 1 {
			t.Errorf("%d workers: %d restarts, %d epochs", workers, got.Restarts, got.Epochs)
		}
		logs, _ := filepath.Glob(filepath.Join(c.Run, "worker-*.log"))
		if len(logs) != workers ||
			!slices.ContainsFunc(logs, func(path string) bool { return strings.Contains(err.Error(), path) }) {
			t.Errorf("files %v, error %q", logs, err)
		}
		for _, path := range logs {
			if text, _ := os.ReadFile(path); !strings.Contains(string(text), "goroutine ") ||
				!strings.Contains(string(text), "crashing.Grad") {
				t.Errorf("%s holds %q", path, text)
			}
		}
		if _, err := rundir.ReadSnapshot(c.Run); err != nil {
			t.Error(err)
		}
	}
}

// TestDeathAtStart: a worker that a fault ends while it starts is started again.
func TestDeathAtStart(t *testing.T) {
	c := configtest.Quick(t)
	t.Setenv(runtest.StartVariable, "fault "+filepath.Join(t.TempDir(), "sign"))
	got := runtest.Train(t, c)
	if got.Restarts != 1 || got.LostExamples != 0 || len(got.Events) != 1 ||
		!strings.Contains(got.Events[0], "SIGSEGV: segmentation violation, unexpected fault address") {
		t.Errorf("%d restarts, %d lost, events %q", got.Restarts, got.LostExamples, got.Events)
	}
}

// TestAlwaysDiesAtStart: within the limit; then the last words are the error's.
func TestAlwaysDiesAtStart(t *testing.T) {
	for signal, says := range map[string]string{"SIGSEGV": "SIGSEGV: segmentation violation",
		"SIGILL": "SIGILL: illegal instruction", "SIGKILL": "was killed by SIGKILL"} {
		c := configtest.Quick(t)
		c.Workers, c.MaxRestarts = 2, 1
		t.Setenv(runtest.StartVariable, signal)
		got, err := runtest.Try(t, c)
		if err == nil || !strings.Contains(err.Error(), says) ||
			!strings.HasSuffix(err.Error(), "no worker is left; this one has died in each of its 2 starts") ||
			len(err.Error()) > 300 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
		if got.Restarts != 2 {
			t.Errorf("%d restarts, want 1 of each worker", got.Restarts)
		}
	}
}

// TestIllegalInstruction: who reads that a worker died of one is told what checks the loops in assembly.
func TestIllegalInstruction(t *testing.T) {
	c := configtest.Quick(t)
	c.Workers, c.Model, c.MaxRestarts = 1, "crashing", 1
	t.Setenv(runtest.StartVariable, "SIGILL")
	_, err := run.Run(t.Context(), c, run.Options{})
	check.Error(t, err, "SIGILL", "hogwild doctor checks the loops in assembly")
}

// TestSignalWhileStarting: signals from outside meet workers at any moment of their start. Each time one line
// names the signal, and the worker is started again.
func TestSignalWhileStarting(t *testing.T) {
	const most = 6
	c := configtest.Quick(t)
	c.Workers, c.Mode, c.MaxRestarts, c.Epochs = 2, config.MustMode("sync"), 2*most, 1_000_000
	r := runtest.Start(t, c)
	hit := map[int]bool{}
	runtest.Await(t, "signals", func() bool {
		for _, pid := range runtest.Children(os.Getpid()) {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if _, rank, is := strings.Cut(string(text), "\x00worker\x00"); hit[pid] || !is || rank == "" {
				continue
			}
			time.Sleep(runtest.Within(4 * time.Millisecond))
			if syscall.Kill(pid, []syscall.Signal{syscall.SIGSEGV, syscall.SIGILL, syscall.SIGBUS}[len(hit)%3]) == nil {
				hit[pid] = true
			}
		}
		return len(hit) >= most || runtest.Ended(r.Done)
	})
	r.Reach(r.Block.Get(control.WordEpoch)+5, 1)
	r.Stop()
	got, err := r.Wait()
	if !errors.Is(err, config.ErrInterrupted) || got.Restarts != len(hit) || got.LostExamples != 0 {
		t.Errorf("%d restarts after %d signals, %d lost: %v", got.Restarts, len(hit), got.LostExamples, err)
	}
	for _, e := range got.Events {
		if !regexp.MustCompile(`SIG(SEGV|ILL|BUS)[ :].*: restarted, `).MatchString(e) || len(e) > 300 ||
			strings.Contains(e, "\n") {
			t.Errorf("event %q", e)
		}
	}
}
