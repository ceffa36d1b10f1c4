package page

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hogwild/bench"
	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// repeated is an experiment of a plan with five repeats, all alike: a case has as many thousand
// examples a second as workers.
func repeated(p bench.Plan) *bench.Experiment {
	e := &bench.Experiment{Kind: p.Kind, Name: p.Name, Seeds: bench.FirstSeeds(5),
		Command: "hogwild reproduce " + p.Name}
	for _, c := range p.Cases {
		n, _ := strconv.Atoi(setting(c.Settings, "workers"))
		epochs, _ := strconv.Atoi(setting(c.Settings, "epochs"))
		m := bench.Measured{Case: c, Mode: setting(c.Settings, "mode"), Workers: n, Config: config.Default()}
		var h []rundir.EpochResult
		for k := range epochs {
			accuracy := 0.9
			h = append(h, rundir.EpochResult{TrainLoss: float64(epochs - k),
				Tested: rundir.Tested{TestAccuracy: &accuracy}})
		}
		for seed := range e.Seeds {
			m.Runs = append(m.Runs, bench.Run{Seed: uint64(seed) + 1, History: h, Result: &rundir.Result{
				ExamplesPerSecond: float64(1000 * n), TrainLoss: 0.25, Tested: rundir.Tested{TestLoss: 0.3}}})
		}
		e.Cases = append(e.Cases, m)
	}
	return e
}

func TestReproduction(t *testing.T) {
	plan, err := bench.PaperPlan(bench.PaperOptions{Quick: true, Size: 1, Workers: []int{1, 2, 4}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := OfExperiment(repeated(plan))
	var names []string
	for _, f := range p.Figures() {
		names = append(names, f.Name)
		if f.X.Label == "" || f.Y.Label == "" || f.Caption == "" {
			t.Errorf("%s: axes %q and %q, caption %q", f.Name, f.X.Label, f.Y.Label, f.Caption)
		}
	}
	want := "[speed-up-rcv1 speed-up-netflix speed-up-jumbo speed-up-abdomen speed-up-dblife]"
	if got := fmt.Sprint(names); got != want {
		t.Errorf("figures %s, want %s", got, want)
	}
	for _, s := range p.Figures()[0].Series {
		switch s.Name {
		case "ideal": // no further than what was measured
			if fmt.Sprint(s.Points) != "[{1 1 0 0} {4 4 0 0}]" {
				t.Errorf("%s: %v", s.Name, s.Points)
			}
		case "AIG, paper":
			if len(s.Points) != 4 {
				t.Errorf("%s: %v", s.Name, s.Points)
			}
		case "AIG, measured": // 1, 2 and 4 workers, each against one of Hogwild!
			if fmt.Sprint(s.Points) != "[{1 1 1 1} {2 2 2 2} {4 4 4 4}]" {
				t.Errorf("%s: %v", s.Name, s.Points)
			}
		case "merged, measured":
			if len(s.Points) != 2 {
				t.Errorf("%s: %v", s.Name, s.Points)
			}
		}
	}
	for _, c := range []struct{ delay, head, want string }{{"1e-09", "AIG", "2.64"}, {"1e-09", "source", "paper"}} {
		if got := cell(t, p, "Slow gradients", c.delay, c.head); got != c.want {
			t.Errorf("%s with a delay of %s s: %q, want %q", c.head, c.delay, got, c.want)
		}
	}
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"arXiv:1106.5730", "Claims and measurements", ">differs<", ">undecided<", "0.339"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}

// TestReproductionUnfinished: a page can be made of what there is, be it nothing.
func TestReproductionUnfinished(t *testing.T) {
	plan, err := bench.PaperPlan(bench.PaperOptions{Quick: true, Size: 1, Workers: []int{1, 2}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := repeated(plan)
	all := e.Cases
	for _, part := range [][]bench.Measured{nil, all[:1], all[1:5], all[len(all)-3:]} {
		e.Cases = part
		var b bytes.Buffer
		if err := OfExperiment(e).WriteHTML(&b); err != nil || b.Len() == 0 {
			t.Errorf("%d cases: %v", len(part), err)
		}
	}
}

func TestOfTutorial(t *testing.T) {
	plan, err := bench.BuiltInPlan("tutorial", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := OfExperiment(repeated(plan))
	if got := cell(t, p, "Claims and measurements", "tutorial", "published"); got != "87%, 92%, 93% by epoch" {
		t.Errorf("the tutorial has %q", got)
	}
	if got := cell(t, p, "Accuracies and times", "tutorial-sync-4", "by epoch"); got != "90%, 90%, 90%" {
		t.Errorf("by epoch %q, want 90%% three times", got)
	}
}

func TestOfSpeedrun(t *testing.T) {
	plan, err := bench.BuiltInPlan("speedrun", map[string]any{"Data": "mnist"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := repeated(plan)
	for i := range e.Cases {
		c := &e.Cases[i]
		put(bench.TestAccuracy, c, slices.Repeat([]float64{0.985}, 5)...)
		put(bench.Examples, c, 1, 1, 1, 1, 1)
		put(bench.Seconds, c, 0.5, 0.5, 0.5, 0.5, 0.5)
	}
	p := OfExperiment(e)
	if got := cell(t, p, "Accuracies and times", "98-async-2", "runs at the goal"); got != "5 of 5" {
		t.Errorf("98%%: %q runs, want all five", got)
	}
	if got := cell(t, p, "Accuracies and times", "99-async-2", "runs at the goal"); got != "0 of 5" {
		t.Errorf("99%%: %q runs, want none", got)
	}
}

func TestOfAsgd(t *testing.T) {
	plan, err := bench.BuiltInPlan("asgd", map[string]any{"Quick": true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := repeated(plan)
	for i := range e.Cases {
		c := &e.Cases[i]
		last := 400.0
		if strings.HasSuffix(c.Name, "minibatch") {
			last = 1000
		}
		c.Targets = []human.Number{0.2}
		put(bench.LRUsed, c, 0.1, 0.1, 0.1, 0.1, 0.1)
		var h []rundir.EpochResult
		for k, loss := range []float64{0.6, 0.2} {
			h = append(h, rundir.EpochResult{Epoch: k + 1, Tested: rundir.Tested{TestLoss: loss},
				TrainMetrics: map[string]float64{control.VirtualTime: last * float64(k+1) / 2}})
		}
		for k := range c.Runs {
			c.Runs[k].History = h
		}
		c.Search = &bench.Search{Set: "validation", Seeds: []uint64{1001}, Rates: []float64{0.1, 0.141},
			Losses: [][]human.Number{{400}, {human.NumberOf(nil)}}, LR: 0.1}
	}
	p := OfExperiment(e)
	if got := cell(t, p, "Rules by speeds", "minibatch", "slow-8"); got != "0.40" {
		t.Errorf("minibatches are %q times as fast, want 0.40", got)
	}
	if got := cell(t, p, "slow-8: learning rates tried", "slow-8-plain", "0.1"); got != "400" {
		t.Errorf("a virtual time of %q in the search, want 400", got)
	}
	f := p.Figures()
	if len(f) != 3 || f[0].Name != "equal-loss-against-virtual-time" || f[1].Series[4].Name != "minibatch" ||
		fmt.Sprint(f[1].Series[4].Points) != "[{500 0.6 0 0} {1000 0.2 0 0}]" {
		t.Errorf("figures %+v", f)
	}
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"Rules for late gradients", "Virtual time to the target loss", "Ringmaster 2025"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}
