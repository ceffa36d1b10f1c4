package bench

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
)

// raced is an experiment of plans/asgd.yaml with five seeds, whose runs reach the loss at the virtual times that a
// function makes of a case; NaN: they end above it.
func raced(t *testing.T, time func(group, rule string) float64) *Experiment {
	t.Helper()
	p, err := BuiltInPlan(asgdName, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Clock || p.AtOnce != 2 || p.TargetLoss != 0.2 {
		t.Errorf("the plan: clock %v, %d at once, target %v", p.Clock, p.AtOnce, p.TargetLoss)
	}
	e := &Experiment{Kind: "reproduce", Name: p.Name, Seeds: FirstSeeds(5)}
	for k, c := range p.Cases {
		m := Measured{Case: c, Runs: make([]Run, 5)}
		LRUsed.Put(&m, 0.1)
		for i := range 5 {
			at := (1 + 0.0005*float64((i+k)%5)) * time(c.Group, strings.TrimPrefix(c.Name, c.Group+"-"))
			h := []rundir.EpochResult{epochOn(0.5*at, 1), epochOn(1.5*at, 0.1)} // on the line: 0.2 at 1.389
			if math.IsNaN(at) {
				h = h[:1]
			}
			m.Runs[i].History = h
		}
		e.Cases = append(e.Cases, m)
	}
	e.setTargets(p.TargetLoss)
	return e
}

// epochOn is an epoch that ends at a virtual time with a test loss.
func epochOn(time, loss float64) rundir.EpochResult {
	return rundir.EpochResult{TrainMetrics: map[string]float64{control.VirtualTime: time},
		Tested: rundir.Tested{TestLoss: loss}}
}

// TestVirtualTime compares with answers by hand.
func TestVirtualTime(t *testing.T) {
	h := []rundir.EpochResult{epochOn(100, 1), epochOn(300, 0.5), epochOn(400, 0.25)}
	for goal, want := range map[float64]float64{2: 100, 1: 100, 0.75: 200, 0.5: 300, 0.3: 380, 0.2: math.NaN()} {
		if got := VirtualTime(h, goal); math.Abs(got-want) > 1e-9 || math.IsNaN(got) != math.IsNaN(want) {
			t.Errorf("a loss of %v at %v, want %v", goal, got, want)
		}
	}
}

// TestClaims: each statement agrees with figures that it predicts, differs from their opposite, and is undecided or
// not measured otherwise.
func TestClaims(t *testing.T) {
	for _, c := range []struct {
		about, statement string
		a, b             float64 // virtual times; of other rules 100
		verdict          Agreement
		measured         string
	}{
		{"slow-8", "plain > minibatch", 100, 300, Agrees, "1.00, 0.33"},
		{"slow-8", "plain > minibatch", 300, 100, Differs, "1.00, 3.00"},
		{"slow-8", "plain > minibatch", 100, 100.1, Undecided, "1.00, 1.00"},
		{"slow-8", "plain > minibatch", 100, math.NaN(), Missing, "1.00, -"},
		{"slow-4", "clip:1 > drop:16", 50, 100, Agrees, "2.00, 1.00"},
		{"slow-4", "clip:1 > drop:16", 100, 50, Differs, "1.00, 2.00"},
		{"sqrt", "drop:16 > rennala:16", 90, 100, Agrees, "1.11, 1.00"},
		{"equal", "plain ≥ clip:1", 100, 103, Agrees, "1.00, 0.97"},
		{"equal", "plain ≥ clip:1", 100, 98, Agrees, "1.00, 1.02"},
		{"equal", "plain ≥ clip:1", 100, 80, Differs, "1.00, 1.25"},
		{"low-rate", "tail ≈ plain", 98, 100, Agrees, "1.02, 1.00"},
		{"low-rate", "tail ≈ plain", 80, 100, Differs, "1.25, 1.00"},
	} {
		a, b, _ := strings.Cut(c.statement, " ")
		_, b, _ = strings.Cut(b, " ")
		e := raced(t, func(group, rule string) float64 {
			switch {
			case group == c.about && rule == FolderName(a):
				return c.a
			case group == c.about && rule == FolderName(b):
				return c.b
			}
			return 100
		})
		f := finding(t, e, c.about, c.statement)
		if f.Verdict != c.verdict || f.Measured != c.measured {
			t.Errorf("times of %v and %v: %+v, want %q, %q", c.a, c.b, f, c.verdict, c.measured)
		}
		if f.Published == "" {
			t.Errorf("%+v: nobody says so", f)
		}
	}
}

// TestClaimsAreMeasured: the plan has all rules and speeds that a claim is about.
func TestClaimsAreMeasured(t *testing.T) {
	e, want := raced(t, func(string, string) float64 { return 100 }), 0
	for _, c := range claims() {
		if c.Figure == "sooner" {
			want += len(strings.Fields(c.In))
		}
	}
	list := e.Findings()
	if len(list) != want {
		t.Errorf("%d findings of %d claims", len(list), want)
	}
	for _, f := range list {
		if f.Verdict == Missing {
			t.Errorf("%+v", f)
		}
	}
	quick, err := BuiltInPlan(asgdName, map[string]any{"Quick": true}, nil)
	if err != nil || quick.Name != "asgd-quick" || len(quick.Cases) != 2*7+4 {
		t.Errorf("the quick plan %q has %d cases, %v", quick.Name, len(quick.Cases), err)
	}
}

// TestAsgdText: the tables have the times, and what plain would have.
func TestAsgdText(t *testing.T) {
	e := raced(t, func(group, rule string) float64 {
		switch {
		case group == "slow-4" && rule == "inverse":
			return math.NaN()
		case rule == "minibatch":
			return 400
		}
		return 100
	})
	var b bytes.Buffer
	if err := e.WriteReproduction(&b); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
		if n := len([]rune(line)); n > 130 {
			t.Errorf("a line of %d signs: %s", n, line)
		}
	}
	for _, want := range []string{"slow-8 plain 0.1 139 1.00", "slow-4 inverse 0.1 not reached",
		"slow-8 minibatch 0.1 556 (556 to 557) 0.25", "minibatch 0.25 0.25 0.25 0.25 0.25",
		"RULE EQUAL SLOW-8 SLOW-4 SQRT EXP", "inverse 1.00 1.00 - 1.00 1.00"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, &b)
		}
	}
	for _, no := range []string{"smoke", "noisy", "TIME TO: training"} {
		if strings.Contains(b.String(), no) {
			t.Errorf("%q in\n%s", no, &b)
		}
	}
}

// A trainer on a clock: the farther its rate is from --best, the later it reaches a loss of 0.5, and more than a factor
// of two away it does not.
const clockPlayer = `
for a in "$@"; do case $a in
--lr=*) lr=${a#*=} ;;
--best=*) best=${a#*=} ;;
--run=*) run=${a#*=} ;;
esac; done
echo "$lr ${run##*/}" >> "${run%/*/*}/starts"
mkdir -p "$run"
awk -v lr="$lr" -v best="$best" -v run="$run" '
BEGIN {
	x = log(lr / best) / log(2); x = 1 + (x < 0 ? -x : x)
	printf "mode: async\nworkers: 1\nlr: %s\nrun: %s\n", lr, run > run "/config.yaml"
	for (k = 1; k <= 2; k++) {
		l = x / k / k
		printf "{\"kind\": \"epoch\", \"epoch\": %d, \"test_loss\": %f, \"validation_loss\": %f, \"train_metrics\": {\"virtual_time\": %d}}\n",
			k, l, l, 100 * k > run "/metrics.jsonl"
	}
	printf "{\"mode\": \"async\", \"workers\": 1, \"seconds\": 4, \"test_loss\": 1, \"lr_used\": %s}\n", lr > run "/result.json"
}'
`

// TestSearchOnAClock: each case finds the rate at which it is first at the target, though runs end there, and all try
// the same rates, which lie a root of two apart.
func TestSearchOnAClock(t *testing.T) {
	r, p := contest(t, "best=0.1 target-loss=0.5", "best=0.566 target-loss=0.5", "best=0.05 target-loss=0.5")
	if err := os.WriteFile(r.Program[1], []byte(clockPlayer), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Clock, p.TargetLoss, p.AtOnce = true, 0.5, 2
	e, err := r.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rates(e)); got != "[0.1 0.566 0.05]" {
		t.Errorf("rates %s", got)
	}
	for _, c := range e.Cases {
		want := []float64{0.0354, 0.05, 0.0707, 0.1, 0.141, 0.2, 0.283, 0.4, 0.566, 0.8}
		if c.Search == nil || !cmp.Equal(c.Search.Rates, want) || c.Search.AtEdge {
			t.Errorf("%s: %+v, want the rates %v", c.Name, c.Search, want)
		}
	}
	const byHand = 100 + 100*(1-0.5)/0.75 // at its best rate
	if got := VirtualTime(e.Cases[1].Runs[0].History, 0.5); math.Abs(got-byHand) > 1e-3 {
		t.Errorf("it reaches the loss at %v, want %v", got, byHand)
	}
}

// TestRunsAtOnce: two runs that wait for each other come to an end where two go on at a time, and a mistake in one
// ends the experiment.
func TestRunsAtOnce(t *testing.T) {
	r := aRunner(t)
	meeting := strings.Replace(standIn, "case $how in\n", `case $how in
good) : > "$folder/here.${run##*/}"; i=0
	while [ $(ls "$folder" | grep -c '^here') -lt 2 ] && [ $i -lt 500 ]; do sleep 0.02; i=$((i+1)); done
	[ $i -lt 500 ] || exit 1 ;;
`, 1)
	if err := os.WriteFile(r.Program[1], []byte(meeting), 0o600); err != nil {
		t.Fatal(err)
	}
	p := aPlan([]uint64{1}, "good", "good")
	p.Cases[1].Name, p.AtOnce = "too", 2
	e, err := r.Run(t.Context(), p)
	if err != nil || e.Cases[0].Runs[0].Failed != "" || e.Cases[1].Runs[0].Failed != "" {
		t.Errorf("two that wait for each other: %v, %+v", err, e)
	}
	if _, err := os.Stat(filepath.Join(r.Folder, "results.json")); err != nil {
		t.Error(err)
	}
	p = aPlan([]uint64{1}, "usage", "wait")
	p.AtOnce = 2
	if _, err := r.Run(t.Context(), p); err == nil || !strings.Contains(err.Error(), "no such file (case usage)") {
		t.Errorf("a mistake beside another run: %v", err)
	}
}
