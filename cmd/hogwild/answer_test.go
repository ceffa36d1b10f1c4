package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/rundir"
)

// program returns a command that runs this test binary as hogwild.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = "hogwild" // by which the test binary knows that it is the program
	return cmd
}

// endless returns the command of a run that would take hours.
func endless(folder string, flags ...string) *exec.Cmd {
	return program(append([]string{"train", "--data", "digits:500", "--workers", "2", "--epochs", "1000000",
		"--save-every", "0", "--run", folder}, flags...)...)
}

// exitStatus waits for the end of a process.
func exitStatus(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || !cmd.ProcessState.Exited() {
		t.Fatalf("ended with %v, want an exit status", err)
	}
	return cmd.ProcessState.ExitCode()
}

// stoppedAs fails the test unless the run in a folder is saved and its result says why it stopped.
func stoppedAs(t *testing.T, folder, why string) {
	t.Helper()
	r, err := rundir.ReadRun(folder)
	if err != nil || r.Result == nil {
		t.Fatalf("no result is read: %v", err)
	}
	if r.Result.Stopped != why {
		t.Errorf("stopped %q, want %q", r.Result.Stopped, why)
	}
	if _, err := os.Stat(filepath.Join(folder, rundir.SnapshotFile)); err != nil {
		t.Error(err)
	}
}

// TestNohup: where SIGHUP is ignored when the program starts, as under nohup, it stays ignored.
func TestNohup(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command("sh", append([]string{"-c", `trap "" HUP; exec "$@"`, "sh", hogwildLink(t)},
		endless(folder, "--quiet").Args[1:]...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	metrics := filepath.Join(folder, rundir.MetricsName)
	waitForLine(t, metrics)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	growsOn(t, metrics)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := exitStatus(t, cmd); status != 143 {
		t.Errorf("exit status %d, want 143", status)
	}
	stoppedAs(t, folder, "terminated")
}

// hogwildLink returns a path of this test binary whose name makes it the program.
func hogwildLink(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	link := filepath.Join(t.TempDir(), "hogwild")
	if err == nil {
		err = os.Symlink(self, link)
	}
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// growsOn returns when two more lines are in the file.
func growsOn(t *testing.T, path string) {
	t.Helper()
	lines := func() int {
		text, _ := os.ReadFile(path)
		return bytes.Count(text, []byte("\n"))
	}
	for was, end := lines(), time.Now().Add(20*time.Second); lines() < was+2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no more lines in %s", path)
		}
	}
}

// TestReaderGone: no process reads stdout and stderr any more, as behind head. Every long command does its work, and
// its exit status tells how it ended.
func TestReaderGone(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	if err := os.WriteFile(in("sweep.yaml"), []byte(`base: {data: "digits:500", workers: 2, epochs: 1}`),
		0o666); err != nil {
		t.Fatal(err)
	}
	short := []string{"train", "--data", "digits:500", "--workers", "2", "--epochs", "3", "--run"}
	for _, c := range []struct {
		cmd    *exec.Cmd
		signal syscall.Signal
		status int
		makes  string
	}{
		{program(append(short, in("run"))...), 0, 0, "run/" + rundir.SnapshotFile},
		{program(append(short, in("tuned"), "--tune", "--dashboard", "127.0.0.1:0")...), 0, 0,
			"tuned/" + rundir.SnapshotFile},
		{program("train", "--data", "synth:linear:1000x3", "--lr", "1e6", "--lr-cap", "off", "--json", "--run",
			in("wild")), 0, 3, "wild/" + rundir.ResultFile},
		{endless(in("endless")), syscall.SIGINT, 130, "endless/" + rundir.SnapshotFile},
		{program("sweep", in("sweep.yaml"), "--out", in("sweep")), 0, 0, "sweep/results.json"},
		{program("data", "make", "linear:100x3", in("made.csv")), 0, 0, "made.test.csv"},
	} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c.cmd.Stdout, c.cmd.Stderr = write, write
		read.Close()
		err = c.cmd.Start()
		write.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer c.cmd.Process.Kill()
		if c.signal != 0 {
			metrics := in("endless/" + rundir.MetricsName)
			waitForLine(t, metrics)
			growsOn(t, metrics)
			if err := c.cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
		}
		if status := exitStatus(t, c.cmd); status != c.status {
			t.Errorf("%q: exit status %d, want %d", c.cmd.Args, status, c.status)
		}
		if _, err := os.Stat(in(c.makes)); err != nil {
			t.Errorf("%q: %v", c.cmd.Args, err)
		}
	}
	stoppedAs(t, in("endless"), "interrupted")
}

// TestTerminalGone: the terminal of a run is closed. The kernel sends SIGHUP to the whole foreground
// group, and everything that is written there fails with EIO.
func TestTerminalGone(t *testing.T) {
	for _, c := range []struct {
		name    string
		leads   bool // the terminal is the run's, so it gets SIGHUP
		status  int
		stopped string
	}{
		{"a session that hangs up", true, 129, "hung up"},
		{"another session's terminal", false, 143, "terminated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "run")
			cmd := endless(folder)
			master, terminal := pseudoTerminal(t)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
			cmd.Env = append(os.Environ(), "TERM=xterm")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: c.leads}
			err := cmd.Start()
			terminal.Close()
			if err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			metrics := filepath.Join(folder, rundir.MetricsName)
			go io.Copy(io.Discard, io.LimitReader(master, 1<<20))
			waitForLine(t, metrics)
			if err := master.Close(); err != nil {
				t.Fatal(err)
			}
			if !c.leads {
				growsOn(t, metrics)
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			if status := exitStatus(t, cmd); status != c.status {
				t.Errorf("exit status %d, want %d", status, c.status)
			}
			stoppedAs(t, folder, c.stopped)
			r, err := rundir.ReadRun(folder)
			if err != nil || r.Result.Restarts != 0 {
				t.Errorf("%d restarts (%v): workers heed the terminal", r.Result.Restarts, err)
			}
		})
	}
}

// pseudoTerminal opens a pseudo-terminal: what is written to the terminal is read from the master.
func pseudoTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	number := 0
	raw, err := master.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) {
			if number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); err == nil {
				err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
			}
		})
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { terminal.Close(); master.Close() })
	return master, terminal
}

// TestPredictReaderGone: predict behind head ends without a trace, whether SIGPIPE is ignored or not.
func TestPredictReaderGone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	if status := execute([]string{"train", "--data", "digits:500", "--workers", "1", "--epochs", "1", "--run", folder,
		"--quiet"}, io.Discard, io.Discard); status != 0 {
		t.Fatalf("training: status %d", status)
	}
	for _, trap := range []string{"", `trap "" PIPE;`} {
		cmd := exec.Command("sh", "-c", trap+` exec "$@"`, "sh", hogwildLink(t), "predict", folder, "--data",
			"digits", "--proba")
		var stderr bytes.Buffer
		stdout, err := cmd.StdoutPipe()
		cmd.Stderr = &stderr
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReaderSize(stdout, 16).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		stdout.Close()
		if status := exitStatus(t, cmd); status != 0 || stderr.Len() > 0 {
			t.Errorf("%q: exit status %d, stderr %q; want 0 and nothing", trap, status, &stderr)
		}
	}
}

// TestDataMakeInterrupted: what a signal cuts short is removed.
func TestDataMakeInterrupted(t *testing.T) {
	for signal, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		folder := t.TempDir()
		cmd := program("data", "make", "dense:60000x200", filepath.Join(folder, "big.csv"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill()
		var found []string
		for end := time.Now().Add(20 * time.Second); len(found) == 0 &&
			time.Now().Before(end); time.Sleep(time.Millisecond) {
			found, _ = filepath.Glob(filepath.Join(folder, "*"))
		}
		if len(found) != 1 || strings.HasSuffix(found[0], ".csv") {
			t.Fatalf("found %q, want a file in the making", found)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		got := 0
		if err := cmd.Wait(); err == nil {
			t.Fatal("it is done")
		} else if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
			got = 128 + int(s.Signal())
		} else {
			got = s.ExitStatus()
		}
		if got != status {
			t.Errorf("%v: ended with %d, want %d", signal, got, status)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) > 0 {
			t.Errorf("%v: left behind: %q", signal, left)
		}
	}
}
