// Package human formats numbers, words and tables for people, the same way on the terminal and in reports. It does not
// know what they mean.
//
//	table.go       tables
//	live.go        lines that are drawn again and again
//	word.go        words
//	fit.go         lines that fit a terminal
//	json.go        JSON with a line for each member
//	number.go      numbers
package human

import (
	"fmt"
	"math"
	"strconv"
)

// Finite reports whether x is a number that can be shown.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// IfFinite is a number as text; "" if it is none.
func IfFinite(x float64, text func(float64) string) string {
	if !Finite(x) {
		return ""
	}
	return text(x)
}

// Plain is a number to four digits, or to all in front of the point: no price has an exponent.
func Plain(x float64) string {
	if size := math.Abs(x); size >= 1e4 && size < 1e15 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// Short is a number of about three digits: 804, 84.2, 1.43, 0.0123.
func Short(x float64) string {
	digits := 0
	switch a := math.Abs(x); {
	case a >= 99.95 || a == 0:
	case a >= 9.995:
		digits = 1
	case a >= 0.995:
		digits = 2
	case a >= 0.001:
		digits = 2 - int(math.Floor(math.Log10(a)))
	default:
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// Rate is a number from 0 on of three digits, with a prefix where it is large: 512, 84.2 k, 1.43 M.
func Rate(x float64) string {
	unit := ""
	for _, next := range []string{" k", " M", " G"} {
		if x >= 999.5 {
			x, unit = x/1000, next
		}
	}
	return Short(x) + unit
}

// Loss has four decimals where they say enough, else an exponent.
func Loss(x float64) string {
	if a := math.Abs(x); x == 0 || a >= 0.001 && a < 1e5 {
		return strconv.FormatFloat(x, 'f', 4, 64)
	}
	return strconv.FormatFloat(x, 'e', 3, 64)
}

// Factor formats a ratio: two decimals below 10, two digits below 0.1.
func Factor(x float64) string {
	switch {
	case x < 0.1:
		return fmt.Sprintf("%.2g", x)
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	}
	return Short(x)
}

// Accuracy is a share in percent with two decimals: 88.24%.
func Accuracy(share float64) string { return fmt.Sprintf("%.2f%%", 100*share) }

// Share is a share in percent with two digits, or all in front of the point: 0.05%, 1.3%, 100%.
func Share(share float64) string {
	x := 100 * share
	if x >= 9.95 {
		return fmt.Sprintf("%.0f%%", x)
	}
	return fmt.Sprintf("%.2g%%", x)
}

// Count is n with a comma at every third digit.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Clock is a duration as 0:42 or 1:02:33, rounded up.
func Clock(seconds float64) string {
	s := int(math.Ceil(seconds))
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Bytes is a size in powers of 1024: 512 bytes, 1.5 KiB, 17.6 GiB.
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	x, unit := float64(n), ""
	for _, next := range []string{" KiB", " MiB", " GiB", " TiB", " PiB"} {
		if x >= 1023.5 || unit == "" {
			x, unit = x/1024, next
		}
	}
	return Short(x) + unit
}
