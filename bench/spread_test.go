package bench

import (
	"math"
	"testing"

	"pgregory.net/rapid"
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

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name    string
		a, with []Number
		text    string
	}{
		{"apart", []Number{6, 5, 7}, []Number{10, 10, 10}, "0.60 (0.50 to 0.70)"},
		{"turn by turn", []Number{2, 4, 8}, []Number{20, 40, 80}, "0.10"},
		{"apart above", []Number{30, 20}, []Number{10, 10}, "2.50 (2.00 to 3.00)"},
		{"overlapping", []Number{6, 5, 10}, []Number{9, 10, 12}, "undecided"},
		{"touching", []Number{1, 2}, []Number{2, 3}, "undecided"},
		{"the same", []Number{5}, []Number{5}, "equal"},
		{"within", []Number{5, 6}, []Number{1, 9}, "undecided"},
		{"close together", []Number{100, 101, 103}, []Number{99, 103, 102}, "equal"},
		{"medians alike, ranges wide", []Number{90, 100, 110}, []Number{92, 101, 109}, "undecided"},
		{"close, but apart", []Number{100, 101}, []Number{102, 103}, "0.98 (0.98 to 0.98)"},
		{"zero", []Number{0, 0}, []Number{0, 0}, ""},
		{"one of each", []Number{5}, []Number{4}, "1.25"},
		{"nothing", []Number{missing}, []Number{4}, ""},
		{"with nothing", []Number{4}, nil, ""},
		{"small", []Number{3, 3}, []Number{100, 100}, "0.03"},
	} {
		if got := Compare(c.a, c.with).String(); got != c.text {
			t.Errorf("%s: %q, want %q", c.name, got, c.text)
		}
	}
}

// TestVerdictLaws: two lists are equal or undecided whichever is asked first, factors are each
// other's inverse, and that of the medians lies within those of the turns.
func TestVerdictLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		draw := func(name string) []Number {
			return rapid.SliceOfN(rapid.Map(rapid.Float64Range(0.01, 100), func(x float64) Number { return Number(x) }), n, n).Draw(t, name)
		}
		a, b := draw("a"), draw("b")
		one, other := Compare(a, b), Compare(b, a)
		if one.Equal != other.Equal || one.Overlap != other.Overlap || one.Equal && !one.Overlap || math.Abs(one.Ratio*other.Ratio-1) > 1e-9 {
			t.Fatalf("%v and %v", one, other)
		}
		if n%2 == 1 && (one.Ratio < one.Low*(1-1e-9) || one.Ratio > one.High*(1+1e-9)) {
			t.Fatalf("%v is not within its range", one)
		}
	})
}
