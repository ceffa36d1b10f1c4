package bench

import (
	"fmt"
	"strings"

	"hogwild/internal/human"
)

// Text is the median and, in brackets, the range; "" of nothing.
func (s Spread) Text(format func(float64) string) string {
	low, high := format(s.Low), format(s.High)
	switch {
	case s.N == 0:
		return ""
	case low == high:
		return format(s.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", format(s.Median), low, high)
}

// rate is the spread of a rate, in thousands or millions where they are as many.
func (s Spread) rate() string {
	switch {
	case s.Median >= 1e6:
		return s.scaled(1e6, " M")
	case s.Median >= 1e3:
		return s.scaled(1e3, " k")
	}
	return s.Text(human.Short)
}

// time is the spread of a number of seconds.
func (s Spread) time() string {
	if s.Median < 0.1 {
		return s.scaled(1e-3, " ms")
	}
	return s.scaled(1, " s")
}

// scaled is the spread in a unit, which is named once.
func (s Spread) scaled(unit float64, name string) string {
	if s.N == 0 {
		return ""
	}
	number, rest, _ := strings.Cut(s.Text(func(x float64) string { return human.Short(x / unit) }), " ")
	return strings.TrimSpace(number + name + " " + rest)
}

// median is the median alone, "" of nothing.
func median(list []Number, format func(float64) string) string {
	s := Summarize(list)
	if s.N == 0 {
		return ""
	}
	return format(s.Median)
}
