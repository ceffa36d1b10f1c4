package run

import (
	"os"
	"strings"
	"testing"

	"hogwild/hogwild/workers"
	"hogwild/internal/self"
)

// TestRunWithoutAsking: a program whose workers would begin a run each is told so.
func TestRunWithoutAsking(t *testing.T) {
	refuses := func() {
		t.Helper()
		if _, err := Run(t.Context(), quick(t), Options{}); err == nil ||
			!strings.Contains(err.Error(), "call hogwild.IsWorker first") {
			t.Errorf("%v", err)
		}
	}
	t.Setenv(workers.RankVariable, "1")
	refuses()
	os.Unsetenv(workers.RankVariable)
	if os.Getenv(unaskedVariable) == "" {
		t.Setenv(unaskedVariable, "1")
		if out, err := self.Command(t.Context(), "-test.run=^"+t.Name()+"$").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	refuses()
}
