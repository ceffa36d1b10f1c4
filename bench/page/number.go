package page

import (
	"cmp"
	"math"

	"hogwild/bench"
)

// absent stands in a table for what was not measured.
const absent = "–"

// spreadText is the median of a list and, where there is one, its range.
func spreadText(list []bench.Number, text func(float64) string) string {
	return cmp.Or(bench.Summarize(list).Text(text), absent)
}

var nan = math.NaN()

// finite says whether x is a number that can be shown.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// numberText is a number or nothing.
func numberText(x float64, text func(float64) string) string {
	if !finite(x) {
		return absent
	}
	return text(x)
}
