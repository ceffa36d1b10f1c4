package figure

import (
	"math"
	"strconv"
	"strings"
)

// number is the label of a value on an axis whose labels are multiples of step, up to
// largest: plain, with a prefix of the SI from 10,000 on (rates from 1,000), or with a power of ten.
func (a *Axis) number(v, step, largest float64) string {
	prefixed := 1e4
	switch {
	case strings.HasSuffix(a.Label, ", s"): // not thousands of seconds
		prefixed = 1e7
	case strings.HasSuffix(a.Label, "/s"): // as tables write rates
		prefixed = 1e3
	}
	switch {
	case v == 0:
		return "0"
	case largest >= 1e15 || step < 1e-5 && largest < 1e-2:
		return scientific(v, step)
	case largest < prefixed || math.Abs(v) < 1000:
		return fixed(v, step)
	}
	k := min(int(math.Log10(math.Abs(v))+1e-9)/3, 4)
	unit := math.Pow10(3 * k)
	return trim(fixed(v/unit, step/unit)) + "\u00a0" + []string{"", "k", "M", "G", "T"}[k]
}

// single is the label of a value on a logarithmic axis, whose steps grow: below 0.001 it is a
// power of ten.
func (a *Axis) single(v, unit float64, s span) string {
	if v < 0.999e-3 || v > 0.999e15 {
		return scientific(v, unit)
	}
	return a.number(v, unit, min(math.Pow(10, s.hi), 1e14))
}

// fixed has as many decimals as a multiple of step.
func fixed(v, step float64) string {
	return strconv.FormatFloat(v, 'f', min(max(0, int(math.Ceil(-math.Log10(step)-1e-9))), 15), 64)
}

// trim takes zeros from the end of decimals.
func trim(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// scientific is as in 2.5e-6.
func scientific(v, step float64) string {
	digits := int(math.Floor(math.Log10(math.Abs(v))+1e-9)) - int(math.Floor(math.Log10(step)+1e-9))
	s := strconv.FormatFloat(v, 'e', min(max(0, digits), 15), 64)
	mantissa, power, _ := strings.Cut(s, "e")
	n, _ := strconv.Atoi(power)
	return trim(mantissa) + "e" + strconv.Itoa(n)
}
