package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"hogwild/internal/check"
)

// TestNotebook calls the package from a kernel of Jupyter, which is also interrupted and killed:
// testdata/test_notebook.py.
func TestNotebook(t *testing.T) {
	python := check.Interpreter(t, "torch, numpy, pandas, sklearn, cloudpickle, ipykernel, nbclient, nbformat")
	script, err := filepath.Abs("testdata/test_notebook.py")
	if err != nil {
		t.Fatal(err)
	}
	example, folder := filepath.Join(filepath.Dir(script), "../../../examples/notebook.ipynb"),
		filepath.Join(filepath.Dir(script), "../../../hogwild/program/python")
	t.Setenv("HOGWILD_BINARY", hogwildLink(t))
	t.Setenv("PYTHONPATH", folder)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	for _, name := range []string{"example", "told", "restarted", "interrupted", "killed"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(python, script, name, example)
			cmd.Dir = t.TempDir()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}
