package figure

import (
	"math"
	"strings"
	"testing"
)

// TestTicks has the labels that a person would write.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		lo, hi float64
		n      int
		want   string
	}{
		{Axis{}, 0, 1, 5, "0 0.2 0.4 0.6 0.8 1.0"},
		{Axis{}, 0.24, 1.55, 5, "0.4 0.6 0.8 1.0 1.2 1.4"},
		{Axis{}, 0, 8, 4, "0 2 4 6 8"},
		{Axis{}, -6, 6, 5, "-6 -4 -2 0 2 4 6"},
		{Axis{}, 0, 2e6, 4, "0 500_k 1_M 1.5_M 2_M"},
		{Axis{}, 0, 9000, 5, "0 2000 4000 6000 8000"},
		{Axis{}, 0, 21000, 4, "0 5_k 10_k 15_k 20_k"},
		{Axis{Label: "time, s"}, 0, 21000, 4, "0 5000 10000 15000 20000"},
		{Axis{}, 0, 2.5e-6, 5, "0 5e-7 1e-6 1.5e-6 2e-6 2.5e-6"},
		{Axis{}, 0, 3e20, 3, "0 1e20 2e20 3e20"},
		{Axis{}, 96.91, 97.12, 5, "96.95 97.00 97.05 97.10"},
		{Axis{Log: true}, 0.09, 30, 5, "0.1 1 10"},
		{Axis{Log: true}, 1e-5, 1, 8, "1e-5 1e-4 0.001 0.01 0.1 1"},
		{Axis{Log: true}, 1e-8, 1, 5, "1e-8 1e-6 1e-4 0.01 1"},
		{Axis{Log: true}, 1, 2e6, 8, "1 10 100 1_k 10_k 100_k 1_M"},
		{Axis{Log: true}, 0.9, 9, 5, "1 2 5"},
		{Axis{Log: true}, 30000, 41000, 4, "30_k 35_k 40_k"},
	} {
		s := span{c.lo, c.hi}
		if c.axis.Log {
			s = span{math.Log10(c.lo) - 1e-9, math.Log10(c.hi) + 1e-9}
		}
		var labels []string
		for _, tick := range c.axis.ticks(s, c.n) {
			labels = append(labels, strings.ReplaceAll(tick.label, "\u00a0", "_"))
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("from %v to %v: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

// TestFewCountsAreLabelled: where there are a few whole numbers, these are the labels.
func TestFewCountsAreLabelled(t *testing.T) {
	f := &Figure{X: Axis{Label: "workers"},
		Series: []Series{{Points: []Point{{X: 1, Y: 1}, {X: 2, Y: 2}, {X: 4, Y: 3}, {X: 16, Y: 4}}}}}
	var labels []string
	for _, tick := range f.layout().xTicks {
		labels = append(labels, tick.label)
	}
	if got := strings.Join(labels, " "); got != "1 2 4 16" {
		t.Errorf("labels %s, want 1 2 4 16", got)
	}
}

// TestLongTitlesAreBroken: at words; what a line has no room for is cut off, and that is seen.
func TestLongTitlesAreBroken(t *testing.T) {
	f := &Figure{Title: strings.Repeat("one two three ", 5) + strings.Repeat("W", 50)}
	title := f.layout().title
	if len(title) != 3 || !strings.HasPrefix(title[0], "one two") || !strings.HasSuffix(title[1], " three") ||
		!strings.HasSuffix(title[2], "W…") {
		t.Errorf("%q", title)
	}
	for _, line := range title {
		if w := width(line, titleSize); w > figureWidth-2*edge {
			t.Errorf("%q is %.0f pixels wide", line, w)
		}
	}
}
