package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/bench"
	"hogwild/hogwild/config"
)

// TestPlan reads a file with all keys: each case with each point of the grid, the first
// key slowest, what is in the case in front of what is in the grid.
func TestPlan(t *testing.T) {
	p, err := bench.ReadPlan("folder/lr by workers.yaml", []byte(`
about: does it diverge?
base: {data: "digits:500", epochs: 2, lr: 0.5, bias: false}
grid: {workers: [1, 2], batch: [8]}
cases:
- {mode: async}
- {name: slow, mode: sync, average-every: epoch, lr: 0.01}
seeds: 3
target-loss: 0.5
`), caseFlags{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	var names []string
	for _, c := range p.Cases {
		var text []string
		for _, s := range c.Settings {
			text = append(text, s.Flag+"="+s.Value)
		}
		names = append(names, c.Name)
		got[c.Name] = strings.Join(text, " ")
	}
	if diff := cmp.Diff([]string{"async,workers=1", "async,workers=2", "slow,workers=1", "slow,workers=2"},
		names); diff != "" {
		t.Errorf("names:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"async,workers=1": "data=digits:500 epochs=2 lr=0.5 no-bias=true mode=async workers=1 batch=8",
		"async,workers=2": "data=digits:500 epochs=2 lr=0.5 no-bias=true mode=async workers=2 batch=8",
		"slow,workers=1": "data=digits:500 epochs=2 lr=0.01 no-bias=true mode=sync average-every=epoch workers=1 " +
			"batch=8",
		"slow,workers=2": "data=digits:500 epochs=2 lr=0.01 no-bias=true mode=sync average-every=epoch workers=2 " +
			"batch=8",
	}, got); diff != "" {
		t.Errorf("settings:\n%s", diff)
	}
	p.Cases = nil
	want := bench.Plan{Kind: "sweep", Name: "lr-by-workers", About: "does it diverge?", Seeds: []uint64{1, 2, 3},
		TargetLoss: 0.5}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("the rest:\n%s", diff)
	}
}

// TestPlanNames: names come from what varies, fit for a folder, each once; groups from
// what decides the loss.
func TestPlanNames(t *testing.T) {
	for _, c := range []struct{ text, names, groups string }{
		{"base: {epochs: 1}", "base", ""},
		{"seeds: 2", "base", ""},
		{"grid: {lr: [0.1]}", "base", ""},
		{"grid: {lr: [0.1, 1e-2]}", "lr=0.1 lr=1e-2", " "},
		{"cases: [{}, {lr: 0.1}]", "base lr=0.1", " "},
		{"cases: [{mode: sync, lr: 0.1}, {mode: async, lr: 0.1}]", "sync async", " "},
		{"grid: {data: [a/b, a_b, ../a b, \"a  b\"]}", "data=a-b data=a_b data=..-a-b data=a-b-2",
			"data=a-b data=a_b data=..-a-b data=a-b"},
		{"cases: [{model: hinge, l2: 0.1}, {l2: 0.1}, {model: hinge}]", "model=hinge,l2=0.1 l2=0.1 model=hinge",
			"model=hinge base model=hinge"},
		{"name: 7\ncases: [{name: x, lr: 1}, {name: y.z}]", "x y.z", " "},
	} {
		p, err := bench.ReadPlan("plan.yaml", []byte(c.text), caseFlags{})
		var names, groups []string
		for _, v := range p.Cases {
			names, groups = append(names, v.Name), append(groups, v.Group)
		}
		if got := strings.Join(names, " "); err != nil || got != c.names {
			t.Errorf("%s: cases %q (%v), want %q", c.text, got, err, c.names)
		}
		if got := strings.Join(groups, " "); err == nil && got != c.groups {
			t.Errorf("%s: groups %q, want %q", c.text, got, c.groups)
		}
	}
}

// TestPlanGrids: a file has several grids, says how cases are called, and which are compared.
func TestPlanGrids(t *testing.T) {
	p, err := bench.ReadPlan("plan.yaml", []byte(`
names: $name.$mode-$workers
base: {epochs: 2}
grid: {mode: [async, sync], workers: [1]}
cases: [{name: a, group: both}]
---
names: $name-$lr
grid: {lr: [0.1, 0.2]}
cases: [{name: b, group: both}]
`), caseFlags{})
	if got, want := caseNames(p), "a.async-1 a.sync-1 b-0.1 b-0.2"; err != nil || got != want {
		t.Errorf("cases %q (%v), want %q", got, err, want)
	}
	for _, c := range p.Cases {
		if has := c.Value("epochs"); c.Group != "both" || has == "2" != strings.HasPrefix(c.Name, "a") {
			t.Errorf("%+v", c)
		}
	}
}

// TestPlanErrors: one line each, with its place.
func TestPlanErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "plan.yaml: the file is empty"},
		{"[1]", `plan.yaml:1:1: want lines of`},
		{"base: {lr: 1}\nbasse: {}", `plan.yaml:2:1: unknown key "basse"; did you mean base?`},
		{"lr: 0.1", `plan.yaml:1:1: unknown key "lr" (keys: name,`},
		{"base: {lr: 1}\nbase: {lr: 2}", `plan.yaml:2:1: `},
		{"base: [1]", `plan.yaml:1:7: base: want flags`},
		{"base:", `plan.yaml:1:7: base: want flags`},
		{"base: {lrr: 1}", `plan.yaml:1:8: unknown key "lrr"; did you mean lr?`},
		{"base: {epochs: many}", `plan.yaml:1:16: epochs: "many": want a whole number`},
		{"base: {epochs: [1, 2]}", `plan.yaml:1:8: epochs: want a single value`},
		{"base: {epochs: -1}", `plan.yaml:1:7: case base: epochs -1: must be from 1 to 2147483647, or auto`},
		{"base: {seed: 1}", `plan.yaml:1:8: seed: seeds are the same for all cases`},
		{"base: {run: x}", `plan.yaml:1:8: run: an experiment names its run folders`},
		{"grid: 1", `plan.yaml:1:7: grid: want flags`},
		{"grid: {lr: 1}", `plan.yaml:1:8: lr: want a list of values`},
		{"grid: {lr: []}", `plan.yaml:1:8: lr: want a list of values`},
		{"grid: {lr: [1, [2]]}", `plan.yaml:1:8: lr: want a single value`},
		{"grid:\n  lr: [0.1, x]", `plan.yaml:2:13: lr: "x": want a number`},
		{"grid: {lr: [0.1, -1]}", `plan.yaml:1:7: case lr=-1: lr -1: must be a positive number`},
		{"base: {lr: 1}\ngrid: {lr: [1, 2]}", `plan.yaml:2:8: lr: also set under base`},
		{"grid: {lr: [1, 2]}\ncases: [{lr: 3}]", `plan.yaml:2:10: lr: also set in the grid`},
		{"grid: {lr: [0.1, 1e-1]}", `plan.yaml:1:7: the cases lr=0.1 and lr=1e-1 are identical`},
		{"cases: [{}, {mode: async}]", `plan.yaml:1:14: the cases base and async are identical`},
		{"cases: []", `plan.yaml:1:8: cases: want a list`},
		{"cases: {mode: async}", `plan.yaml:1:8: cases: want a list`},
		{"cases: [async]", `plan.yaml:1:9: cases: want flags`},
		{"cases: [{name: a/b}]", `plan.yaml:1:16: name "a/b": want a letter`},
		{"cases: [{name: a, lr: 1}, {name: a, lr: 2}]", `plan.yaml:1:28: two cases are both named a`},
		{"cases:\n- mode: async\n- mode: turbo", `plan.yaml:3:9: mode: "turbo": choose one of async`},
		{"name: ../x", `plan.yaml:1:7: name "../x": want a letter`},
		{"name: [x]", `plan.yaml:1:7: name`},
		{"about: [x]", `plan.yaml:1:8: about: want text`},
		{"grid: {lr: [1]}\n---\nseeds: 2", `plan.yaml:3:1: unknown key "seeds"`},
		{"cases: [{group: a/b}]", `plan.yaml:1:17: name "a/b"`},
		{"seeds: []", `plan.yaml:1:8: seeds: the list is empty`},
		{"seeds: 0", `plan.yaml:1:8: seeds: want a list`},
		{"seeds: [1, -2]", `plan.yaml:1:12: seeds: "-2": want a whole number`},
		{"seeds: [1, 1]", `plan.yaml:1:12: seeds: 1 is listed twice`},
		{"target-loss: no", `plan.yaml:1:14: target-loss: "no": want a positive number`},
		{"target-loss: -1", `plan.yaml:1:14: target-loss`},
		{"base: {data: \"digits", `plan.yaml:1:`},
	} {
		_, err := bench.ReadPlan("plan.yaml", []byte(c.text), caseFlags{})
		if err == nil || !errors.Is(err, config.ErrUsage) || !strings.HasPrefix(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestPlanExample reads the experiment among the examples: six cases at three rates.
func TestPlanExample(t *testing.T) {
	text, err := os.ReadFile(examples + "/staleness.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := bench.ReadPlan("staleness.yaml", text, caseFlags{})
	if err != nil || p.Name != "staleness" || len(p.Cases) != 18 || len(p.Seeds) != 2 {
		t.Fatalf("%d cases, %d seeds (%v)", len(p.Cases), len(p.Seeds), err)
	}
	if first, last := p.Cases[0].Name, p.Cases[17].Name; first != "delayed-0,lr=0.01" ||
		last != "async,workers=2,lr=0.1" {
		t.Errorf("from %s to %s", first, last)
	}
	_, help, _ := strings.Cut(sweepHelp, "\n\n    ")
	help, _, _ = strings.Cut("    "+help, "\n\n")
	p, err = bench.ReadPlan("help.yaml", []byte(strings.ReplaceAll(help, "\n    ", "\n")[4:]), caseFlags{})
	if err != nil || len(p.Cases) != 8 || len(p.Seeds) != 3 || p.Cases[7].Name != "averaged,lr=0.1,workers=2" {
		t.Errorf("the example in the help: %+v (%v)", p.Cases, err)
	}
}
