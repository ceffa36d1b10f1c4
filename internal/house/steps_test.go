package house

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// chosen returns what .ci/steps prints with arguments: the steps, and the packages that are tested in full.
func chosen(t *testing.T, args ...string) (steps, long []string) {
	t.Helper()
	out, err := exec.Command(".ci/steps", args...).Output()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	first, second, _ := strings.Cut(string(out), "\n")
	first, ok := strings.CutPrefix(first, "STEPS=")
	second, ok2 := strings.CutPrefix(second, "LONG=")
	if !ok || !ok2 {
		t.Fatalf("%q: it prints %q", args, out)
	}
	return strings.Fields(first), strings.Fields(second)
}

// listOnce puts a go on PATH that lists the dependences of all packages once, and prints the same list to each later
// call.
func listOnce(t *testing.T) {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\ntest -s %[1]s/list || %[2]s \"$@\" >%[1]s/list || exit\ncat %[1]s/list\n", dir,
		path)
	if err := os.WriteFile(dir+"/go", []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// TestStepsOfAChange: what changed decides what CI does.
func TestStepsOfAChange(t *testing.T) {
	inRoot(t)
	listOnce(t)
	const all = "vec-check noasm emulated race test-cuda test-mpi test-asan ptx-check release-check mpijob-check fuzz"
	for _, x := range []struct {
		paths, steps string
		full, short  string // packages that are tested in full, and such as are not
	}{
		{"docs/results/speed.md", "", "./cmd/hogwild ./bench", "./hogwild/run"},
		{"README.md", "", "./cmd/hogwild ./bench", "./hogwild/run"},
		{"cmd/hogwild/main.go", "", "./cmd/hogwild", "./hogwild/run ./bench"},
		{"bench/page/page.go", "", "./bench/page ./cmd/hogwild", "./hogwild/run ."},
		{"bench/live/live.go", "race", "./bench/live", "./hogwild/run"},
		{"hogwild/ability/exact.go", "race", "./hogwild/ability ./hogwild/run ./cmd/hogwild ./internal/chaos .",
			"./hogwild/data ./hogwild/cpu ./hogwild/model"},
		{"hogwild/rundir/testdata/some/file", "", "./hogwild/rundir ./hogwild/run", "./hogwild/data"},
		{"hogwild/run/resume_test.go", "race", "./hogwild/run", "./hogwild/data"},
		{"hogwild/model/linear.go", "noasm race test-cuda test-asan",
			"./hogwild/model ./hogwild/run", "./hogwild/nodes"},
		{"hogwild/device/device.go", "race test-cuda test-asan", "./hogwild/run", "./hogwild/data"},
		{"hogwild/control/block.go", "race test-cuda test-asan", "./hogwild/control", "./hogwild/data"},
		{"shm/view.go", "vec-check noasm emulated race test-cuda test-asan",
			"./shm ./hogwild/run", "./internal/figure"},
		{"internal/vec/dense_amd64.s", "vec-check noasm emulated", "./internal/vec ./hogwild/model", "./shm"},
		{"internal/vec/gen/neon/dense.c", "vec-check noasm emulated", "./internal/vec", "./shm"},
		{"hogwild/nodes/mpi/hogwild-mpi.c", "test-mpi", "./hogwild/nodes ./hogwild/peers", "./hogwild/run"},
		{"hogwild/peers/group.go", "race test-mpi", "./hogwild/peers ./cmd/hogwild", "./hogwild/run"},
		{"cuda/gpu.go", "test-cuda test-asan", "./cuda", "./hogwild/run"},
		{"cuda/kernels/mlp.cu cuda/ptx/mlp.ptx", "test-cuda test-asan ptx-check", "", "./hogwild/run"},
		{"packaging/dist.sh", "release-check", "./cmd/hogwild", "./hogwild/run"},
		{"pyproject.toml docs/install.md", "release-check", "./cmd/hogwild", ""},
		{"examples/mpijob.yaml", "mpijob-check", "", "./hogwild/run"},
		{"docs/modes.md Makefile", all, "./...", ""},
		{".ci/run", all, "./...", ""},
		{"go.sum", all, "./...", ""},
		{"--all", all, "./...", ""},
	} {
		steps, long := chosen(t, strings.Fields(x.paths)...)
		if got := strings.Join(steps, " "); got != x.steps {
			t.Errorf("%s: steps %q, want %q", x.paths, got, x.steps)
		}
		for _, p := range strings.Fields(x.full) {
			if !slices.Contains(long, p) {
				t.Errorf("%s: %s is not tested in full", x.paths, p)
			}
		}
		for _, p := range strings.Fields(x.short) {
			if slices.Contains(long, p) {
				t.Errorf("%s: %s is tested in full", x.paths, p)
			}
		}
	}
	t.Setenv("ALL", "true")
	if steps, _ := chosen(t); strings.Join(steps, " ") != all {
		t.Errorf("ALL=true: %q", steps)
	}
}

// TestStepsFromGit: the change is what a branch has that main has not, committed or not; on main it is what a merge has
// merged. Where git does not know it, all is done: the last of many commits on main says little of them.
func TestStepsFromGit(t *testing.T) {
	inRoot(t)
	dir := t.TempDir()
	run := func(line string) string {
		t.Helper()
		cmd := exec.Command("bash", "-e", "-c", line)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return string(out)
	}
	script, err := os.ReadFile(".ci/steps")
	if err != nil {
		t.Fatal(err)
	}
	steps := func(want string) {
		t.Helper()
		if first, _, _ := strings.Cut(run(".ci/steps"), "\n"); first != "STEPS="+want {
			t.Errorf("%s, want %s", first, want)
		}
	}
	const commit = `git add -A; git -c user.name=a -c user.email=a@localhost commit --quiet -m x`
	run("git init --quiet -b main; mkdir -p .ci cuda docs packaging; echo 'module hogwild' >go.mod")
	if err := os.WriteFile(dir+"/.ci/steps", script, 0o777); err != nil {
		t.Fatal(err)
	}
	everything, _ := chosen(t, "--all")
	all := strings.Join(everything, " ")
	steps(all) // no commit
	run(commit)
	steps(all) // the first one
	run("touch cuda/a; " + commit)
	steps(all)
	run("echo 1 >cuda/a")
	steps("test-cuda test-asan")
	run("git checkout --quiet .; git switch --quiet -c side; touch packaging/b; " + commit + "; touch packaging/c; " +
		commit + "; git switch --quiet main; " +
		"git -c user.name=a -c user.email=a@localhost merge --quiet --no-ff -m m side")
	steps("release-check")
	run("git switch --quiet -c mine; touch packaging/a; " + commit + "; touch docs/a; " + commit)
	steps("release-check")
	run("touch cuda/b; git add cuda/b")
	steps("test-cuda test-asan release-check")
	run("git branch --quiet -D main")
	steps(all)
}

// TestMakefileNamesTests: tests that the Makefile chooses by name exist.
func TestMakefileNamesTests(t *testing.T) {
	inRoot(t)
	all := ""
	for _, s := range sources(t) {
		if s.tests {
			all += string(s.text)
		}
	}
	list := regexp.MustCompile(`(?m)^(?:RACE_RUNS|IN_TURNS) = \^Test\((.*)\)\$\$$`)
	lists := list.FindAllStringSubmatch(text(t, "Makefile"), -1)
	if len(lists) != 2 {
		t.Fatalf("%d lists of tests", len(lists))
	}
	for _, list := range lists {
		for _, name := range regexp.MustCompile(`\w+\([^)]*\)|\w+`).FindAllString(list[1], -1) {
			if !regexp.MustCompile(`func Test` + name + `\(t `).MatchString(all) {
				t.Errorf("there is no Test%s", name)
			}
		}
	}
}
