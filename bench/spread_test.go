package bench

import (
	"math"
	"testing"
)

var missing = Number(math.NaN())

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		list []Number
		want Spread
	}{
		{[]Number{3}, Spread{3, 3, 3, 1}},
		{[]Number{5, 1, 3}, Spread{3, 1, 5, 3}},
		{[]Number{4, 1, 3, 2}, Spread{2.5, 1, 4, 4}},
		{[]Number{missing, 7, Number(math.Inf(1)), 9}, Spread{8, 7, 9, 2}},
	} {
		if got := Summarize(c.list); got != c.want {
			t.Errorf("Summarize(%v) = %v, want %v", c.list, got, c.want)
		}
	}
	if s := Summarize([]Number{missing}); s.N != 0 || !math.IsNaN(s.Median) || !math.IsNaN(s.Low) {
		t.Errorf("nothing is summarized as %v", s)
	}
}
