package bench

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hogwild/hogwild/config"
	"hogwild/internal/human"
)

// A program that ends in the ways that a run may end. What it was started for goes to the
// file "starts" in the folder of the experiment.
const standIn = `
for a in "$@"; do case $a in
--how=*) how=${a#*=} ;;
--run=*) run=${a#*=} ;;
--seed=*) seed=${a#*=} ;;
esac; done
folder=${run%/runs/*}
echo "${run##*/}" >> "$folder/starts"
case $how in
fail) echo 'a warning' >&2; echo 'hogwild: the disk is full' >&2; exit 1 ;;
silent) exit 4 ;;
crash) printf 'panic: no such luck\n\ngoroutine 1 [running]:\n' >&2; exit 2 ;;
killed) mkdir -p "$run"; touch "$run/snapshot.safetensors.0a.tmp" "$run/.lock" "$run/control.sock"; kill -9 $$ ;;
nothing) exit 0 ;;
usage) echo 'hogwild: data nowhere: no such file' >&2; exit 2 ;;
wait) trap 'echo asked >> "$folder/starts"; exit 130' INT
	while :; do sleep 0.02; done ;;
esac
mkdir -p "$run"
printf 'mode: async\nworkers: 2\nseed: %s\nrun: %s\n' "$seed" "$run" > "$run/config.yaml"
echo '{"kind": "epoch", "epoch": 1, "seconds": 2, "test_loss": 0.5}' > "$run/metrics.jsonl"
touch "$run/weights.safetensors"
if [ "$how" = diverge ]; then
	echo '{"mode": "async", "workers": 2, "test_loss": null, "stopped": "diverged"}' > "$run/result.json"
	echo 'hogwild: the numbers diverged: worker 0' >&2
	exit 3
fi
echo '{"kind": "epoch", "epoch": 2, "seconds": 4, "test_loss": 0.'$seed'}' >> "$run/metrics.jsonl"
echo '{"mode": "async", "workers": 2, "device": "cpu", "seconds": 4, "examples": 8, "examples_per_second": '$seed'000,
	"test_loss": 0.'$seed', "test_accuracy": 0.9, "lr_used": 0.1, "parameters": 7, "machine": {"gpus": ["H9"]},
	"staleness_samples": 3, "staleness_mean": 1.5, "staleness_p99": 2, "staleness_histogram": [[0, 1], [2, 2]],
	"per_worker": [{"rank": 0, "examples_per_second": 5}, {"rank": 1, "examples_per_second": null}]}' > "$run/result.json"
`

// aRunner runs the stand-in, in a new folder.
func aRunner(t *testing.T) *Runner {
	t.Helper()
	script := filepath.Join(t.TempDir(), "standin.sh")
	if err := os.WriteFile(script, []byte(standIn), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Runner{Folder: t.TempDir(), Program: []string{"/bin/sh", script}}
}

// aPlan has a case for each way to end, with some seeds.
func aPlan(seeds []uint64, hows ...string) Plan {
	p := Plan{Kind: "sweep", Name: "ends", Seeds: seeds, Command: "hogwild sweep ends.yaml"}
	for _, how := range hows {
		p.Cases = append(p.Cases, Case{Name: how, Settings: []Setting{{"how", how}}})
	}
	return p
}

// starts are the runs that were started since the last call, sorted.
func starts(t *testing.T, r *Runner) []string {
	t.Helper()
	path := filepath.Join(r.Folder, "starts")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	_ = os.Remove(path)
	all := strings.Fields(string(text))
	slices.Sort(all)
	return all
}

// TestWaysToEnd: each is told, one that failed is tried again, no other is, and none
// keeps another from running.
func TestWaysToEnd(t *testing.T) {
	r := aRunner(t)
	p := aPlan([]uint64{1, 2}, "good", "diverge", "fail", "silent", "crash", "killed", "nothing")
	e, err := r.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range e.Cases {
		got[c.Name] = c.Runs[1].Failed
	}
	got["nothing"] = strings.ReplaceAll(got["nothing"], r.Folder, "DIR")
	want := map[string]string{"good": "", "diverge": "the numbers diverged: worker 0", "fail": "the disk is full",
		"silent": "exit status 4", "crash": "panic: no such luck", "killed": "killed by SIGKILL",
		"nothing": "DIR/runs/nothing.2 is not a run folder: open DIR/runs/nothing.2/config.yaml: no such file or " +
			"directory"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("why they failed:\n%s", diff)
	}
	if n := len(starts(t, r)); n != 14 {
		t.Errorf("%d runs were started, want 14", n)
	}
	if _, err := os.Stat(filepath.Join(r.Folder, "runs", "good.2", "weights.safetensors")); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("weights are kept: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(r.Folder, "runs", "killed.1")); err != nil || len(left) != 1 {
		t.Errorf("left of a run that was killed: %v, %v, want %s", left, err, trialFile)
	}
	if diff := cmp.Diff([]int{2, 2, 0, 0, 0, 0, 0}, r.Done(p)); diff != "" {
		t.Errorf("done:\n%s", diff)
	}
	if _, err := r.Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	again := starts(t, r)
	if slices.ContainsFunc(again, func(s string) bool {
		return strings.HasPrefix(s, "good") ||
			strings.HasPrefix(s, "diverge")
	}) || len(again) != 10 {
		t.Errorf("the second time these were started: %v", again)
	}
}

// TestMeasured: what a run says stands in the experiment, and in results.json.
func TestMeasured(t *testing.T) {
	r := aRunner(t)
	e, err := r.Run(t.Context(), aPlan([]uint64{3, 4}, "good", "diverge"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadExperiment(r.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asText(t, e), asText(t, back)); diff != "" {
		t.Errorf("results.json is another experiment:\n%s", diff)
	}
	c, none := &back.Cases[0], []float64{missing, missing}
	if c.Name != "good" || c.Mode != "async" || c.Workers != 2 || c.last().Device != "cpu" ||
		c.last().Parameters != 7 || len(c.Runs) != 2 || c.Runs[0].Seed != 3 || c.Runs[1].Seed != 4 ||
		len(c.Runs[0].History) != 2 {
		t.Errorf("good: %+v", c)
	}
	for i, want := range []float64{0.3675, 0.385, 0.455} { // 1.05, 1.1 and 1.3 times 0.35, the median of 0.3 and 0.4
		if got := float64(c.Targets[i]); math.Abs(got-want) > 1e-12 {
			t.Errorf("a target of %v, want %v", got, want)
		}
	}
	inf := math.Inf(1) // it missed the target
	for f, want := range map[*Figure][]float64{LRUsed: {0.1, 0.1}, Examples: {8, 8}, Seconds: {4, 4},
		Rate: {3000, 4000}, WallSeconds: none, Startup: {0, 0}, TrainLoss: {0, 0}, TestLoss: {0.3, 0.4},
		TestAccuracy: {0.9, 0.9}, TestRMSE: none, TestR2: none, Staleness: {1.5, 1.5}, StalenessP99: {2, 2},
		LostUpdates: {0, 0}, LostBelow: none, Conflicts: {0, 0}, BarrierWait: {0, 0}, NodeRounds: none,
		// from 0.5 at 2 s to 0.3, or to 0.4, at 4 s
		SecondsToTarget: {3.325, inf}, EpochsToTarget: {1.6625, inf}, secondsTo(1): {3.15, inf},
		secondsTo(2): {2.45, 2.9}} {
		if diff := cmp.Diff(want, f.Of(c), cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s of good:\n%s", f.Name, diff)
		}
	}
	if len(back.Machine.GPUs) != 1 || back.Machine.GPUs[0] != "H9" {
		t.Errorf("GPUs %q, want H9 once", back.Machine.GPUs)
	}
	if d := &back.Cases[1]; human.Finite(TestLoss.Of(d)[0]) || human.Finite(Rate.Of(d)[1]) ||
		d.Mode != "async" || len(d.Runs[0].History) != 1 || !d.Runs[0].Diverged {
		t.Errorf("what diverged: %+v", d)
	}
}

func pointers[T any](list []T) (all []*T) {
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

// asText compares with what JSON can say: NaN is equal to NaN there.
func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUsageError: a mistake of the user ends the experiment, which starts nothing more.
func TestUsageError(t *testing.T) {
	r := aRunner(t)
	p := aPlan([]uint64{1, 2, 3}, "good", "usage", "fail")
	_, err := r.Run(t.Context(), p)
	if !errors.Is(err, config.ErrUsage) || err.Error() != "data nowhere: no such file (case usage)" {
		t.Errorf("%v", err)
	}
	want := []string{}
	for _, i := range order(0, 3) {
		if want = append(want, p.Cases[i].Name+".1"); i == 1 {
			break
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, starts(t, r)); diff != "" {
		t.Errorf("started:\n%s", diff)
	}
	if _, err := r.Run(t.Context(), aPlan(nil, "good")); err == nil {
		t.Error("a plan without seeds is carried out")
	}
	if _, err := r.Run(t.Context(), aPlan([]uint64{1}, "a/b")); err == nil {
		t.Error("a case whose name is a path is carried out")
	}
	r.Program = []string{filepath.Join(r.Folder, "nowhere")}
	if _, err := r.Run(t.Context(), aPlan([]uint64{1}, "fail")); err == nil ||
		!strings.Contains(err.Error(), "nowhere: no such file") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestInterrupted: the run under way is asked to stop and does not count; what was done
// is kept, and a second Run does the rest, with the same results as one that was left alone.
func TestInterrupted(t *testing.T) {
	r := aRunner(t)
	p := aPlan([]uint64{1, 2}, "wait", "good") // in the first turn good comes first: see order
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for !strings.Contains(readFile(filepath.Join(r.Folder, "starts")), "wait.1") {
			time.Sleep(5 * time.Millisecond)
		}
		cancel(config.ErrTerminated)
	}()
	e, err := r.Run(ctx, p)
	if !errors.Is(err, config.ErrTerminated) || !strings.HasSuffix(err.Error(), "run `hogwild sweep ends.yaml` to "+
		"continue") {
		t.Fatalf("%v", err)
	}
	if got := starts(t, r); !slices.Contains(got, "asked") {
		t.Errorf("started %v: the run was not asked to stop", got)
	}
	if _, err := os.Stat(filepath.Join(r.Folder, "runs", "wait.1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was cut off is still there: %v", err)
	}
	if e == nil || e.Cases[0].Runs[0].Failed != notRun || e.Cases[1].Runs[0].Failed != "" {
		t.Errorf("the run that was cut off, and the one before it: %+v", e)
	}
	if saved, err := ReadExperiment(r.Folder); err != nil || asText(t, saved) != asText(t, e) {
		t.Errorf("results.json holds something else (%v)", err)
	}
	p.Cases[0].Settings[0].Value = "diverge" // it would wait for ever
	resumed, err := r.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got := starts(t, r); strings.Join(got, " ") != "good.2 wait.1 wait.2" {
		t.Errorf("started %v, want what was missing", got)
	}
	r.Folder = t.TempDir()
	whole, err := r.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	resumed.Time, whole.Time = time.Time{}, time.Time{}
	for _, e := range []*Experiment{resumed, whole} {
		for i := range e.Cases {
			e.Cases[i].Weights = filepath.Base(e.Cases[i].Weights) // the folders of the two differ
		}
	}
	if diff := cmp.Diff(asText(t, timeless(whole)), asText(t, timeless(resumed))); diff != "" {
		t.Errorf("the interrupted one has other results:\n%s", diff)
	}
	stopped, cancelled := context.WithCancel(t.Context())
	cancelled()
	if _, err := r.Run(stopped, aPlan([]uint64{9}, "good")); !errors.Is(err, config.ErrInterrupted) {
		t.Errorf("stopped before it began: %v", err)
	}
}

// timeless is an experiment without the times of its processes.
func timeless(e *Experiment) *Experiment {
	for i := range e.Cases {
		for k := range e.Cases[i].Runs {
			e.Cases[i].Runs[k].Took = 0
		}
	}
	return e
}

func readFile(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// TestRunAgain: other settings, another program, another machine, and when asked.
func TestRunAgain(t *testing.T) {
	r := aRunner(t)
	p := aPlan([]uint64{1}, "good", "diverge")
	run := func(why string, want ...string) {
		t.Helper()
		if _, err := r.Run(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if got := starts(t, r); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: started %v, want %v", why, got, want)
		}
	}
	edit := func(from, to string) {
		t.Helper()
		path := filepath.Join(r.Folder, "runs", "good.1", trialFile)
		text := readFile(path)
		if !strings.Contains(text, from) {
			t.Fatalf("no %s in %s", from, text)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, from, to)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("at first", "diverge.1", "good.1")
	run("nothing new")
	p.Cases[0].Settings = append(p.Cases[0].Settings, Setting{"lr", "1"})
	run("a setting more", "good.1")
	slices.Reverse(p.Cases[0].Settings)
	run("in another order")
	edit(`"value": "1"`, `"value": "2"`)
	run("another value", "good.1")
	edit(`"version": "`+config.Version, `"version": "0.0.1`)
	run("another program", "good.1")
	edit(`"cores": `, `"cores": 9`)
	run("another machine", "good.1")
	edit(`{`, ``)
	run("a damaged file", "good.1")
	p.Seeds = []uint64{1, 2}
	run("a seed more", "diverge.2", "good.2")
	r.Fresh = true
	run("fresh", "diverge.1", "diverge.2", "good.1", "good.2")
}

// TestFolderInUse: a second program in the same folder is refused.
func TestFolderInUse(t *testing.T) {
	r := aRunner(t)
	f, err := lockFolder(r.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), aPlan([]uint64{1}, "good")); !errors.Is(err, config.ErrUsage) ||
		!strings.Contains(err.Error(), "another hogwild is running") {
		t.Errorf("a second one: %v", err)
	}
	f.Close()
	if _, err := r.Run(t.Context(), aPlan([]uint64{1}, "good")); err != nil {
		t.Error(err)
	}
}

// TestOrder: every case once a turn, in orders that differ and are the same next time.
func TestOrder(t *testing.T) {
	const cases, turns = 6, 200
	first := make([]int, cases)
	for turn := range turns {
		got := order(turn, cases)
		if !slices.Equal(got, order(turn, cases)) {
			t.Fatalf("turn %d has two orders", turn)
		}
		first[got[0]]++
		slices.Sort(got)
		if !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) {
			t.Fatalf("turn %d: %v", turn, got)
		}
	}
	for i, n := range first { // 33 on average; the seed is fixed
		if n < turns/cases/2 || n > turns/cases*2 {
			t.Errorf("case %d is the first of %d turns of %d", i, n, turns)
		}
	}
}

// TestEnvironment: what would set a flag does not reach a run.
func TestEnvironment(t *testing.T) {
	got := environment([]string{"PATH=/bin", "HOGWILD_LR=1", "HOGWILD_DATA=/d", "HOGWILD_FAKE_CHECKS=all",
		"HOGWILD_RANK=0", "HOGWILD_BIN=b", "X=HOGWILD_LR=1"})
	want := []string{"PATH=/bin", "HOGWILD_DATA=/d", "HOGWILD_FAKE_CHECKS=all", "HOGWILD_BIN=b", "X=HOGWILD_LR=1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
