package run

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// pythonWith runs a script if $HOGWILD_PYTHON, else the machine's python3, has the modules.
// The variable is a promise that it has.
func pythonWith(t *testing.T, modules, script string, args ...string) []byte {
	t.Helper()
	python, promised := os.LookupEnv("HOGWILD_PYTHON")
	if !promised {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import "+modules).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		complain := t.Skipf
		if promised {
			complain = t.Fatalf
		}
		complain("needs %s with %s: %v: %s", python, modules, err, lines[len(lines)-1])
	}
	var said bytes.Buffer
	cmd := exec.Command(python, append([]string{"-c", script}, args...)...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &said)
	}
	return out
}
