package hogwild

import (
	"os"
	"testing"
)

// A worker of a test is this test binary started again.
func TestMain(m *testing.M) {
	if IsWorker() {
		os.Exit(WorkerMain())
	}
	os.Exit(m.Run())
}
