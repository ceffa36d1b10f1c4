package bench

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRivals runs rivals/search_test.py, gpu_runs_test.py, and gpu_test.py: what is compared with hogwild on a GPU
// learns right on cores, and the CUDA kernel on the stand-in driver.
func TestRivals(t *testing.T) {
	python, promised := os.LookupEnv("HOGWILD_PYTHON")
	python = cmp.Or(python, "python3")
	if text, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		if promised {
			t.Fatalf("HOGWILD_PYTHON=%s does not import numpy: %v\n%s", python, err, text)
		}
		t.Skipf("%s does not import numpy", python)
	}
	fake, err := filepath.Abs("../bin/fake")
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, env string, names ...string) {
		c := exec.Command(python, append([]string{"-B", "-m", "unittest", "-v"}, names...)...)
		c.Dir = "rivals"
		c.Env = append(os.Environ(), "OMP_NUM_THREADS=1", env) // sets so small that threads only wait for each other
		text, err := c.CombinedOutput()
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, " skipped ") {
				t.Log(strings.TrimSpace(line))
			}
		}
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	t.Run("cores", func(t *testing.T) { run(t, "LD_LIBRARY_PATH=", "gpu_test", "gpu_runs_test", "search_test") })
	t.Run("kernel", func(t *testing.T) {
		if _, err := os.Stat(filepath.Join(fake, "libcuda.so.1")); err != nil {
			t.Skip("there is no stand-in driver: make fake")
		}
		run(t, "LD_LIBRARY_PATH="+fake, "gpu_test.Factors.test_kernel_of_cumfs_kind_comes_near_the_noise")
	})
}
