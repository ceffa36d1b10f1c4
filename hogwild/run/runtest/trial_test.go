package runtest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestChildrenAreSeen: also one that has ended and was not waited for.
func TestChildrenAreSeen(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	before := Belongings(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sees := func() bool { return len(Belongings(t)) > len(before) }
	if !sees() {
		t.Error("a process that lives is not seen")
	}
	in.Close()
	Await(t, "its end", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return strings.Contains(string(stat), ") Z ")
	})
	if !sees() {
		t.Error("a process that was not waited for is not seen")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	more := slices.DeleteFunc(Belongings(t), func(s string) bool { return slices.Contains(before, s) })
	if len(more) > 0 {
		t.Errorf("%q after its end", more)
	}
}
