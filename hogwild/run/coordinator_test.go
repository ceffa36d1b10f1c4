package run_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
)

// TestKilledCoordinator kills one after the other at random moments. All that is
// left each time is the run folder, and the last one brings the run to its end.
func TestKilledCoordinator(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			before := runtest.Belongings(t)
			c := configtest.Quick(t)
			c.Model, c.Workers, c.Mode, c.Epochs, c.SaveEvery = "slower", 4, config.MustMode(mode), 14, "50ms"
			for range 5 {
				p := runtest.StartCoordinator(t, c)
				runtest.Await(t, "a first snapshot", func() bool {
					_, err := os.Stat(filepath.Join(c.Run, rundir.SnapshotFile))
					return err == nil
				})
				time.Sleep(runtest.Within(100 * time.Millisecond))
				p.Signal(syscall.SIGKILL)
				if err := p.Wait(); p.Cmd.ProcessState.Exited() {
					t.Fatalf("the run is over too soon: %v, %s", err, &p.Stderr)
				}
				c = runtest.Resumed(c)
			}
			p := runtest.StartCoordinator(t, c)
			if err := p.Wait(); err != nil {
				t.Fatalf("%v: %s", err, &p.Stderr)
			}
			got := p.Result()
			if want := int64(c.Epochs * 2000); got.Examples != want || got.LostExamples != 0 {
				t.Errorf("%d examples, %d lost, want %d", got.Examples, got.LostExamples, want)
			}
			runtest.AsGood(t, got, runtest.Undisturbed(t, c))
			runtest.Left(t, before)
			runtest.NoHalves(t, c.Run)
		})
	}
}

// TestSignals: one signal saves and says so.
func TestSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]string{
		syscall.SIGINT: "interrupted", syscall.SIGTERM: "terminated",
	} {
		t.Run(want, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Model, c.Workers, c.Epochs = "slower", 3, 10
			p := runtest.StartCoordinator(t, c)
			time.Sleep(runtest.Within(100 * time.Millisecond))
			p.Signal(signal)
			if err := p.Wait(); p.Cmd.ProcessState.ExitCode() != 1 {
				t.Fatalf("it ended with %v", err)
			}
			got := p.Result()
			if got.Stopped != want || !strings.Contains(p.Stderr.String(), want) || got.Run != c.Run {
				t.Errorf("stopped %q, saved in %q, stderr %q", got.Stopped, got.Run, &p.Stderr)
			}
			end := runtest.Train(t, runtest.Resumed(c))
			if end.Examples != 10*2000 || got.Examples >= end.Examples {
				t.Errorf("%d examples, then %d", got.Examples, end.Examples)
			}
			runtest.NoHalves(t, c.Run)
		})
	}
}

// TestSecondInterrupt: a worker that does not answer keeps the first from coming to
// an end; the second ends all at once.
func TestSecondInterrupt(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Workers, c.Epochs = "slower", 2, 1000
	p := runtest.StartCoordinator(t, c)
	if err := syscall.Kill(p.Workers[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGINT)
	runtest.Await(t, "the stop of the run", func() bool { return p.Block.Stopped() })
	p.Signal(syscall.SIGINT)
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v, want by the signal", err)
	}
}
