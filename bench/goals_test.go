package bench

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/rundir"
)

// TestSpeedrunPlan: the rules. Nothing ends a run early, all rows are trained on, the test rows are no validation
// rows, and the cases of a goal have the same network, rate, epochs and batch.
func TestSpeedrunPlan(t *testing.T) {
	p, err := BuiltInPlan("speedrun", map[string]any{"Data": "mnist"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Cases) != 4 || p.TargetLoss != 0 {
		t.Fatalf("%d cases, target %v", len(p.Cases), p.TargetLoss)
	}
	first := map[string]*Case{}
	for i := range p.Cases {
		c := &p.Cases[i]
		for _, flag := range []string{"limit", "validation", "patience", "target-loss", "target-accuracy", "stop-after",
			"test", "tune", "init"} {
			if v := c.Value(flag); v != "" {
				t.Errorf("%s: --%s %s is against the rules", c.Name, flag, v)
			}
		}
		if first[c.Group] == nil {
			first[c.Group] = c
		}
		for _, flag := range []string{"data", "model", "batch", "lr", "epochs", "schedule", "lr-cap", "optimizer"} {
			if got, want := c.Value(flag), first[c.Group].Value(flag); got != want {
				t.Errorf("%s: --%s %s, and %s has %s", c.Name, flag, got, first[c.Group].Name, want)
			}
		}
		if c.Value("epochs") == "" {
			t.Errorf("%s: the number of epochs is not fixed", c.Name)
		}
	}
	if len(first) != 2 {
		t.Errorf("goals %v", first)
	}
}

// TestSpeedrunFindings: mean, standard error and p-value are as calculated by hand, and a figure of other images is not
// judged.
func TestSpeedrunFindings(t *testing.T) {
	above := []float64{0.981, 0.982, 0.983, 0.984, 0.985}
	for _, c := range []struct {
		name     string
		accuracy []float64
		images   float64
		want     Agreement
		measured string
		p        float64 // NaN: any
	}{
		// The mean is .983, the squares of the deviations sum to 1e-5: their error is sqrt(1e-5/4/5), and t = 18^.5,
		// for which Student's distribution with 4 degrees of freedom has a closed form.
		{"above", above, 60000, Agrees, "98.30% ± 0.071",
			0.5 - 3.0/8*math.Sqrt(18/5.5)*(1-18/5.5/12)},
		{"below", []float64{0.971, 0.972, 0.973, 0.974, 0.975}, 60000, Differs, "97.30% ± 0.071", math.NaN()},
		{"about", []float64{0.975, 0.985, 0.979, 0.982, 0.980}, 60000, Undecided, "98.02% ± 0.166", math.NaN()},
		{"other images", above, 3000, Undecided, "98.30% ± 0.071", math.NaN()},
		{"few", above[:3], 60000, Undecided, "98.20% ± 0.058", math.NaN()},
		{"one", above[:1], 60000, Undecided, "98.10%", math.NaN()},
		{"failed", []float64{math.NaN()}, 60000, Missing, "-", math.NaN()},
	} {
		m := *having(TestAccuracy, c.accuracy...)
		m.Case, m.Mode, m.Workers = Case{Name: "98-async-2", Group: "98"}, "async", 2
		m.Config.Epochs = 3
		Examples.Put(&m, slices.Repeat([]float64{3 * c.images}, len(c.accuracy))...)
		Seconds.Put(&m, slices.Repeat([]float64{0.3}, len(c.accuracy))...)
		e := &Experiment{Kind: "reproduce", Name: "speedrun", Seeds: FirstSeeds(len(c.accuracy)),
			Cases: []Measured{m}}
		list := e.Findings()
		if len(list) != 1 || list[0].Verdict != c.want || list[0].Measured != c.measured {
			t.Errorf("%s: %+v, want %s, %q", c.name, list, c.want, c.measured)
		} else if !math.IsNaN(c.p) && math.Abs(float64(list[0].P)-c.p) > 1e-9 {
			t.Errorf("%s: p = %v, want %v", c.name, list[0].P, c.p)
		}
	}
}

// speedrun is the results of a plan: 40 seeds, a quarter of which miss the goal; two workers without locks take 0.3 s,
// the others 0.5 s.
func speedrun(t *testing.T) *Experiment {
	p, err := BuiltInPlan("speedrun", map[string]any{"Data": "mnist"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &Experiment{Kind: "reproduce", Name: p.Name, Seeds: FirstSeeds(40)}
	for _, c := range p.Cases {
		m := Measured{Case: c, Mode: c.Value("mode"), Workers: int(c.Value("workers")[0] - '0')}
		m.Config.Epochs = 3
		for i := range 40 {
			beyond, seconds := 0.0003, 0.5
			if i%4 == 3 {
				beyond = -0.0002
			}
			if m.Mode == "async" && m.Workers == 2 {
				seconds = 0.3
			}
			accuracy := map[string]float64{"98": 0.98, "99": 0.99}[c.Group] + beyond
			m.Runs = append(m.Runs, Run{Took: 2 * seconds, Result: &rundir.Result{
				Seconds: seconds * (1 + float64(i)/1000), Examples: 180000,
				Tested: rundir.Tested{TestAccuracy: &accuracy}}})
		}
		e.Cases = append(e.Cases, m)
	}
	return e
}

// TestGoalTable: a row a case, and a finding on each goal and on the times to it.
func TestGoalTable(t *testing.T) {
	e := speedrun(t)
	rows := GoalTable(e).Rows
	if len(rows) != len(e.Cases) {
		t.Fatalf("%d rows of %d cases", len(rows), len(e.Cases))
	}
	got := strings.Join(rows[0], "; ")
	if !strings.HasPrefix(got, "98-async-2; 98%; 98.02% ± 0.003; 30 of 40; ") || !strings.HasSuffix(got, "; 0.600 s") {
		t.Errorf("the first row is %q", rows[0])
	}
	for _, f := range e.Findings() {
		if f.Verdict != Agrees {
			t.Errorf("%+v", f)
		}
	}
	if n := len(e.Findings()); n != 4 {
		t.Errorf("%d findings, want 2 for each goal", n)
	}
	var text bytes.Buffer
	if err := e.WriteReproduction(&text); err != nil || !strings.Contains(text.String(), "Verdicts: 4 agree") {
		t.Errorf("%v:\n%s", err, &text)
	}
	e.Cases[0].Group = "rcv1"
	if GoalTable(&Experiment{Kind: "reproduce", Cases: e.Cases[:1]}) != nil {
		t.Error("another experiment has a table of goals")
	}
}

// TestCommands: how long the process of each run took is kept, and nothing of one that failed.
func TestCommands(t *testing.T) {
	e, err := aRunner(t).Run(t.Context(), aPlan([]uint64{1, 2}, "good", "fail"))
	if err != nil {
		t.Fatal(err)
	}
	took := Command.Of(&e.Cases[0])
	for _, x := range took {
		if !(x > 0 && x < 3600) {
			t.Errorf("a run took %v s", x)
		}
	}
	if n := len(took); n != 2 {
		t.Errorf("%d times of 2 runs", n)
	}
	for _, x := range Command.Of(&e.Cases[1]) {
		if !math.IsNaN(x) {
			t.Errorf("a run that failed took %v s", x)
		}
	}
}
