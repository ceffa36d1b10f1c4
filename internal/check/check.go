// Package check has what tests of several packages share: errors that must say something, golden
// files, Python as an oracle, the real data sets. Only tests import it.
package check

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// HeedHangups lets processes that tests start receive SIGHUP, also where the tests themselves were
// started with SIGHUP ignored, as under nohup: a child inherits that.
func HeedHangups() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}

// Error fails the test unless there is an error that says each of the words.
func Error(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error that speaks of %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q does not say %q", err, w)
		}
	}
}

var update = flag.Bool("update", false, "renew the golden files in testdata")

// Updating reports whether go test -update is to renew what tests compare with.
func Updating() bool { return *update }

// Golden compares a text with a file in testdata, which go test -update renews.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test -update makes it", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs; go test -update renews it\n%s", path, d)
	}
}

// Interpreter is $HOGWILD_PYTHON, else the machine's python3, if it has the modules ("numpy,
// torch"). Else the test is skipped; with CI=true, where .ci/run has installed them, it fails.
func Interpreter(t testing.TB, modules string) string {
	t.Helper()
	python := os.Getenv("HOGWILD_PYTHON")
	if python == "" {
		python = "python3"
	}
	const missing = `import importlib.util, sys
print(", ".join(m for m in sys.argv[1].split(", ") if importlib.util.find_spec(m) is None), end="")`
	out, err := exec.Command(python, "-c", missing, modules).CombinedOutput()
	if err == nil && len(out) == 0 {
		return python
	}
	complain := t.Skipf
	if os.Getenv("CI") == "true" {
		complain = t.Fatalf
	}
	if err != nil {
		out = fmt.Appendf(nil, "%s (%v: %s)", modules, err, bytes.TrimSpace(out))
	}
	complain("%s lacks %s; to install: pip install --no-deps -r .ci/requirements.txt, then set HOGWILD_PYTHON", python,
		out)
	return ""
}

// Python runs a script with the Interpreter that has the modules, and returns what it prints.
func Python(t testing.TB, modules, script string, args ...string) []byte {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(Interpreter(t, modules), append([]string{"-c", script}, args...)...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &said)
	}
	return out
}

// Data returns the path of a real data set, in $HOGWILD_DATA or in shared/data next to the
// repository. A test of a set that is in neither is skipped, and all are with -short.
func Data(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no real data sets")
	}
	root, err := os.Getwd() // of the package that is tested
	if err != nil {
		t.Fatal(err)
	}
	for root != "/" {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Dir(root)
	}
	for _, dir := range []string{os.Getenv("HOGWILD_DATA"), filepath.Join(root, "../shared/data")} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); dir != "" && err == nil {
			return path
		}
	}
	t.Skipf("%s is neither in $HOGWILD_DATA nor in ../shared/data", name)
	return ""
}
