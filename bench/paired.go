package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"hogwild/internal/human"
)

const (
	leastRepeats = 5    // of a verdict: with fewer, a standard deviation says next to nothing
	level        = 0.05 // how probable a wrong verdict may be in a whole table
	margin       = 0.05 // factors of 1.05 and less are called equal: "a few percent", as the paper says
)

// paired is what the repeats say of how one list compares with another: of the differences of their logarithms, seed by
// seed. All cases of a round have one seed and run close together in time, so what a seed or other programs do to both
// is not in the differences, and a paired t-test (Student 1908) is valid whether or not the lists are correlated.
// Welch's (1947) would have more degrees of freedom, but assumes that they are not. What is assumed: rounds are
// independent, and the differences normal. Logarithms make differences ratios, whose noise, if a share of a time, has
// the same spread at all speeds.
type paired struct {
	n               int
	mean, deviation float64 // the latter of the mean
	margin          float64
}

// pair compares two lists, and leaves out repeats without figures. Where not all are positive it compares the numbers
// themselves, for which a margin in percent has no meaning.
func pair(a, b []float64) paired {
	var logs, plain []float64
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; human.Finite(x) && human.Finite(y) {
			logs, plain = append(logs, math.Log(x)-math.Log(y)), append(plain, x-y)
		}
	}
	if slices.ContainsFunc(logs, func(d float64) bool { return !human.Finite(d) }) {
		return differences(plain, math.NaN())
	}
	return differences(logs, math.Log1p(margin))
}

func differences(of []float64, margin float64) paired {
	s := stats.Sample{Xs: of}
	return paired{len(of), s.Mean(), s.StdDev() / math.Sqrt(float64(len(of))), margin}
}

// over is the p-value of the mean being more than x, under of less: one-sided t-tests. NaN: too few repeats.
func (p paired) over(x float64) float64 {
	t := (p.mean - x) / p.deviation
	switch {
	case p.n < leastRepeats:
		return math.NaN()
	case math.IsNaN(t): // exactly x in all repeats, or x is no number
		return 1
	}
	return stats.TDist{V: float64(p.n - 1)}.CDF(-t)
}

func (p paired) under(x float64) float64 {
	p.mean = -p.mean
	return p.over(-x)
}

// beyond is the p-value of a difference larger than x, either way.
func (p paired) beyond(x float64) float64 { return min(1, 2*min(p.over(x), p.under(-x))) }

// within is the p-value of a difference smaller than the margin: two one-sided tests (Schuirmann 1987).
func (p paired) within() float64 { return max(p.over(-p.margin), p.under(p.margin)) }

// factor is the ratio of the first list to the second, of numbers that are not all positive their difference, and its
// own 95% confidence interval.
func (p paired) factor() string {
	t := stats.InvCDF(stats.TDist{V: float64(p.n - 1)})(1 - level/2)
	ratio := func(by float64) string {
		x := p.mean + by*t*p.deviation
		if math.IsNaN(p.margin) {
			return fmt.Sprintf("%+.3g", x)
		}
		return human.Factor(math.Exp(x))
	}
	if ratio(-1) == ratio(1) {
		return ratio(0)
	}
	return fmt.Sprintf("%s (%s to %s)", ratio(0), ratio(-1), ratio(1))
}

// fate is the words for a list that is above another or below it, and for runs without a figure to compare.
type fate struct{ above, below, lost string }

// compare returns what the repeats say of two lists, and its p-value; "": there is nothing to compare. Runs that were
// lost, +Inf, are behind all others. Where there are any no factor is given: it would be the lucky runs'.
func (f fate) compare(a, b []float64) (says string, p float64) {
	x, y, d := numbers(a), numbers(b), pair(a, b)
	lostX, lostY := len(x)-Summarize(a).N, len(y)-Summarize(b).N
	switch within, beyond := d.within(), d.beyond(0); {
	case len(x) == 0 || len(y) == 0 || lostX == len(x) && lostY == len(y) || lostX+lostY+d.n == 0:
		return "", math.NaN()
	case lostX+lostY > 0:
		p, above := ranked(a, b)
		word := map[bool]string{true: f.above, false: f.below}[above]
		return fmt.Sprintf("%s: %d of %d %s against %d of %d", word, lostX, len(x), f.lost, lostY, len(y)), p
	case within < beyond:
		return "equal", within
	default:
		return d.factor(), beyond
	}
}

// leastPairs is from how many repeats on pairs are ranked: n pairs have no p-value below 2/2^n. With fewer all runs are
// ranked, by the U test (Mann and Whitney 1947), which is cautious where a seed does the same to both.
const leastPairs = 8

// ranked is the p-value of a difference in ranks, and whether the first list is above. From leastPairs on the test is
// Wilcoxon's (1945), exact with ties too: pairs are ranked by their distance, with one lost run the largest, and each
// may have had either sign. Equal ones say nothing.
func ranked(a, b []float64) (p float64, above bool) {
	x, y := numbers(a), numbers(b)
	switch n := min(len(x), len(y)); {
	case n < leastRepeats:
		return math.NaN(), false
	case n < leastPairs:
		if u, err := stats.MannWhitneyUTest(x, y, stats.LocationDiffers); err == nil { // else all are equal
			return u.P, 2*u.U > float64(len(x)*len(y))
		}
	}
	var d []float64
	for i := range min(len(a), len(b)) {
		if x := a[i] - b[i]; x < 0 || x > 0 {
			d = append(d, x)
		}
	}
	plus, chance := 0, []float64{1} // twice the sum of the ranks with a plus, and how probable each sum is
	for _, x := range d {
		rank := 1
		for _, y := range d {
			rank += 1 + cmp.Compare(math.Abs(x), math.Abs(y)) // equal ones share their mean
		}
		if x > 0 {
			plus += rank
		}
		next := make([]float64, len(chance)+rank)
		for sum, p := range chance {
			next[sum], next[sum+rank] = next[sum]+p/2, next[sum+rank]+p/2
		}
		chance = next
	}
	minus := len(chance) - 1 - plus
	for _, x := range chance[:min(plus, minus)+1] {
		p += 2 * x
	}
	return min(p, 1), plus > minus
}

// holm adjusts the p-values of several tests so that those up to a level are wrong, one or more of them, with that
// probability at most: the step-down of Holm (1979), which assumes nothing of how the tests depend on each other. NaN
// is no test.
func holm(p []float64) []float64 {
	order, adjusted := []int{}, slices.Repeat([]float64{math.NaN()}, len(p))
	for i := range p {
		if !math.IsNaN(p[i]) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	least := 0.0
	for k, i := range order {
		least = max(least, min(1, float64(len(order)-k)*p[i]))
		adjusted[i] = least
	}
	return adjusted
}

// Agreement is how a statement of a publication and what was measured go together.
type Agreement string

// The agreements.
const (
	Agrees    Agreement = "agrees"
	Differs   Agreement = "differs"
	Undecided Agreement = "undecided"    // neither is shown, or there are too few repeats
	Missing   Agreement = "not measured" // runs failed, or have not been made yet
	Unjudged  Agreement = "not judged"   // the runs were too short to say anything
)
