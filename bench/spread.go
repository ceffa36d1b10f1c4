package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hogwild/internal/human"
)

// Spread is the median of repeats and their range; N is how many there are, without
// those that are not finite.
type Spread struct {
	Median, Low, High float64
	N                 int
}

// Summarize returns the spread of a list, without what is not finite; of nothing it is NaN.
func Summarize(list []float64) Spread {
	return Ranked(slices.DeleteFunc(slices.Clone(list), func(x float64) bool { return !human.Finite(x) }))
}

// numbers is a list without NaN.
func numbers(list []float64) (v []float64) {
	for _, x := range list {
		if x == x {
			v = append(v, x)
		}
	}
	return v
}

// Ranked is the spread of a list in which +Inf stands for runs that are behind all others: see Figure.Late.
func Ranked(list []float64) Spread {
	v := numbers(list)
	n := len(v)
	if n == 0 {
		return Spread{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	slices.Sort(v)
	return Spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1], n}
}

// ratios returns the ratios of a list to another, repeat by repeat.
func ratios(a, to []float64) []float64 {
	all := make([]float64, min(len(a), len(to)))
	for i := range all {
		all[i] = a[i] / to[i]
	}
	return all
}

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
func median(list []float64, format func(float64) string) string {
	return human.IfFinite(Ranked(list).Median, format)
}

func shortTime(x float64) string { return Spread{x, x, x, 1}.time() }

// plainNumber is a number as it is printed elsewhere.
func plainNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// aligned is a table for the terminal, with its heads in capitals.
func aligned(t *human.Table) string {
	return human.Aligned(append([][]string{capitals(t.Heads)}, t.Rows...))
}

// capitals is the heads of a table as the terminal has them.
func capitals(heads []string) []string {
	return strings.Split(strings.ToUpper(strings.Join(heads, "\t")), "\t")
}
