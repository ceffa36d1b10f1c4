package run_test

import (
	"os"
	"strings"
	"testing"

	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/workers"
	"hogwild/internal/self"
)

// TestRunWithoutAsking: a program whose workers would begin a run each is told so.
func TestRunWithoutAsking(t *testing.T) {
	refuses := func() {
		t.Helper()
		if _, err := run.Run(t.Context(), configtest.Quick(t), run.Options{}); err == nil ||
			!strings.Contains(err.Error(), "call hogwild.IsWorker first") {
			t.Errorf("%v", err)
		}
	}
	t.Setenv(workers.RankVariable, "1")
	refuses()
	os.Unsetenv(workers.RankVariable)
	if os.Getenv(runtest.UnaskedVariable) == "" {
		t.Setenv(runtest.UnaskedVariable, "1")
		if out, err := self.Command(t.Context(), "-test.run=^"+t.Name()+"$").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	refuses()
}
