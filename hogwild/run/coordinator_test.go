package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/self"
	"hogwild/shm"
)

// coordination is a coordinator in a process of its own, which can be killed.
type coordination struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdout  bytes.Buffer
	stderr  said
	block   *control.Block
	workers []int // their processes
}

// command is a coordinator to be started.
func command(t *testing.T, c config.Config) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := self.Command(context.Background())
	cmd.Env = append(os.Environ(), configVariable+"="+string(text))
	return cmd
}

// startCoordinator starts one and returns when all its workers train. It is nil
// when the run was over before.
func startCoordinator(t *testing.T, c config.Config) *coordination {
	t.Helper()
	p := &coordination{t: t, cmd: command(t, c)}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // if the test failed
	processes := c.Workers
	if c.Program != "" {
		processes++ // the one that evaluates
	}
	await(t, "the workers of a coordinator", func() bool {
		p.workers = children(p.cmd.Process.Pid)
		if p.block == nil {
			p.block = blockOf(p.cmd.Process.Pid, nil)
		}
		return p.block != nil && len(p.workers) == processes
	})
	return p
}

func (p *coordination) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits for the end, and fails the test if a worker outlives its coordinator.
func (p *coordination) wait() error {
	p.t.Helper()
	err := p.cmd.Wait()
	p.gone()
	return err
}

// gone waits until no worker is there any more: whoever ends the coordinator ends
// them too.
func (p *coordination) gone() {
	p.t.Helper()
	for _, pid := range p.workers {
		await(p.t, "the end of a worker without coordinator", func() bool { return !shm.Alive(pid) })
	}
	if err := p.block.Seg.Close(); err != nil {
		p.t.Error(err)
	}
}

// result is what it printed at its end.
func (p *coordination) result() (r rundir.Result) {
	p.t.Helper()
	if err := json.Unmarshal(p.stdout.Bytes(), &r); err != nil {
		p.t.Fatalf("%v in %q; stderr: %s", err, &p.stdout, &p.stderr)
	}
	return r
}

// TestKilledCoordinator kills one after the other at random moments. All that is
// left each time is the run folder, and the last one brings the run to its end.
func TestKilledCoordinator(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			before := belongings(t)
			c := quick(t)
			c.Model, c.Workers, c.Mode, c.Epochs, c.SaveEvery = "slower", 4, config.MustMode(mode), 14, "50ms"
			for range 5 {
				p := startCoordinator(t, c)
				await(t, "a first snapshot", func() bool {
					_, err := os.Stat(filepath.Join(c.Run, rundir.SnapshotFile))
					return err == nil
				})
				time.Sleep(within(100 * time.Millisecond))
				p.signal(syscall.SIGKILL)
				if err := p.wait(); p.cmd.ProcessState.Exited() {
					t.Fatalf("the run is over too soon: %v, %s", err, &p.stderr)
				}
				c = resumed(c)
			}
			p := startCoordinator(t, c)
			if err := p.wait(); err != nil {
				t.Fatalf("%v: %s", err, &p.stderr)
			}
			got := p.result()
			if want := int64(c.Epochs * 2000); got.Examples != want || got.LostExamples != 0 {
				t.Errorf("%d examples, %d lost, want %d", got.Examples, got.LostExamples, want)
			}
			asGood(t, got, undisturbed(t, c))
			left(t, before)
			noHalves(t, c.Run)
		})
	}
}

// noHalves fails the test if a file of the run was left half written.
func noHalves(t *testing.T, dir string) {
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
	weightsOf(t, dir)
}

// TestSignals: one signal saves and says so.
func TestSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]string{
		syscall.SIGINT: "interrupted", syscall.SIGTERM: "terminated",
	} {
		t.Run(want, func(t *testing.T) {
			c := quick(t)
			c.Model, c.Workers, c.Epochs = "slower", 3, 10
			p := startCoordinator(t, c)
			time.Sleep(within(100 * time.Millisecond))
			p.signal(signal)
			if err := p.wait(); p.cmd.ProcessState.ExitCode() != 1 {
				t.Fatalf("it ended with %v", err)
			}
			got := p.result()
			if got.Stopped != want || !strings.Contains(p.stderr.String(), want) || got.Run != c.Run {
				t.Errorf("stopped %q, saved in %q, stderr %q", got.Stopped, got.Run, &p.stderr)
			}
			end := train(t, resumed(c))
			if end.Examples != 10*2000 || got.Examples >= end.Examples {
				t.Errorf("%d examples, then %d", got.Examples, end.Examples)
			}
			noHalves(t, c.Run)
		})
	}
}

// TestSecondInterrupt: a worker that does not answer keeps the first from coming to
// an end; the second ends all at once.
func TestSecondInterrupt(t *testing.T) {
	c := quick(t)
	c.Model, c.Workers, c.Epochs = "slower", 2, 1000
	p := startCoordinator(t, c)
	if err := syscall.Kill(p.workers[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGINT)
	await(t, "the stop of the run", func() bool { return p.block.Stopped() })
	p.signal(syscall.SIGINT)
	var exit *exec.ExitError
	if err := p.wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v, want by the signal", err)
	}
}
