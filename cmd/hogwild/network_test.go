package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// family is what kind of socket a process asks for. Those that /proc and unix sockets need are no network.
var family = regexp.MustCompile(`socket\((AF_\w+)`)

// TestNoNetwork: under strace, no process of a run, nor of the commands that read one, opens a socket of a network.
// The control socket and the dashboard, which do open sockets, show that the test sees them.
func TestNoNetwork(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("strace is missing (Debian: strace)")
	}
	folder := t.TempDir()
	program, err := os.Executable()
	if err == nil { // the test binary knows by its name that it is the program
		err = os.Symlink(program, filepath.Join(folder, "hogwild"))
	}
	if err != nil {
		t.Fatal(err)
	}
	sockets := func(line string) map[string]int {
		log := filepath.Join(folder, "log")
		cmd := exec.Command(strace, append([]string{"-f", "-qq", "-o", log, "-e", "trace=socket",
			filepath.Join(folder, "hogwild")}, strings.Fields(line)...)...)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			if strings.Contains(string(out), "ptrace") && os.Getenv("CI") != "true" {
				t.Skipf("strace cannot trace here: %s", out)
			}
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		for _, found := range family.FindAllStringSubmatch(string(text), -1) {
			n[found[1]]++
		}
		return n
	}
	const train = "train --data digits:500 --workers 2 --epochs 1 --run "
	for _, line := range []string{train + "run", "eval run", "predict run --data digits --out out.csv", "report run",
		"export run --to onnx", "runs .", "version", "data info digits"} {
		n := sockets(line)
		if line == train+"run" && n["AF_UNIX"] == 0 {
			t.Errorf("%s: %v, want the control socket", line, n)
		}
		if delete(n, "AF_UNIX"); len(n) > 0 {
			t.Errorf("%s: sockets %v", line, n)
		}
	}
	if n := sockets(train + "watched --dashboard 127.0.0.1:0"); n["AF_INET"]+n["AF_INET6"] == 0 {
		t.Errorf("a dashboard: %v: the test does not see it", n)
	}
}

// TestControlIsTheUsers: of a run folder that others may read they may neither ask the run nor lock it.
func TestControlIsTheUsers(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command("/proc/self/exe", "train", "--data", "digits:500", "--workers", "1", "--epochs", "1000000",
		"--save-every", "0", "--run", run, "--quiet")
	cmd.Args[0] = "hogwild" // by which the test binary knows that it is the program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for _, name := range []string{"control.sock", ".lock"} {
		path := filepath.Join(run, name)
		info, err := os.Stat(path)
		for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); info, err = os.Stat(path) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}
