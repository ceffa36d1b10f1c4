package run_test

import (
	"os"
	"testing"

	"hogwild/hogwild/device"
	"hogwild/hogwild/run"
	"hogwild/hogwild/run/runtest"
)

// hurryVariable has a coordinator try a failed save at the end once more, and not for seconds.
const hurryVariable = "HOGWILD_TEST_HURRY"

func TestMain(m *testing.M) {
	if os.Getenv(hurryVariable) != "" {
		run.Hurry()
	}
	if os.Getenv(hangVariable) != "" {
		device.RegisterBackend("cuda", hanging{})
		runtest.Run = runHanging
	}
	runtest.Main(m)
}
