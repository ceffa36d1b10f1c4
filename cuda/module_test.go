//go:build cuda

package cuda

import (
	"strings"
	"testing"
)

// TestLaunchesAsWritten: a launch has the threads that the kernels are written for, where the
// driver would allow more; and where it allows fewer, it is one error that says so.
func TestLaunchesAsWritten(t *testing.T) {
	t.Run("more", func(t *testing.T) {
		if !replay(t, "HOGWILD_FAKE_MAX_THREADS=1024") {
			return
		}
		onEach(t, testSamples)
	})
	t.Run("fewer", func(t *testing.T) {
		if !replay(t, "HOGWILD_FAKE_MAX_THREADS=128") {
			return
		}
		err := withGPU(0, "", func(c *gpu) error {
			_, err := loadKernels(c, "linear")
			return err
		})
		const want = "needs CTAs of 512 threads: GPU 0 (NVIDIA H200 (stand-in)) and its driver allow it 128"
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one line: %s", err, want)
		}
	})
}
