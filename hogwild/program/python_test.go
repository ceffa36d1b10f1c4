package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/internal/check"
)

// The Python side: against tests that play hogwild's, see test_hogwild.py and test_misuse.py, and with the program.
// Package cmd/hogwild tests the estimators, the words, and arrays on a GPU.
func TestPython(t *testing.T) {
	python := check.Interpreter(t, "torch, pandas, pyarrow")
	program := filepath.Join(t.TempDir(), "hogwild")
	if out, err := exec.Command("go", "build", "-o", program, "hogwild/cmd/hogwild").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(python, "-m", "unittest", "test_hogwild", "test_misuse", "test_data", "test_arrays",
		"test_ends")
	cmd.Dir, cmd.Env = "python", append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "HOGWILD_BINARY="+program)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestPythonVersion: the package has the version of the program, in wheels and where a run puts it.
func TestPythonVersion(t *testing.T) {
	folder, err := PythonFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", folder)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	said := check.Python(t, "sys", "import hogwild; print(hogwild.__version__)")
	if got := strings.TrimSpace(string(said)); got != config.Version {
		t.Errorf("hogwild.__version__ is %s, the program's version %s", got, config.Version)
	}
}

// TestPythonTypes: mypy --strict finds nothing in the package, and Python 3.9 can read it.
func TestPythonTypes(t *testing.T) {
	files, err := filepath.Glob("python/hogwild/*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	check.Python(t, "ast", `import ast, sys
for path in sys.argv[1:]:
    ast.parse(open(path, encoding="utf-8").read(), path, feature_version=(3, 9))`, files...)
	python := check.Interpreter(t, "mypy, torch, numpy")
	if testing.Short() {
		t.Skip("mypy takes 20 s, most of it for PyTorch")
	}
	out, err := exec.Command(python, "-m", "mypy", "--strict", "--config-file", "../../pyproject.toml",
		"--cache-dir", t.TempDir(), "python/hogwild").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What users import stays short enough to be read.
func TestPythonIsShort(t *testing.T) {
	if lines := strings.Count(string(pythonText("hogwild/_job.py")), "\n"); lines > 300 {
		t.Errorf("hogwild/_job.py has %d lines, and may have 300", lines)
	}
}
