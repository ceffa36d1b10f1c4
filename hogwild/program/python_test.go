package program

import (
	"os"
	"os/exec"
	"testing"

	"hogwild/internal/check"
)

// The Python side alone, against tests that play hogwild's: see test_hogwild.py.
func TestPython(t *testing.T) {
	cmd := exec.Command(check.Interpreter(t, "torch"), "test_hogwild.py")
	cmd.Dir, cmd.Env = "python", append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
