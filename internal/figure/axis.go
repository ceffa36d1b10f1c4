package figure

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// largest is the largest number drawn: differences of such numbers are finite.
const largest = 1e300

// place is where a value stands on the axis, on a linear scale: its logarithm on a
// logarithmic one. It is NaN for what cannot be drawn.
func (a *Axis) place(v float64) float64 {
	switch {
	case math.IsNaN(v) || math.Abs(v) > largest:
		return math.NaN()
	case a.Log && v == 0 && a.Least > 0:
		return math.Log10(a.Least) - 1
	case a.Log && v <= 0:
		return math.NaN()
	case a.Log:
		return math.Log10(v)
	}
	return v
}

// span is a part of an axis, in places.
type span struct{ lo, hi float64 }

// nothing is the span of no places.
var nothing = span{math.Inf(1), math.Inf(-1)}

// with is the span that reaches to a place too, if it is one.
func (s span) with(place float64) span {
	if !human.Finite(place) {
		return s
	}
	return span{min(s.lo, place), max(s.hi, place)}
}

func (s span) has(place float64) bool { return s.lo <= place && place <= s.hi }

// room widens the span of what is shown: to 0 if the axis begins there, and by
// margin of its length elsewhere.
func (a *Axis) room(s span, zero bool, margin float64) span {
	if s.lo > s.hi { // of nothing
		return span{0, 1}
	}
	if zero && !a.Log {
		s = s.with(0)
	}
	if s.hi-s.lo <= 1e-9*max(math.Abs(s.lo), math.Abs(s.hi), 1e-290) {
		s = a.around((s.lo + s.hi) / 2)
	}
	pad := (s.hi - s.lo) * margin
	wide := span{s.lo - pad, s.hi + pad}
	if !a.Log && s.lo >= 0 {
		wide.lo = max(wide.lo, 0) // no room for what cannot be
	}
	if !a.Log && s.hi <= 0 {
		wide.hi = min(wide.hi, 0)
	}
	return wide
}

// around is the span of a single place.
func (a *Axis) around(place float64) span {
	half := math.Abs(place) / 2
	if a.Log {
		half = 0.5
	} else if half < 1e-290 {
		return span{0, 1}
	}
	return span{place - half, place + half}
}

// tick is a marked place.
type tick struct {
	place float64
	label string
}

// ticks returns round numbers within a span: about n, or on a logarithmic axis of several decades
// the powers of ten. The place of 0 is one of them.
func (a *Axis) ticks(s span, n int) []tick {
	if a.Log && a.Least > 0 {
		positive := *a
		positive.Least = 0
		s.lo = math.Log10(a.Least) - 0.02
		return append([]tick{{a.place(0), "0"}}, positive.ticks(s, n)...)
	}
	switch decades := s.hi - s.lo; {
	case !a.Log:
		values, step := round(s, n)
		return a.label(values, step)
	case decades >= 2.3:
		return a.decades(s, n)
	case decades >= 0.7 && n >= 3:
		return a.mantissas(s, 1, 2, 5)
	default:
		values, step := round(span{math.Pow(10, s.lo), math.Pow(10, s.hi)}, n)
		return a.label(values, step)
	}
}

// decades are powers of ten: all, or every second, third and so on.
func (a *Axis) decades(s span, n int) []tick {
	all := a.mantissas(s, 1)
	every := max(1, (len(all)+n-1)/n)
	return slices.DeleteFunc(all, func(t tick) bool { return int(t.place)%every != 0 })
}

// mantissas are the multiples of powers of ten.
func (a *Axis) mantissas(s span, multiples ...float64) []tick {
	var ticks []tick
	for d := math.Floor(s.lo); d <= s.hi; d++ {
		for _, m := range multiples {
			if place := d + math.Log10(m); s.has(place) {
				unit := math.Pow10(int(d))
				ticks = append(ticks, tick{place, a.single(m*unit, unit, s)})
			}
		}
	}
	return ticks
}

// round returns a step, 1, 2 or 5 times a power of ten, and its about n multiples within a span.
func round(s span, n int) (values []float64, step float64) {
	raw := (s.hi - s.lo) / float64(n)
	step = math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*step >= raw*0.75 {
			step *= m
			break
		}
	}
	slack := 1e-9 * (s.hi - s.lo) / step
	for i := math.Ceil(s.lo/step - slack); i <= s.hi/step+slack && len(values) < 100; i++ {
		values = append(values, i*step+0) // + 0: never -0
	}
	return values, step
}

// label is a tick for each value that can be drawn.
func (a *Axis) label(values []float64, step float64) []tick {
	most := 0.0
	for _, v := range values {
		most = max(most, math.Abs(v))
	}
	var ticks []tick
	for _, v := range values {
		if place := a.place(v); !math.IsNaN(place) {
			ticks = append(ticks, tick{place, a.number(v, step, most)})
		}
	}
	return ticks
}

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
