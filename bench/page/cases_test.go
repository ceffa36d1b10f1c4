package page

import (
	"slices"
	"testing"

	"hogwild/bench"
)

// sixfold is an experiment with its three repeats twice: fewer than five have no verdict.
func sixfold(e *bench.Experiment) *bench.Experiment {
	e.Seeds = bench.FirstSeeds(6)
	for i := range e.Cases {
		c := &e.Cases[i]
		c.ExamplesPerSecond, c.SecondsToTarget = slices.Repeat(c.ExamplesPerSecond, 2), slices.Repeat(c.SecondsToTarget, 2)
	}
	return e
}

func TestVerdictsOfSpeeds(t *testing.T) {
	for _, c := range []struct {
		want   string
		repeat int
		rates  []bench.Number // of sync with one worker; of async 100, 110 and 120 thousand
	}{
		{"0.95", 2, []bench.Number{95e3, 104.5e3, 114e3}}, // ranges overlap, but each round says the same
		{"undecided", 2, []bench.Number{120e3, 110e3, 100e3}},
		{"undecided", 1, []bench.Number{50e3, 55e3, 60e3}},
	} {
		e := handmade()
		e.Cases[3].ExamplesPerSecond = c.rates
		if c.repeat > 1 {
			e = sixfold(e)
		}
		if got := cell(t, OfExperiment(e), "Results", "sync-1", "speed vs async"); got != c.want {
			t.Errorf("%v: %q, want %q", c.rates, got, c.want)
		}
	}
}
