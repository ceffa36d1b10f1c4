package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hogwild/bench"
)

// absent stands in a table for what was not measured.
const absent = "–"

// rateText is a number with three digits, as the report of a run has it: 2.13 M, 804.
func rateText(x float64) string {
	unit, digits := "", 0
	for _, next := range []string{" k", " M", " G"} {
		if x >= 999.5 {
			x, unit = x/1000, next
		}
	}
	switch {
	case x >= 99.95 || x == 0:
	case x < 9.995:
		digits = 2
	default:
		digits = 1
	}
	return strconv.FormatFloat(x, 'f', digits, 64) + unit
}

// lossText is a loss with four digits behind the point where these say something.
func lossText(x float64) string {
	if a := math.Abs(x); x == 0 || a >= 0.001 && a < 1e5 {
		return strconv.FormatFloat(x, 'f', 4, 64)
	}
	return strconv.FormatFloat(x, 'e', 3, 64)
}

// shortText is a number of about three digits.
func shortText(x float64) string {
	switch a := math.Abs(x); {
	case a >= 99.95 || a == 0:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case a >= 0.995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case a >= 0.001:
		return strconv.FormatFloat(x, 'f', 2-int(math.Floor(math.Log10(a))), 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// factorText is a ratio, of which two digits behind the point mean something at most.
func factorText(x float64) string {
	switch {
	case x < 0.1:
		return fmt.Sprintf("%.2g", x)
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	}
	return shortText(x)
}

// accuracyText is a share of the examples in percent.
func accuracyText(x float64) string { return strconv.FormatFloat(100*x, 'f', 2, 64) + "%" }

// shareText is a share in percent with two digits, or all in front of the point.
func shareText(x float64) string {
	if 100*x >= 9.95 {
		return fmt.Sprintf("%.0f%%", 100*x)
	}
	return fmt.Sprintf("%.2g%%", 100*x)
}

// countText is a whole number with commas between the thousands.
func countText(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// spreadText is the median of a list and, where there is one, its range.
func spreadText(list []bench.Number, text func(float64) string) string {
	s := bench.Summarize(list)
	switch {
	case s.N == 0:
		return absent
	case text(s.Low) == text(s.High):
		return text(s.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", text(s.Median), text(s.Low), text(s.High))
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

// plural is the noun with its number.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// word is s as a shell takes it.
func word(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-+:,=@%", c)
	}
	if s != "" && strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
