package shm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/internal/self"
)

// jobs are what this test binary does when it is started again: the other
// processes of a test. Each finds the segment in descriptor 3.
var jobs = map[string]func(s *Segment) error{
	"fill":  fill,
	"look":  look,
	"party": attend,
}

const jobVariable = "SHM_TEST_JOB"

func TestMain(m *testing.M) {
	name := os.Getenv(jobVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	s, err := Map(os.NewFile(3, "inherited"), name != "look")
	if err == nil {
		err = jobs[name](s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// again starts this binary for a job on a segment. What it writes to its standard
// error is kept.
func again(t *testing.T, job string, s *Segment, env ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	cmd := self.Command(t.Context())
	cmd.Env = append(append(os.Environ(), env...), jobVariable+"="+job,
		"GORACE=atexit_sleep_ms=0") // the race detector's processes linger for a second
	cmd.ExtraFiles = []*os.File{s.File()}
	said := &strings.Builder{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // of a test that failed
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd, said
}

// checkLeaks fails a test that leaves a memfd or a child behind. Call it first: its
// look comes after every other cleanup.
func checkLeaks(t *testing.T) {
	t.Cleanup(func() {
		fds, _ := filepath.Glob("/proc/self/fd/*")
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); strings.Contains(to, "memfd:") {
				t.Errorf("left open: %s, %s", fd, to)
			}
		}
		maps, _ := os.ReadFile("/proc/self/maps")
		for line := range strings.Lines(string(maps)) {
			if strings.Contains(line, "memfd:") {
				t.Errorf("left mapped: %s", line)
			}
		}
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
			t.Errorf("a child is left (%d, %v)", pid, err)
		}
	})
}

// create makes a segment that is closed with the test, if not before.
func create(t *testing.T, l *Layout) *Segment {
	t.Helper()
	s, err := l.Create(strings.ReplaceAll(t.Name(), "/", "-"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func view[T Element](t *testing.T, s *Segment, name string) []T {
	t.Helper()
	v, err := View[T](s, name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
