package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hogwild/internal/check"
)

// The Python package with the program: words against gensim, texts against fastText, factors. See test_words.py.
func TestPythonWords(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "hogwild") // by this name the test binary is the program
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(check.Interpreter(t, "gensim, fasttext"), "-m", "unittest", "test_words")
	cmd.Dir = "../../hogwild/program/python"
	cmd.Env = append(os.Environ(), "HOGWILD_BINARY="+program, "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
