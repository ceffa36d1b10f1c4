package page

import (
	"strings"
	"testing"

	"hogwild/bench"
)

// TestTableOfRates: each case has its rate, those tried with their losses, and the time to each target; the command of a
// case has the rate.
func TestTableOfRates(t *testing.T) {
	e := handmade()
	for i := range e.Cases {
		c := &e.Cases[i]
		c.LRUsed = []bench.Number{0.2, 0.2, 0.2}
		c.Chosen = []bench.Setting{{Flag: "lr-cap", Value: "off"}, {Flag: "lr", Value: "0.2"}}
		c.Search = &bench.Search{Set: "validation", Seeds: []uint64{1001, 1002}, Rates: []float64{0.1, 0.2, 0.4}, LR: 0.2,
			Losses: [][]bench.Number{{0.7, 0.5}, {0.4, 0.5}, {0.3, bench.Number(nan)}}}
		c.Further = []bench.Reached{{Target: 0.6, SecondsToTarget: []bench.Number{0.25, 0.25, bench.Number(nan)}}}
	}
	p := OfExperiment(e)
	for _, c := range [][3]string{{"Results", "learning rate", "0.2"}, {"More figures of each case", "time (s) to loss 0.6000", "0.250, 2 of 3"},
		{"Learning rates tried", "0.1", "0.6000"}, {"Learning rates tried", "0.2", "0.4500"}, {"Learning rates tried", "0.4", "failed"}, {"Learning rates tried", "best", "0.2"}} {
		if got := cell(t, p, c[0], "sync-2", c[1]); got != c[2] {
			t.Errorf("%s, %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
	if code := p.Sections[len(p.Sections)-1].Code; !strings.Contains(code, "--mode sync --workers 2 --lr-cap off --lr 0.2\n") {
		t.Errorf("commands:\n%s", code)
	}
	whole(t, p)
}
