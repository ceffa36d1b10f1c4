package main

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hogwild/bench"
	"hogwild/hogwild/config"
)

// planOf returns the plan of a command line, without its command.
func planOf(args ...string) (bench.Plan, error) {
	o := &benchOptions{train: &trainOptions{Config: config.Default()},
		experimentFlags: experimentFlags{repeat: 5}}
	c := benchCommand()
	c.Flags = o.flags()
	s, err := newSettings(c)
	if err == nil {
		_, err = s.arguments(args)
	}
	if err != nil {
		return bench.Plan{}, err
	}
	return o.plan(s)
}

func caseNames(p bench.Plan) string {
	var names []string
	for _, c := range p.Cases {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// TestBenchPlan: what is said is crossed with modes and workers, but for what a case
// of the file says itself.
func TestBenchPlan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cases.yaml")
	text := "base: {data: 'digits:200'}\ncases: [{name: a, mode: sync}, {name: b, lr: 0.1}]\nseeds: [7, 8, " +
		"9]\ntarget-loss: 0.5\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	gpu := filepath.Join(t.TempDir(), "gpu.yaml")
	if err := os.WriteFile(gpu, []byte("base: {data: 'digits:200'}\ncases: [{name: a, gpu: '0'}, {name: b, mode: "+
		"locked}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, names string }{
		{"--modes async,sync --workers 1,2 --data digits:9", "async-1 async-2 sync-1 sync-2"},
		{"--modes sync --workers 3", "digits.sync-3 sparse.sync-3"},
		{"--gpu 0 --workers 4,1 --model softmax", "async-4 async-1 sync-4 sync-1"},
		{"--gpu 0 --modes async --model softmax", "async-1 async-2 async-4"},
		{"--gpu auto:2 --model softmax", "async-2 async-4 async-8 sync-2 sync-4 sync-8"},
		{"--workers 1,2 --config " + gpu, "a.async-1 a.async-2 a.sync-1 a.sync-2 b-1 b-2"},
		{"--modes async,delayed:3 --workers 2 --model softmax", "async-2 delayed-3-1"},
		{"--workers 2 --config " + file, "a-2 b.async-2 b.atomic-2 b.locked-2 b.ordered-2 b.sync-2"},
		{"--nodes 1,2,3 --rounds auto,8 --workers 1,2 --modes sync --model softmax", "sync-1,nodes=1 sync-2,nodes=1 " +
			"sync-1,nodes=2,rounds=auto sync-1,nodes=2,rounds=8 sync-2,nodes=2,rounds=auto sync-2,nodes=2,rounds=8 " +
			"sync-1,nodes=3,rounds=auto sync-1,nodes=3,rounds=8 sync-2,nodes=3,rounds=auto sync-2,nodes=3,rounds=8"},
		{"--nodes 64", "digits.async-1,nodes=64 sparse.async-1,nodes=64"},
	} {
		p, err := planOf(strings.Fields(c.args)...)
		if err != nil || caseNames(p) != c.names {
			t.Errorf("%s: %q (%v), want %q", c.args, caseNames(p), err, c.names)
		}
	}
	p, err := planOf("--config", file, "--workers", "1")
	if err != nil || !slices.Equal(p.Seeds, []uint64{7, 8, 9}) || p.TargetLoss != 0.5 || p.Cases[0].Group != "" ||
		p.Cases[1].Group != "b" || p.Kind != "bench" {
		t.Errorf("from a file: %+v (%v)", p, err)
	}
	if _, err := planOf("--config", file, "--modes", "sync"); err == nil ||
		!strings.Contains(err.Error(), "sets mode already") {
		t.Errorf("a mode twice: %v", err)
	}
	if _, err := planOf("--gpu", "0,1", "--workers", "2,1"); err == nil ||
		!strings.Contains(err.Error(), "use --workers 2 or more") {
		t.Errorf("two GPUs for a worker: %v", err)
	}
}

// TestBenchSchedule: the rate falls linearly unless another schedule is given; programs, models with one of their own
// and runs that end where they reach a target keep what train does.
func TestBenchSchedule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cases.yaml")
	text := "base: {data: 'digits:200', mode: async, workers: 1}\ncases: [{name: plain, lr: 0.1}, " +
		"{name: own, schedule: cosine}, {name: ends, target-loss: 0.3, epochs: 50}, {name: sharp, " +
		"target-accuracy: 0.9}, {name: tuned, tune: true}]\n"
	other := filepath.Join(t.TempDir(), "other.yaml")
	for path, text := range map[string]string{file: text, other: strings.Replace(text, ", schedule: cosine", "", 1)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"":                                       "linear linear",
		"--schedule cosine":                      "cosine cosine",
		"--schedule constant --data a9a":         "constant",
		"--schedule auto --model softmax":        "auto",
		"--data digits":                          "linear",
		"--program train.py":                     "-",
		"--program x.py --schedule linear":       "linear",
		"--model word2vec:10 --data text":        "-",
		"--model text:10 --data text":            "-",
		"--config " + file:                       "linear cosine - - linear",
		"--config " + other + " --schedule step": "step step step step step",
	} {
		all := strings.Fields(args)
		if !strings.Contains(args, "--config") {
			all = append(all, "--modes", "async", "--workers", "1")
		}
		p, err := planOf(all...)
		var got []string
		for _, c := range p.Cases {
			got = append(got, cmp.Or(c.Value("schedule"), "-"))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v (%v), want %s", args, got, err, want)
		}
	}
	if _, err := planOf("--config", file, "--schedule", "linear"); err == nil ||
		!strings.Contains(err.Error(), "sets it already") {
		t.Errorf("a schedule twice: %v", err)
	}
}

// TestLauncher: it starts the cases with several nodes, from flags and files.
func TestLauncher(t *testing.T) {
	const launcher = "run -n {nodes}"
	file := filepath.Join(t.TempDir(), "cases.yaml")
	text := "base: {data: 'digits:200', workers: 1, mode: async}\nlauncher: '" + launcher +
		"'\ncases: [{name: alone}, {name: one, nodes: 1}, {name: two, nodes: 2, rounds: 4}]\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--config", file},
		{"--nodes", "1,2", "--model", "softmax", "--launcher", launcher}} {
		p, err := planOf(args...)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Cases {
			if several := c.Value("nodes") == "2"; (c.Launcher == launcher) != several || !several && c.Launcher != "" {
				t.Errorf("%v: case %s has the launcher %q", args, c.Name, c.Launcher)
			}
		}
	}
}

// TestBenchPlanRepeats: seeds are the repeats.
func TestBenchPlanRepeats(t *testing.T) {
	for args, want := range map[string]int{"": 5, "--repeat 2": 2, "--quick": 3, "--quick --repeat 9": 9} {
		if p, err := planOf(strings.Fields(args)...); err != nil || len(p.Seeds) != want {
			t.Errorf("%q: %v (%v), want %d seeds", args, p.Seeds, err, want)
		}
	}
}

// TestBenchDefaults: every mode meets every number of workers, on two problems.
func TestBenchDefaults(t *testing.T) {
	p, err := planOf()
	if want := 2 * len(config.Modes) * len(upTo(runtime.NumCPU())); err != nil || len(p.Cases) != want {
		t.Errorf("%d cases (%v), want %d", len(p.Cases), err, want)
	}
}

func TestUpTo(t *testing.T) {
	for cores, want := range map[int]string{1: "1", 2: "1 2", 4: "1 2 4", 6: "1 2 4 6", 16: "1 2 4 8 16"} {
		if got := strings.Join(upTo(cores), " "); got != want {
			t.Errorf("up to %d cores: %s, want %s", cores, got, want)
		}
	}
}
