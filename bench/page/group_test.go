package page

import (
	"slices"
	"strings"
	"testing"

	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// sixfold is an experiment with its three repeats twice: fewer than five have no verdict.
func sixfold(e *bench.Experiment) *bench.Experiment {
	e.Seeds = bench.FirstSeeds(6)
	for i := range e.Cases {
		c := &e.Cases[i]
		c.Runs = slices.Repeat(c.Runs, 2)
	}
	return e
}

func TestVerdictsOfSpeeds(t *testing.T) {
	for _, c := range []struct {
		want   string
		repeat int
		rates  []float64 // of sync with one worker; of async 100, 110 and 120 thousand
	}{
		{"0.95", 2, []float64{95e3, 104.5e3, 114e3}}, // ranges overlap, but each round says the same
		{"undecided", 2, []float64{120e3, 110e3, 100e3}},
		{"undecided", 1, []float64{50e3, 55e3, 60e3}},
	} {
		e := handmade()
		put(bench.Rate, &e.Cases[3], c.rates...)
		if c.repeat > 1 {
			e = sixfold(e)
		}
		if got := cell(t, OfExperiment(e), "Speed", "sync-1", "vs async"); got != c.want {
			t.Errorf("%v: %q, want %q", c.rates, got, c.want)
		}
	}
}

// TestTableOfRates: each case has its rate, those tried with their losses, and the time to each target; the command of
// a case has the rate.
func TestTableOfRates(t *testing.T) {
	e := handmade()
	for i := range e.Cases {
		c := &e.Cases[i]
		put(bench.LRUsed, c, 0.2, 0.2, 0.2)
		c.Chosen = []bench.Setting{{Flag: "lr-cap", Value: "off"}, {Flag: "lr", Value: "0.2"}}
		c.Search = &bench.Search{Set: "validation", Seeds: []uint64{1001, 1002},
			Rates: []float64{0.1, 0.2, 0.4}, LR: 0.2,
			Losses: [][]human.Number{{0.7, 0.5}, {0.4, 0.5}, {0.3, human.NumberOf(nil)}}}
		c.Targets = append(c.Targets, 0.6)
		for k, x := range []human.Number{0.25, 0.25, human.NumberOf(nil)} {
			c.Runs[k].SecondsToTarget = append(c.Runs[k].SecondsToTarget, x)
		}
	}
	p := OfExperiment(e)
	for _, c := range [][3]string{{"Results", "LR", "0.2"}, {"Results", "time to 0.6", "0.250 s, 2 of 3"},
		{"Learning rates tried", "0.1", "0.6000"}, {"Learning rates tried", "0.2", "0.4500"},
		{"Learning rates tried", "0.4", "failed"}, {"Learning rates tried", "best", "0.2"}} {
		if got := cell(t, p, c[0], "sync-2", c[1]); got != c[2] {
			t.Errorf("%s, %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
	if code := p.Sections[len(p.Sections)-1].Code; !strings.Contains(code,
		"--mode sync --workers 2 --lr-cap off --lr 0.2\n") {
		t.Errorf("commands:\n%s", code)
	}
	whole(t, p)
}

// TestFigureOfTimes: it has the target by which cases are compared, a run that missed it counted as the last: no mark
// where that is the median run, no range where it is another.
func TestFigureOfTimes(t *testing.T) {
	e := handmade()
	for i := range e.Cases {
		of := &e.Cases[i]
		of.Targets = []human.Number{0.42, 0.52}
		for k, x := range []human.Number{0.3, 0.2, 0.25} {
			of.Runs[k].SecondsToTarget = []human.Number{x, 0.2}
		}
	}
	e.Cases[1].Runs[2].SecondsToTarget[0] = human.NumberOf(nil)
	put(bench.SecondsToTarget, &e.Cases[2], 0.3, nan, nan)
	f := drawing(t, OfExperiment(e), "time-to-target")
	if want := "Training time to a test loss of 0.4200"; f.Title != want {
		t.Errorf("the title is %q, want %q", f.Title, want)
	}
	for i, want := range []figure.Point{{X: 1, Y: 0.25, Low: 0.2, High: 0.3}, {X: 2, Y: 0.3, Low: 0.3, High: 0.3}} {
		if got := series(t, f, "async").Points[i]; got != want {
			t.Errorf("point %d is %v, want %v", i, got, want)
		}
	}
	if got := series(t, f, "async").Points[2].Y; human.Finite(got) {
		t.Errorf("a mark at %v, where the median run missed", got)
	}
}
