package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hogwild/hogwild/program/programtest"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
	"hogwild/internal/check"
)

// TestMain makes the test binary do for the program: the scripts run it as
// hogwild, and hogwild runs it again as its workers. It is also what --program names in scripts.
func TestMain(m *testing.M) {
	if programtest.IsProgram() {
		os.Exit(programtest.Main(os.Args[1:]))
	}
	if workers.IsWorker() {
		os.Exit(worker.Main())
	}
	if filepath.Base(os.Args[0]) != "hogwild" { // these are the tests
		check.HeedHangups()
	}
	testscript.Main(m, map[string]func(){"hogwild": main, "sandbox": sandbox})
}

// TestScripts runs testdata/script/*.txt. Their environment is empty but for PATH
// and the like, so no HOGWILD_ variable of the caller reaches them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Deadline:           time.Now().Add(15 * time.Minute), // all take seconds; a hang must be seen
		Setup:              setup,
		Condition:          condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":       exits,
			"json":        jsonField,
			"sameweights": sameWeights,
		},
	})
}

// setup hides hogwild-cuda, and says where the examples are.
func setup(env *testscript.Env) error {
	folder, err := filepath.Abs(examples)
	if err != nil {
		return err
	}
	env.Setenv("EXAMPLES", folder)
	return hideCUDA(env)
}

// hideCUDA takes from PATH the folders with a hogwild-cuda: a script that wants one
// makes it.
func hideCUDA(env *testscript.Env) error {
	var folders []string
	for _, folder := range filepath.SplitList(env.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(folder, "hogwild-cuda")); err != nil {
			folders = append(folders, folder)
		}
	}
	env.Setenv("PATH", strings.Join(folders, string(filepath.ListSeparator)))
	return nil
}

// condition knows [cuda], the program under test is the one with CUDA, and the conditions of sandboxes.
func condition(name string) (bool, error) {
	if try := sandboxTries[name]; try != nil {
		return exec.Command(try[0], try[1:]...).Run() == nil, nil
	}
	if name != "cuda" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return cudaVersion() != "", nil
}

// exits carries out "exits STATUS COMMAND [ARGS]": it runs the command and checks its exit status. With status 2
// nothing may be on stdout and at most four lines on stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARGS]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
	if want != 2 {
		return
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("stdout of a usage error: %q, want nothing", out)
	}
	if n := strings.Count(ts.ReadFile("stderr"), "\n"); n < 1 || n > 4 {
		ts.Fatalf("%d lines on stderr, want 1 to 4", n)
	}
}

// jsonField carries out "json FIELD VALUE" or "json FIELD MIN MAX": stdout is exactly one JSON object, whose field has
// the value, or is a number in the range.
func jsonField(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: json FIELD VALUE | json FIELD MIN MAX")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		ts.Fatalf("stdout is not a JSON object: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		ts.Fatalf("stdout has more than one JSON object (%v)", err)
	}
	v, ok := object[args[0]]
	if !ok {
		ts.Fatalf("no field %q in %v", args[0], object)
	}
	if len(args) == 2 {
		if got := fmt.Sprint(v); got != args[1] {
			ts.Fatalf("%s is %s, want %s", args[0], got, args[1])
		}
		return
	}
	low, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	high, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	if got, ok := v.(float64); !ok || got < low || got > high {
		ts.Fatalf("%s is %v, want a number from %v to %v", args[0], v, low, high)
	}
}

// sameWeights carries out "[!] sameweights FILE FILE": the tensors of two safetensors files, which lie behind a head of
// metadata, are equal to the bit.
func sameWeights(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sameweights FILE FILE")
	}
	var tensors [2]string
	for i, name := range args {
		text := ts.ReadFile(name)
		if len(text) < 8 {
			ts.Fatalf("%s has %d bytes", name, len(text))
		}
		head := binary.LittleEndian.Uint64([]byte(text)) // its length, in the first 8 bytes
		if head >= uint64(len(text)-8) {
			ts.Fatalf("%s has %d bytes, of which %d are said to be its head", name, len(text), head)
		}
		tensors[i] = text[8+head:]
	}
	if (tensors[0] == tensors[1]) == neg {
		ts.Fatalf("weights in %s and %s are equal: %v", args[0], args[1], neg)
	}
}
