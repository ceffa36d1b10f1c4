// Package chaos holds tests that hurt whole runs of the program: at every fault point, and at random.
// They count from outside what came of it: processes, files, and examples by the weights.
//
//	main_test.go     the program
//	job_test.go      what is trained
//	trial_test.go    a run folder, and the processes that work on it
//	damage_test.go   what is wrong with a run after its processes have ended
//	count_test.go    how often each example was trained
//	points_test.go   a run for every fault point
//	chaos_test.go    random events
//	events_test.go   what they do
//	table_test.go    what came of them
package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hogwild/hogwild/program/programtest"
	"hogwild/internal/check"
)

// program is the hogwild that is tested: HOGWILD_BIN's, or one built now.
var program string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	if programtest.IsProgram() {
		return programtest.Main(os.Args[1:])
	}
	check.HeedHangups()
	if bin := os.Getenv("HOGWILD_BIN"); bin != "" {
		program = filepath.Join(bin, "hogwild")
		return m.Run()
	}
	folder, err := os.MkdirTemp("", "chaos")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "hogwild")
	build := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", program, "hogwild/cmd/hogwild")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
