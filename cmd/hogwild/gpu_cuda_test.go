//go:build cuda

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestGPUArrays has Python train on arrays in the memory of two GPUs, and compares with NumPy's: test_arrays.py.
func TestGPUArrays(t *testing.T) {
	t.Setenv("HOGWILD_FAKE_DEVICES", "2")
	unittest(t, "torch, sklearn", "test_arrays")
}

// TestGPUScripts runs testdata/gpu/*.txt, in which hogwild is this test binary, that
// is hogwild-cuda, and $BIN holds the two programs that make has built. The driver is
// the one that the environment leads to; the scripts expect the stand-in.
func TestGPUScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/gpu",
		RequireUniqueNames: true,
		Deadline:           time.Now().Add(15 * time.Minute), // a hang must be seen
		Setup:              setupGPU,
		Condition:          gpuCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":       exits,
			"json":        jsonField,
			"sameweights": sameWeights,
			"agree":       agree,
			"shares":      shares,
		},
	})
}

func setupGPU(env *testscript.Env) error {
	for _, name := range []string{"LD_LIBRARY_PATH", "HOGWILD_FAKE_CHECKS"} {
		env.Setenv(name, os.Getenv(name))
	}
	env.Setenv("BIN", os.Getenv("HOGWILD_BIN"))
	env.Setenv("PYTHON", cmp.Or(os.Getenv("HOGWILD_PYTHON"), "python3"))
	return setup(env)
}

// gpuCondition knows [built]: make has built the programs in $BIN; [driver]: the system has a driver of
// its own; and [numpy], [torch] and [cloudpickle]: $PYTHON has those
// modules.
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
	modules := map[string]string{"numpy": "numpy", "torch": "numpy, torch", "cloudpickle": "cloudpickle"}
	if module := modules[name]; module != "" {
		python, promised := os.LookupEnv("HOGWILD_PYTHON")
		err := exec.Command(cmp.Or(python, "python3"), "-c", "import "+module).Run()
		if promised && err != nil {
			return false, fmt.Errorf("HOGWILD_PYTHON=%s does not import %s: %w", python, module, err)
		}
		return err == nil, nil
	}
	return condition(name)
}

// agree carries out "agree FILE DIFFERENCE": the reports on stdout and in the file have the same losses, but for the
// difference.
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

// shares carries out "shares FILE HANDLES PROCESSES": in the trace of the stand-in driver one process exports HANDLES
// handles, and each is opened once, and closed, by each of PROCESSES other processes.
func shares(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: shares FILE HANDLES PROCESSES")
	}
	handles, err := strconv.Atoi(args[1])
	ts.Check(err)
	processes, err := strconv.Atoi(args[2])
	ts.Check(err)
	counts := ipcCalls(ts, args[0])
	for call, want := range map[string]int{
		"cuIpcGetMemHandle":   handles,
		"cuIpcOpenMemHandle":  handles * processes,
		"cuIpcCloseMemHandle": handles * processes,
	} {
		if n := len(counts[call]); n != want {
			ts.Fatalf("%s with %d pairs of process and handle, want %d: %v", call, n, want, counts[call])
		}
		for by, n := range counts[call] {
			if n != 1 {
				ts.Fatalf("%s %d times with handle %s in process %d", call, n, by.Nonce, by.PID)
			}
		}
	}
	for by := range counts["cuIpcGetMemHandle"] {
		if counts["cuIpcOpenMemHandle"][by] > 0 {
			ts.Fatalf("process %d opened the handle that it exported", by.PID)
		}
	}
}

// handleUse is a handle in the hands of a process.
type handleUse struct {
	PID   int
	Nonce string
}

// ipcCalls counts the successful calls in a trace: name, then process and handle.
func ipcCalls(ts *testscript.TestScript, file string) map[string]map[handleUse]int {
	counts := map[string]map[handleUse]int{}
	for line := range strings.Lines(ts.ReadFile(file)) {
		var call struct {
			handleUse
			Call   string
			Result int
		}
		ts.Check(json.Unmarshal([]byte(line), &call))
		if call.Result != 0 || call.Nonce == "" {
			continue
		}
		if counts[call.Call] == nil {
			counts[call.Call] = map[handleUse]int{}
		}
		counts[call.Call][call.handleUse]++
	}
	return counts
}
