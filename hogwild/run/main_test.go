package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program/programtest"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
)

// configVariable makes a process of the test binary a coordinator: it holds the
// Config, as JSON.
const configVariable = "HOGWILD_TEST_CONFIG"

// unaskedVariable makes a process of the test binary one that does not ask IsWorker.
const unaskedVariable = "HOGWILD_TEST_UNASKED"

// hurryVariable has a coordinator try a failed save at the end once more, and not for seconds.
const hurryVariable = "HOGWILD_TEST_HURRY"

// A worker of a test is this test binary started again, and so is a coordinator
// that a test wants to kill.
func TestMain(m *testing.M) {
	registerSlow("slow", time.Millisecond)
	registerSlow("slower", 10*time.Millisecond)
	registerSlow("slowest", 100*time.Millisecond)
	registerCrashing()
	registerUnconnected()
	// The race detector lets each process sleep for a second before it ends.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	if os.Getenv(hangVariable) != "" {
		device.RegisterBackend("cuda", hanging{})
	}
	if programtest.IsProgram() {
		os.Exit(programtest.Main(os.Args[1:]))
	}
	if os.Getenv(unaskedVariable) == "" && workers.IsWorker() {
		dieAtStart(os.Getenv(startVariable))
		os.Exit(worker.Main())
	}
	if text := os.Getenv(configVariable); text != "" {
		os.Exit(coordinate(text))
	}
	os.Exit(m.Run())
}

// coordinate runs the Config in text and prints the Result as JSON.
func coordinate(text string) int {
	var c config.Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer config.OutlivePipes()()
	if os.Getenv(hurryVariable) != "" {
		keepWaits = keepWaits[:1]
	}
	run := Run
	if os.Getenv(hangVariable) != "" {
		run = runHanging
	}
	result, err := run(context.Background(), c, Options{Signals: true, Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := result.WriteJSON(os.Stdout); err != nil {
		return 2
	}
	if err != nil {
		return 1
	}
	return 0
}

// slow is the softmax model with a pause in each step, so that a test has the time
// to do something to a run: an epoch lasts as long on any machine, and the numbers
// are those of softmax.
type slow struct {
	model.Model
	pause time.Duration
}

func (s slow) Grad(w []float32, b *data.Batch, g *model.Gradient) float64 {
	time.Sleep(s.pause)
	return s.Model.Grad(w, b, g)
}

func registerSlow(name string, pause time.Duration) {
	model.Register(name, func(m data.Meta) (model.Model, error) {
		softmax, err := model.New(model.Options{Name: "softmax", Bias: true}, m)
		return slow{softmax, pause}, err
	})
}
