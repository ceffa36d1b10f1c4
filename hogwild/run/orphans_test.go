package run

import (
	"os/exec"
	"testing"
	"time"
)

// TestOrphansEnd: memory is not given back while the program of a dead worker still runs; a zombie does not.
func TestOrphansEnd(t *testing.T) {
	program := exec.Command("sleep", "60")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer program.Wait()
	defer program.Process.Kill()
	r := task{orphans: []int{program.Process.Pid}}
	if r.orphansEnd(10 * time.Millisecond) {
		t.Error("it runs, and counts as ended")
	}
	time.AfterFunc(50*time.Millisecond, func() { program.Process.Kill() })
	if !r.orphansEnd(time.Minute) || len(r.orphans) > 0 {
		t.Errorf("it was killed, and has not ended: %v", r.orphans)
	}
}
