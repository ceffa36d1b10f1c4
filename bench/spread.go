package bench

import (
	"fmt"
	"math"
	"slices"

	"hogwild/internal/human"
)

// Spread is the median of repeats and their range; N is how many there are, without
// those that are not finite.
type Spread struct {
	Median, Low, High float64
	N                 int
}

// Summarize is the spread of a list. That of nothing is NaN.
func Summarize(list []Number) Spread {
	var v []float64
	for _, x := range list {
		if finite(float64(x)) {
			v = append(v, float64(x))
		}
	}
	n := len(v)
	if n == 0 {
		return Spread{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	slices.Sort(v)
	return Spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1], n}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Verdict compares two lists. Where their ranges overlap the repeats do not decide which is larger,
// unless all of them are so close together that the difference is small either way.
type Verdict struct {
	Ratio     float64 // of the medians; NaN: one of them has no figures
	Low, High float64 // of the ratios repeat by repeat: what fell on both at one time is not in them
	Overlap   bool    // the ranges overlap
	Equal     bool    // and all repeats of both lie within 5%
}

// closeBy is how far apart repeats may lie that are called equal.
const closeBy = 0.05

// Compare compares a list with another.
func Compare(a, with []Number) Verdict {
	x, y := Summarize(a), Summarize(with)
	r := Summarize(ratios(a, with))
	overlap := x.Low <= y.High && y.Low <= x.High
	low, high := min(x.Low, y.Low), max(x.High, y.High)
	return Verdict{x.Median / y.Median, r.Low, r.High, overlap, overlap && high-low <= closeBy*math.Abs(low)}
}

// ratios are those of a list to another, repeat by repeat.
func ratios(a, to []Number) []Number {
	all := make([]Number, min(len(a), len(to)))
	for i := range all {
		all[i] = a[i] / to[i]
	}
	return all
}

// String is "equal", "undecided", or the factor and its range: 0.62 (0.60 to 0.65).
func (v Verdict) String() string {
	switch {
	case !finite(v.Ratio):
		return ""
	case v.Equal:
		return "equal"
	case v.Overlap:
		return "undecided"
	case v.Low == v.High || !finite(v.Low):
		return human.Factor(v.Ratio)
	}
	return fmt.Sprintf("%s (%s to %s)", human.Factor(v.Ratio), human.Factor(v.Low), human.Factor(v.High))
}
