package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startDashboard starts a run that serves a dashboard. It returns the URL, which is the first line on
// standard error, and what follows there.
func startDashboard(t *testing.T, cmd *exec.Cmd) (url string, said *bufio.Reader) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	said = bufio.NewReader(stderr)
	line, err := said.ReadString('\n')
	m := regexp.MustCompile(`^dashboard (http://127\.0\.0\.1:\d+/)\n$`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("the first line is %q (%v), want the URL of the dashboard", line, err)
	}
	return m[1], said
}

// TestDashboard watches a run that would take hours, and stops it: its URL comes before
// anything else, with --quiet too, and the last event says that it has ended.
func TestDashboard(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "train", "--data", "digits:500", "--workers", "2", "--epochs", "1000000",
		"--save-every", "0", "--run", filepath.Join(t.TempDir(), "run"), "--json", "--quiet",
		"--dashboard", "127.0.0.1:0")
	cmd.Args[0] = "hogwild" // by which the test binary knows that it is the program
	url, said := startDashboard(t, cmd)
	answer, err := http.Get(url + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	events := bufio.NewReader(answer.Body)
	if first, err := events.ReadString('\n'); !strings.HasPrefix(first, "id: ") {
		t.Errorf("events begin with %q (%v)", first, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(events)
	if n := strings.Count(string(rest), "\nevent: ended\n"); n != 1 || err != nil {
		t.Errorf("%d events say that the run has ended (%v), want one", n, err)
	}
	others, _ := io.ReadAll(said)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("ended with %v, want exit status 130; stderr: %s", err, others)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("the dashboard is there after the run")
	}
}

// TestDashboardPortInUse: who cannot be watched is not trained.
func TestDashboardPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	folder := filepath.Join(t.TempDir(), "run")
	var stdout, stderr bytes.Buffer
	status := execute([]string{"train", "--data", "digits:500", "--run", folder, "--dashboard", l.Addr().String()},
		&stdout, &stderr)
	if text := stderr.String(); status != 2 || stdout.Len() > 0 || strings.Count(text, "\n") != 1 ||
		!strings.Contains(text, "the port is in use") {
		t.Errorf("status %d, stdout %q, stderr %q; want 2 and one line that says that the port is in use",
			status, &stdout, text)
	}
	if found, _ := filepath.Glob(folder); found != nil {
		t.Error("a run folder was made")
	}
}

// TestDashboardLeavesRoomToSave: however many open the dashboard and read nothing of it, the run has the
// file descriptors that it needs to save.
func TestDashboardLeavesRoomToSave(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command("sh", "-c", `ulimit -n 200; exec "$@"`, "sh", hogwildLink(t), "train", "--data", "digits:500",
		"--workers", "2", "--epochs", "1000000",
		"--save-every", "10ms", "--run", folder, "--json", "--quiet", "--dashboard", "127.0.0.1:0")
	url, said := startDashboard(t, cmd)
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	for range 400 {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_, err = io.WriteString(c, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	saves(t, filepath.Join(folder, "snapshot.safetensors"))
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(said)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || string(rest) != "hogwild: interrupted\n" {
		t.Errorf("ended with %v, want exit status 130; stderr: %s", err, rest)
	}
}

// saves returns when a file has been replaced three times.
func saves(t *testing.T, path string) {
	t.Helper()
	var was os.FileInfo
	for n, end := 0, time.Now().Add(20*time.Second); n < 4; time.Sleep(5 * time.Millisecond) {
		now, err := os.Stat(path)
		if err == nil && (was == nil || !os.SameFile(was, now)) {
			was = now
			n++
		}
		if time.Now().After(end) {
			t.Fatalf("%s is not saved any more", path)
		}
	}
}
