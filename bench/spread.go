package bench

import (
	"math"
	"slices"
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

// ratios are those of a list to another, repeat by repeat.
func ratios(a, to []Number) []Number {
	all := make([]Number, min(len(a), len(to)))
	for i := range all {
		all[i] = a[i] / to[i]
	}
	return all
}
