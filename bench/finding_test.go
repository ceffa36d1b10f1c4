package bench

import "testing"

// TestJudge: a statement is judged by what the repeats show, not by medians or by ranges that overlap.
func TestJudge(t *testing.T) {
	list := func(factor float64, percent ...float64) (all []float64) {
		for _, x := range percent {
			all = append(all, factor*(1+x/100))
		}
		return all
	}
	calm, wild := []float64{-1, 0.3, 0, 1, -0.4}, []float64{-20, 30, 10, -15, 0}
	for _, c := range []struct {
		name string
		is   relation
		a, b []float64
		want Agreement
	}{
		{"apart", above, list(1.2, calm...), list(1, 0, 0.5, -0.5, 0.2, 0.1), Agrees},
		{"apart the other way", above, list(1, calm...), list(1.2, 0, 0.5, -0.5, 0.2, 0.1), Differs},
		{"overlapping ranges, but apart in each round", above, list(1.1, wild...),
			list(1, -19, 29, 10, -16, 0), Agrees},
		{"overlapping ranges, but below in each round", above, list(1, wild...),
			list(1.1, -19, 29, 10, -16, 0), Differs},
		{"a wide range", above, list(1.1, wild...), list(1, calm...), Undecided},
		{"as good as, with equal medians and wide ranges", closeTo, list(1, wild...), list(1, calm...), Undecided},
		{"no worse, with equal medians and wide ranges", notBelow, list(1, wild...), list(1, calm...), Undecided},
		{"as good as", closeTo, list(1.01, calm...), list(1, 0, 0.5, -0.5, 0.2, 0.1), Agrees},
		{"not as good as", closeTo, list(1.15, calm...), list(1, 0, 0.5, -0.5, 0.2, 0.1), Differs},
		{"below, within the margin", notBelow, list(0.98, calm...), list(1, 0, 0.5, -0.5, 0.2, 0.1), Agrees},
		{"below the margin", notBelow, list(0.85, calm...), list(1, 0, 0.5, -0.5, 0.2, 0.1), Differs},
		{"above is not below", notBelow, list(1.5, calm...), list(1, 0, 0.5, -0.5, 0.2, 0.1), Agrees},
		{"the same numbers", closeTo, list(1, calm...), list(1, calm...), Agrees},
		{"the same numbers", above, list(1, calm...), list(1, calm...), Undecided},
		{"four repeats", above, list(2, 0, 0.5, 0.1, 0.2), list(1, 0, 0.1, 0.2, 0.3), Undecided},
		{"four repeats", notBelow, list(2, 0, 0.5, 0.1, 0.2), list(1, 0, 0.1, 0.2, 0.3), Undecided},
		{"four repeats", closeTo, list(1, 0, 0.5, 0.1, 0.2), list(1, 0, 0.1, 0.2, 0.3), Undecided},
		{"four that ended", above, append(list(2, 0, 0.5, 0.1, 0.2), missing),
			list(1, 0, 0.1, 0.2, 0.3, 0.4), Undecided},
		{"nothing", above, []float64{missing, missing}, list(1, 0, 0), Missing},
		{"losses below zero", above, list(-1, calm...), list(-1.2, 0, 0.5, -0.5, 0.2, 0.1), Agrees},
		{"losses below zero", closeTo, list(-1, calm...), list(-1, 0, 0.5, -0.5, 0.2, 0.1), Undecided},
	} {
		verdict, p := c.is.judge(pair(c.a, c.b))
		if verdict != Missing && !(p <= level) {
			verdict = Undecided
		}
		if verdict != c.want {
			t.Errorf("%s (%s): %s with p = %v, want %s", c.name, c.is, verdict, p, c.want)
		}
	}
}
