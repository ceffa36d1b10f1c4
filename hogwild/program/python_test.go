package program

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/internal/check"
)

// The Python side alone, against tests that play hogwild's: see test_hogwild.py and test_misuse.py.
func TestPython(t *testing.T) {
	cmd := exec.Command(check.Interpreter(t, "torch"), "-m", "unittest")
	cmd.Dir, cmd.Env = "python", append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// pip installs the package with its types, in this version, from the folder with the sources.
func TestPythonIsInstalled(t *testing.T) {
	python, source, target := check.Interpreter(t, "torch, setuptools, pip"), t.TempDir(), t.TempDir()
	if err := os.CopyFS(source, os.DirFS("python")); err != nil { // pip builds in it
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps",
			"--disable-pip-version-check", "--target", target, source},
		{"-c", "import hogwild, hogwild._alone, os, sys, importlib.metadata as m\n" +
			"assert hogwild.__file__.startswith(sys.argv[1]) and " +
			"os.path.exists(os.path.join(os.path.dirname(hogwild.__file__), 'py.typed'))\n" +
			"assert m.version('hogwild') == sys.argv[2], m.version('hogwild')\n" +
			"assert not hasattr(hogwild, 'test_hogwild') and hogwild.alone", target, config.Version},
	} {
		cmd := exec.Command(python, args...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "PYTHONPATH="+target)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// What users import stays short enough to be read.
func TestPythonIsShort(t *testing.T) {
	if lines := strings.Count(string(pythonText("hogwild/__init__.py")), "\n"); lines > 300 {
		t.Errorf("hogwild/__init__.py has %d lines, and may have 300", lines)
	}
}
