//go:build cuda

package main

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestGPUScripts runs testdata/gpu/*.txt, in which hogwild is this test binary, that
// is hogwild-cuda, and $BIN holds the two programs that make has built. The driver is
// the one that the environment leads to; the scripts expect the stand-in.
func TestGPUScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/gpu",
		RequireUniqueNames: true,
		Deadline:           time.Now().Add(5 * time.Minute), // a hang must be seen
		Setup:              setupGPU,
		Condition:          gpuCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":       exits,
			"json":        jsonField,
			"sameweights": sameWeights,
			"agree":       agree,
			"calls":       calls,
		},
	})
}

func setupGPU(env *testscript.Env) error {
	for _, name := range []string{"LD_LIBRARY_PATH", "HOGWILD_FAKE_CHECKS"} {
		env.Setenv(name, os.Getenv(name))
	}
	env.Setenv("BIN", os.Getenv("HOGWILD_BIN"))
	return hideCUDA(env)
}

// gpuCondition knows [built]: make has built the programs in $BIN; and [driver]:
// the system has a driver of its own.
func gpuCondition(name string) (bool, error) {
	bin := os.Getenv("HOGWILD_BIN")
	switch name {
	case "built":
		return bin != "", nil
	case "driver":
		cmd := exec.Command(filepath.Join(bin, "hogwild-cuda"), "--version")
		cmd.Env = []string{} // no LD_LIBRARY_PATH
		return cmd.Run() == nil, nil
	}
	return condition(name)
}

// agree is "agree FILE DIFFERENCE": the losses in the report on stdout are those of
// the report in the file, but for the difference.
func agree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: agree FILE DIFFERENCE")
	}
	limit, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	var a, b map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &a))
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &b))
	for _, name := range []string{"train_loss", "test_loss"} {
		x, ok := a[name].(float64)
		y, oky := b[name].(float64)
		if d := math.Abs(x - y); !ok || !oky || !(d <= limit) {
			ts.Fatalf("%s is %v and %v, want a difference of at most %v", name, a[name], b[name], limit)
		}
	}
}

// calls is "calls FILE CALL COUNT PROCESSES": in the trace of the stand-in driver
// the call succeeded so many times, in so many processes.
func calls(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: calls FILE CALL COUNT PROCESSES")
	}
	f, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	count, processes := 0, map[int]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line struct {
			PID    int
			Call   string
			Result int
		}
		ts.Check(json.Unmarshal(lines.Bytes(), &line))
		if line.Call == args[1] && line.Result == 0 {
			count++
			processes[line.PID] = true
		}
	}
	if got, gotProcesses := strconv.Itoa(count), strconv.Itoa(len(processes)); got != args[2] || gotProcesses != args[3] {
		ts.Fatalf("%s succeeded %s times in %s processes, want %s in %s", args[1], got, gotProcesses, args[2], args[3])
	}
}
