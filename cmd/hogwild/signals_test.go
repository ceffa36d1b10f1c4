package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/rundir"
)

// TestSignalsAtTheStart: a signal in any millisecond of a start leaves no folder, the user's own as it was, or a whole
// run that has ended.
func TestSignalsAtTheStart(t *testing.T) {
	dir, random, starts := t.TempDir(), rand.New(rand.NewPCG(14, 14)), 120
	if testing.Short() {
		starts = 30
	}
	ends := map[string]int{}
	for i := range starts {
		run := filepath.Join(dir, fmt.Sprint(i))
		if i%4 == 0 { // there before, and empty
			if err := os.Mkdir(run, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		var said bytes.Buffer
		cmd := exec.Command(hogwildLink(t), "train", "--data", "digits:600", "--model", "softmax", "--epochs", "100000",
			"--workers", "2", "--run", run, "--quiet")
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := time.Duration(random.IntN(200_000)) * time.Microsecond
		time.Sleep(after)
		signal := [...]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[random.IntN(2)]
		_ = cmd.Process.Signal(signal)
		_ = cmd.Wait()
		end := cmd.ProcessState.Sys().(syscall.WaitStatus)
		var left []string
		entries, _ := os.ReadDir(run)
		for _, e := range entries {
			left = append(left, e.Name())
		}
		_, err := os.Stat(run)
		files := " " + strings.Join(left, " ") + " "
		whole := end.ExitStatus() == 128+int(signal) && strings.Contains(files, " "+rundir.SnapshotFile+" ") &&
			strings.Contains(files, " "+rundir.ResultFile+" ")
		before := end.Signaled() && len(left) == 0 && (i%4 == 0) == (err == nil)
		ends[fmt.Sprintf("whole %v", whole)]++
		if !whole && !before || strings.Contains(files, ".tmp ") || strings.Contains(files, " "+rundir.LockFile+" ") ||
			strings.Contains(files, " "+rundir.SocketFile+" ") {
			t.Errorf("%v after %v: ended with %v, left %q: %s", signal, after, cmd.ProcessState, left, &said)
		}
	}
	t.Log(ends)
}
