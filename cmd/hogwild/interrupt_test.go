package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestInterrupt stops a run that would take hours by each of the two signals that
// ask for it: it must save, report and say by its exit status which it was.
func TestInterrupt(t *testing.T) {
	for _, c := range []struct {
		signal  syscall.Signal
		status  int
		stopped string
	}{
		{syscall.SIGINT, 130, "interrupted"},
		{syscall.SIGTERM, 143, "terminated"},
	} {
		t.Run(c.stopped, func(t *testing.T) {
			run := filepath.Join(t.TempDir(), "run")
			var stdout, stderr bytes.Buffer
			cmd := exec.Command("/proc/self/exe", "train", "--data", "digits:500", "--workers", "2",
				"--epochs", "1000000", "--save-every", "0", "--run", run, "--json", "--quiet")
			cmd.Args[0] = "hogwild" // by which the test binary knows that it is the program
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			waitForLine(t, filepath.Join(run, "metrics.jsonl"))
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
			if _, err := os.Stat(filepath.Join(run, "weights.safetensors")); err != nil {
				t.Errorf("weights are not saved: %v", err)
			}
		})
	}
}

// waitForLine returns when the file has a line, and fails the test after a while.
func waitForLine(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text, _ := os.ReadFile(path); bytes.Contains(text, []byte("\n")) {
			return
		}
	}
	t.Fatalf("no line in %s after 20 s", path)
}
