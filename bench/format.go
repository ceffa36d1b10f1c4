package bench

import (
	"fmt"
	"math"
	"strings"
)

// text is the median and, in brackets, the range; "" of nothing.
func (s Spread) text(format func(float64) string) string {
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
	return s.text(short)
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
	number, rest, _ := strings.Cut(s.text(func(x float64) string { return short(x / unit) }), " ")
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

// loss has four digits behind the point where they say enough, as in the report of a run.
func loss(x float64) string {
	if a := math.Abs(x); x == 0 || a >= 0.001 && a < 1e5 {
		return fmt.Sprintf("%.4f", x)
	}
	return fmt.Sprintf("%.3e", x)
}

// percentage is a share with two digits, or all in front of the point: 0.05%, 1.3%, 100%.
func percentage(share float64) string {
	x := 100 * share
	if x >= 9.95 {
		return fmt.Sprintf("%.0f%%", x)
	}
	return fmt.Sprintf("%.2g%%", x)
}

// plural is a number of things: 1 core, 2 cores.
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// wrap breaks a text into lines.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
