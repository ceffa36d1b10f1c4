package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hogwild/internal/check"
)

// TestPythonEstimators has scikit-learn check the estimators of the Python package: test_sklearn.py.
func TestPythonEstimators(t *testing.T) { unittest(t, "sklearn", "test_sklearn") }

// TestPythonWords compares words with gensim's, texts with fastText's, and factors with float64: test_words.py.
func TestPythonWords(t *testing.T) { unittest(t, "gensim, fasttext", "test_words") }

// unittest runs tests of the Python package with this program.
func unittest(t *testing.T, modules, tests string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "hogwild") // by this name the test binary is the program
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(check.Interpreter(t, modules), "-m", "unittest", tests)
	cmd.Dir = "../../hogwild/program/python"
	cmd.Env = append(os.Environ(), "HOGWILD_BINARY="+program, "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
