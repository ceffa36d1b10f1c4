package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/bench/page"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
	"hogwild/internal/fault"
	"hogwild/internal/human"
)

// TestInterrupt stops a run that would take hours by each of the signals that
// ask for it: it must save, report and say by its exit status which it was.
func TestInterrupt(t *testing.T) {
	for _, c := range []struct {
		signal  syscall.Signal
		status  int
		stopped string
	}{
		{syscall.SIGINT, 130, "interrupted"},
		{syscall.SIGTERM, 143, "terminated"},
		{syscall.SIGHUP, 129, "hung up"},
	} {
		t.Run(c.stopped, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "run")
			var stdout, stderr bytes.Buffer
			cmd := exec.Command("/proc/self/exe", "train", "--data", "digits:500", "--workers", "2",
				"--epochs", "1000000", "--save-every", "0", "--run", folder, "--json", "--quiet")
			cmd.Args[0] = "hogwild" // by which the test binary knows that it is the program
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			waitForLine(t, filepath.Join(folder, "metrics.jsonl"))
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != c.status {
				t.Fatalf("ended with %v, want exit status %d; stderr: %s", err, c.status, &stderr)
			}
			var report struct{ Stopped string }
			if err := json.Unmarshal(stdout.Bytes(), &report); err != nil || report.Stopped != c.stopped {
				t.Errorf("report %q (%v), want stopped to be %q", &stdout, err, c.stopped)
			}
			oneResult(t, stdout.Bytes(), folder)
		})
	}
}

// TestInterruptAtEnd: a signal that comes when the last epoch is done does not keep the run from its report. A second
// one ends it at once.
func TestInterruptAtEnd(t *testing.T) {
	for signals, c := range []struct {
		faults string // the sixth file is result.json
		status int
	}{{"", 0}, {"workers.halt:signal=SIGTERM,file.rename:delay=1s@6", 0},
		{"workers.halt:signal=SIGTERM,file.rename:delay=1m@6", -1}} {
		folder := filepath.Join(t.TempDir(), "run")
		var stdout bytes.Buffer
		stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		defer stderr.Close()
		said := func() string { text, _ := os.ReadFile(stderr.Name()); return string(text) }
		cmd := exec.Command("/proc/self/exe", "train", "--data", "digits:500", "--workers", "2", "--epochs", "2",
			"--save-every", "1", "--run", folder, "--json")
		cmd.Args[0] = "hogwild"
		cmd.Env = append(os.Environ(), fault.Variable+"="+c.faults)
		cmd.Stdout, cmd.Stderr = &stdout, stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill()
		const heeded = "another signal ends it at once"
		if c.status < 0 {
			for end := time.Now().Add(50 * time.Second); !strings.Contains(said(),
				heeded); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("the first signal is not heeded: %s", said())
				}
			}
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != c.status {
			t.Errorf("%d signals: exit status %d, want %d; stderr: %s", signals, got, c.status, said())
		}
		if c.status == 0 {
			oneResult(t, stdout.Bytes(), folder)
		} else if _, err := os.Stat(filepath.Join(folder, rundir.ResultFile)); !rundir.HasSnapshot(folder) ||
			err == nil {
			t.Errorf("%d signals: a snapshot %v, a result %v: want the first alone", signals,
				rundir.HasSnapshot(folder), err)
		}
		if strings.Contains(said(), heeded) != (signals > 0) {
			t.Errorf("%d signals: %s", signals, said())
		}
	}
}

// TestFirstChildSignalled: SIGTERM to the first child, as soon as it is there, ends the coordinator of no run,
// whichever child that is. (Go starts one itself, which has the coordinator's memory: see self.Probe.)
func TestFirstChildSignalled(t *testing.T) {
	for range 25 {
		var stderr bytes.Buffer
		cmd := exec.Command("/proc/self/exe", "train", "--data", "digits:200", "--workers", "1", "--epochs", "1",
			"--quiet", "--run", filepath.Join(t.TempDir(), "run"))
		cmd.Args[0], cmd.Stderr = "hogwild", &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var err error
		for hit, over := false, false; !over; {
			select {
			case err = <-ended:
				over = true
			default:
				lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", cmd.Process.Pid))
				for _, list := range lists {
					text, _ := os.ReadFile(list)
					if pids := strings.Fields(string(text)); !hit && len(pids) > 0 {
						pid, _ := strconv.Atoi(pids[0])
						hit = syscall.Kill(pid, syscall.SIGTERM) == nil
					}
				}
			}
		}
		if err != nil {
			t.Fatalf("%v: %s", err, &stderr)
		}
	}
}

// oneResult fails the test unless the report of a run, its result.json, its page and its weights have
// the same loss.
func oneResult(t *testing.T, report []byte, folder string) {
	t.Helper()
	kept, err := os.ReadFile(filepath.Join(folder, "result.json"))
	if err != nil || !bytes.Equal(kept, report) {
		t.Errorf("result.json (%v):\n%s\nthe report:\n%s", err, kept, report)
	}
	r, err := rundir.ReadRun(folder)
	if err != nil || r.Result == nil {
		t.Fatalf("no result is read: %v", err)
	}
	loss := human.Loss(r.Result.TestLoss)
	weights, err := saved.Eval(folder, "", "", "")
	if err != nil || human.Loss(weights.Loss) != loss {
		t.Errorf("the weights have loss %v (%v), the report %s", weights.Loss, err, loss)
	}
	var html bytes.Buffer
	if err := page.OfRuns([]*rundir.Recorded{r}).WriteHTML(&html); err != nil ||
		!strings.Contains(html.String(), loss) {
		t.Errorf("the page (%v) has no test loss of %s", err, loss)
	}
}

// waitForLine returns when the file has a line, and fails the test after a while.
func waitForLine(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		files, _ := filepath.Glob(path)
		for _, file := range files {
			if text, _ := os.ReadFile(file); bytes.Contains(text, []byte("\n")) {
				return
			}
		}
	}
	t.Fatalf("no line in %s after a minute", path)
}
