package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPairedT: p-values against the closed form of Student's distribution with 4 degrees of freedom, and those that R's
// t.test(paired = TRUE) prints for Student's own data on sleep (1908).
func TestPairedT(t *testing.T) {
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for _, x := range []float64{-9, -2.132, -0.5, 0, 0.1, 1, 2.776, 40} {
		u := 1 + x*x/4
		cdf := 0.5 + 0.375*x/math.Sqrt(u)*(1-x*x/u/12)
		d := paired{5, 3 + x*0.7, 0.7, 1}
		near(fmt.Sprint("over at t = ", x), d.over(3), 1-cdf, 1e-12)
		near(fmt.Sprint("under at t = ", x), d.under(3), cdf, 1e-12)
	}
	a := []Number{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2, missing}
	b := []Number{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4, 1}
	d := pair(a, b)
	near("mean of sleep", d.mean, -1.58, 1e-12)
	near("t of sleep", d.mean/d.deviation, -4.0621, 5e-5)
	near("p of sleep", d.beyond(0), 0.002833, 5e-7)
	if d.within() != 1 {
		t.Errorf("numbers that are not all positive lie within 5%% with p = %v", d.within())
	}
	const half = 0.879886 // of the confidence interval, -2.459886 to -0.700114
	near("interval", 2*d.under(-1.58+half), 0.05, 1e-6)
}

// TestFactor: the ratio is the geometric mean, its interval that of tables: t is 2.776445 with 4 degrees of freedom.
func TestFactor(t *testing.T) {
	var a, b []Number
	for _, x := range []float64{-2, -1, 0, 1, 2} { // a standard deviation of √2.5, √0.5 of the mean
		a, b = append(a, Number(10*math.Exp(0.1*x))), append(b, 5)
	}
	w := 0.1 * 2.776445 * math.Sqrt(0.5)
	if got, want := pair(a, b).factor(), fmt.Sprintf("2.00 (%.2f to %.2f)", 2*math.Exp(-w),
		2*math.Exp(w)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := pair(b, b).factor(); got != "1.00" {
		t.Errorf("of equal lists: %s", got)
	}
}

// TestRanked: p-values against counts of all signs, or of all ways to choose five of ten, and those of Wilcoxon's table
// of 1947: of ten pairs a sum of 8 and less has .0488.
func TestRanked(t *testing.T) {
	inf := Number(math.Inf(1))
	zero := make([]Number, 10)
	for _, c := range []struct {
		a, b  []Number
		p     float64
		above bool
	}{
		{[]Number{1, 2, -3, 4, -5, 6, 7, 8, 9, 10}, zero, 50.0 / 1024, true}, // 1 + 24 sums of up to 8
		{[]Number{-1, -2, 3, -4, 5, -6, -7, -8, -9, -10}, zero, 50.0 / 1024, false},
		{[]Number{inf, inf, inf, inf, inf, inf, inf, inf, 1, 1}, []Number{inf, inf, 1, 1, 1, 1, 1, 1, 2, 2}, // 6 top ranks
			2 * 4.0 / 256, true}, // two tied at 1.5 have a minus: sums 0, 1.5 twice, 3
		{[]Number{inf, inf, inf, inf, inf, inf, inf, inf, 1, 1}, []Number{1, 1, 1, 1, 1, 1, 1, 1, inf, inf},
			2 * (1 + 10 + 45) / 1024.0, true}, // a sign test
		{[]Number{inf, inf, inf, inf, inf}, []Number{1, 2, 3, 4, 5}, 2 / 252.0, true},
		{[]Number{1, 2, 3, 4}, []Number{inf, inf, inf, inf}, math.NaN(), false},
		{slices.Repeat([]Number{inf}, 9), slices.Repeat([]Number{inf}, 9), 1, false},
	} {
		p, above := ranked(c.a, c.b)
		if !(math.Abs(p-c.p) < 1e-12 || p != p && c.p != c.p) || above != c.above {
			t.Errorf("%v and %v: %v, %v, want %v, %v", c.a, c.b, p, above, c.p, c.above)
		}
	}
}

// TestHolm: adjusted values worked out by hand, of unsorted and equal ones; what is no test does not count.
func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.01, math.NaN(), 0.04, 0.03, 0.005}, []float64{0.03, math.NaN(), 0.06, 0.06, 0.02}},
		{[]float64{0.5, 0.5, 0.9}, []float64{1, 1, 1}},
		{[]float64{0.02}, []float64{0.02}},
		{nil, []float64{}},
	} {
		same := func(x, y float64) bool { return math.Abs(x-y) < 1e-12 || x != x && y != y }
		if got := holm(c.p); !slices.EqualFunc(got, c.want, same) {
			t.Errorf("%v: %v, want %v", c.p, got, c.want)
		}
	}
}

// TestVersus: a factor and its interval, equal, undecided, or nothing where there is nothing to compare.
func TestVersus(t *testing.T) {
	base := []Number{100, 110, 90, 105, 95}
	e := &Experiment{Kind: "bench", Seeds: FirstSeeds(5),
		Cases: []Measured{{Mode: "async", Workers: 2, ExamplesPerSecond: base,
			Reached: Reached{SecondsToTarget: base}, TestLoss: base}}}
	for _, c := range []struct {
		mode, speed, time, loss string
		percent                 [5]Number // of the base, seed by seed
		seconds, end            Number
	}{
		{"apart", "0.50 (0.48 to 0.52)", "0.20", "1.10", [5]Number{50, 51, 49, 52, 48}, 20, 110},
		{"equal", "equal", "equal", "1.01", [5]Number{100, 101, 99, 102, 99}, 100, 101},
		{"wild", "undecided", "4.00", "0.90", [5]Number{70, 60, 150, 95, 130}, 400, 90},
		{"failed", "undecided", "", "-190 (-209 to -171)", [5]Number{50, 51, 49, 52, missing}, missing, -90},
	} {
		m := Measured{Mode: c.mode, Workers: 2}
		for i, x := range base {
			m.ExamplesPerSecond = append(m.ExamplesPerSecond, x*c.percent[i]/100)
			m.SecondsToTarget = append(m.SecondsToTarget, x*c.seconds/100)
			m.TestLoss = append(m.TestLoss, x*c.end/100)
		}
		e.Cases = append(e.Cases[:1:1], m)
		got := e.Versus(e.of(""))
		if v := got[&e.Cases[1]]; len(got) != 1 || v.Speed != c.speed || v.Time != c.time || v.Loss != c.loss {
			t.Errorf("%s: %+v, want %q, %q and %q", c.mode, v, c.speed, c.time, c.loss)
		}
	}
}

// imaginary is a family of comparisons with one list, by true factors: noise of some percent, of which half of the
// variance is that of the round and the same in all lists.
func imaginary(r *rand.Rand, n int, noise float64, factors []float64) (lists [][]Number, with []Number) {
	round := make([]float64, n)
	for i := range round {
		round[i] = r.NormFloat64()
	}
	list := func(factor float64) (all []Number) {
		for i := range n {
			all = append(all, Number(factor*math.Exp(noise*(r.NormFloat64()+round[i])/math.Sqrt2)))
		}
		return all
	}
	for _, f := range factors {
		lists = append(lists, list(f))
	}
	return lists, list(1)
}

// share is how often something happens, of fixed random tables, and three standard errors of 5%.
func share(tables int, happens func(r *rand.Rand) bool) (share, error3 float64) {
	r, n := rand.New(rand.NewPCG(1, 2)), 0
	for range tables {
		if happens(r) {
			n++
		}
	}
	return float64(n) / float64(tables), 3 * math.Sqrt(0.05*0.95/float64(tables))
}

// TestVersusIsCalibrated: a table of equal cases has a factor in 5% of all tables at most, one of cases that differ by
// the margin or more an "equal"; and what differs by 20% with a noise of 2% is found with five repeats.
func TestVersusIsCalibrated(t *testing.T) {
	const cases, tables = 17, 2000
	words := func(r *rand.Rand, n int, noise float64, factors []float64) (count map[string]int) {
		e := &Experiment{Kind: "bench", Seeds: FirstSeeds(n)}
		lists, with := imaginary(r, n, noise, factors)
		e.Cases = []Measured{{Mode: "async", Workers: 1, ExamplesPerSecond: with}}
		for i, l := range lists {
			c := Measured{Mode: fmt.Sprint(i), Workers: 1, ExamplesPerSecond: l}
			e.Cases = append(e.Cases, c)
		}
		count = map[string]int{}
		for _, v := range e.Versus(e.of("")) {
			word := v.Speed
			if word != "equal" && word != "undecided" {
				word = "factor"
			}
			count[word]++
		}
		return count
	}
	for _, c := range []struct {
		n       int
		noise   float64
		factors []float64
		wrong   string
	}{
		{5, 0.02, slices.Repeat([]float64{1}, cases), "factor"},
		{5, 0.002, slices.Repeat([]float64{1}, cases), "factor"},
		{10, 0.2, slices.Repeat([]float64{1}, cases), "factor"},
		{5, 0.02, slices.Repeat([]float64{1.1}, cases), "equal"},
		{10, 0.02, slices.Repeat([]float64{1 + margin}, cases), "equal"},
		{5, 0.005, slices.Repeat([]float64{1 / (1 + margin)}, cases), "equal"},
	} {
		got, error3 := share(tables, func(r *rand.Rand) bool { return words(r, c.n, c.noise, c.factors)[c.wrong] > 0 })
		if got > 0.05+error3 {
			t.Errorf("%+v: in %v of all tables", c, got)
		}
	}
	for n, noise := range map[int]float64{5: 0.02, 8: 0.04} {
		got, _ := share(200, func(r *rand.Rand) bool {
			return words(r, n, noise, slices.Repeat([]float64{1.2}, cases))["factor"] == cases
		})
		if got < 0.95 {
			t.Errorf("%d repeats with a noise of %v: 20%% are found in %v of all tables", n, noise, got)
		}
	}
	if w := words(rand.New(rand.NewPCG(3, 4)), leastRepeats-1, 0,
		slices.Repeat([]float64{9}, cases)); w["undecided"] != cases {
		t.Errorf("of too few repeats: %v", w)
	}
}

// withMisses is a case and its rival of n runs, of which some miss the target; the others of the case take a factor of
// the rival's time.
func withMisses(n int, case_, rival []int, factor float64) (*Experiment, *Measured) {
	e := &Experiment{Kind: "bench", Seeds: FirstSeeds(n)}
	for i, missed := range [][]int{rival, case_} {
		m := Measured{Mode: []string{"async", "sync"}[i], Workers: 2, Failed: make([]string, n)}
		for k := range n {
			seconds := Number(1 + 0.01*float64(k))
			if i == 1 {
				seconds *= Number(factor)
			}
			if slices.Contains(missed, k) {
				seconds = missing
			}
			m.SecondsToTarget = append(m.SecondsToTarget, seconds)
		}
		e.Cases = append(e.Cases, m)
	}
	return e, &e.Cases[1]
}

// TestVersusCountsMisses: a run that did not get to the target is later than all that did, whatever the others took.
func TestVersusCountsMisses(t *testing.T) {
	upTo := func(n int) (all []int) {
		for i := range n {
			all = append(all, i)
		}
		return all
	}
	for _, c := range []struct {
		n            int
		case_, rival []int
		factor       float64
		want         string
	}{
		{10, upTo(8), upTo(2), 0.9, "later: 8 of 10 missed against 2 of 10"}, // the lucky ones are sooner
		{10, []int{2, 3, 4, 5, 6, 7, 8, 9}, []int{0, 1}, 1, "undecided"},     // two of ten pairs speak for it
		{10, upTo(2), upTo(8), 1.1, "sooner: 2 of 10 missed against 8 of 10"},
		{10, upTo(3), upTo(3), 1.003, "later: 3 of 10 missed against 3 of 10"}, // seven pairs,
		{10, upTo(2), upTo(4), 1, "undecided"},
		{5, upTo(5), nil, 1, "later: 5 of 5 missed against 0 of 5"},
		{5, upTo(1), nil, 2, "later: 1 of 5 missed against 0 of 5"},
		{5, upTo(5), upTo(5), 1, ""},
		{4, upTo(4), nil, 1, "undecided"},
	} {
		e, m := withMisses(c.n, c.case_, c.rival, c.factor)
		if got := e.Versus(e.of(""))[m].Time; got != c.want {
			t.Errorf("%d runs, %v and %v miss, factor %v: %q, want %q", c.n, c.case_, c.rival, c.factor, got, c.want)
		}
	}
	e, m := withMisses(10, nil, nil, 1)
	for i := range 10 { // no figure of any kind but by diverging is a result
		m.TestLoss, e.Cases[0].TestLoss = append(m.TestLoss, 1), append(e.Cases[0].TestLoss, 1)
		m.Diverged = append(m.Diverged, i < 7)
		if m.Failed[i] = ""; i < 7 {
			m.Failed[i], m.TestLoss[i], m.SecondsToTarget[i] = "training diverged", missing, missing
		}
	}
	v := e.Versus(e.of(""))[m]
	if v.Loss != "higher: 7 of 10 diverged against 0 of 10" || v.Time != "later: 7 of 10 missed against 0 of 10" {
		t.Errorf("7 of 10 diverged: %+v", v)
	}
	m.Diverged = nil
	if v := e.Versus(e.of(""))[m]; v.Loss != "undecided" || v.Time != "undecided" {
		t.Errorf("7 of 10 failed otherwise: %+v", v)
	}
}

// TestVersusWithMissesIsCalibrated: of runs that end with a loss as noisy as their time, and miss the target if it ends
// above 1.02 times the best case's median, equal cases have a verdict on time in 5% of all tables at most. One that
// ends 2% higher than its rival and is as fast is never called sooner, nor by a factor as slow as its lucky runs make
// it; its misses are seen with enough repeats. Half of the variance is the round's, or none.
func TestVersusWithMissesIsCalibrated(t *testing.T) {
	words := func(r *rand.Rand, n int, shared, worse float64) (word string, missed int) {
		e := &Experiment{Kind: "bench", Seeds: FirstSeeds(n)}
		round, best := make([]float64, n), math.Inf(1)
		for i := range round {
			round[i] = r.NormFloat64()
		}
		var ends [2][]float64
		for k, by := range []float64{1, worse} {
			var all []Number
			for i := range n {
				x := by * math.Exp(0.02*(math.Sqrt(1-shared)*r.NormFloat64()+math.Sqrt(shared)*round[i]))
				ends[k], all = append(ends[k], x), append(all, Number(x))
			}
			best = min(best, Summarize(all).Median)
		}
		for k, of := range ends {
			m := Measured{Mode: []string{"async", "sync"}[k], Workers: 2, Failed: make([]string, n)}
			for _, x := range of {
				seconds := Number(math.Exp(0.1 * r.NormFloat64()))
				if x > 1.02*best {
					seconds, missed = missing, missed+k
				}
				m.SecondsToTarget = append(m.SecondsToTarget, seconds)
			}
			e.Cases = append(e.Cases, m)
		}
		return e.Versus(e.of(""))[&e.Cases[1]].Time, missed
	}
	decided := func(word string) bool { return word != "undecided" && word != "equal" && word != "" }
	for _, c := range []struct {
		n      int
		shared float64
	}{{5, 0}, {5, 0.5}, {10, 0}, {10, 0.5}, {20, 0}, {20, 0.5}} {
		got, error3 := share(2000, func(r *rand.Rand) bool { word, _ := words(r, c.n, c.shared, 1); return decided(word) })
		if got > 0.05+error3 {
			t.Errorf("%+v: equal cases differ in %v of all tables", c, got)
		}
		missed, wrong := 0, 0
		later, _ := share(2000, func(r *rand.Rand) bool {
			word, n := words(r, c.n, c.shared, 1.02)
			missed += n
			if decided(word) && !strings.HasPrefix(word, "later: ") && n > 0 {
				wrong++
			}
			return strings.HasPrefix(word, "later: ")
		})
		rate := float64(missed) / float64(2000*c.n)
		if rate < 0.4 || rate > 0.55 || wrong > 2000/100 || c.n == 20 && later < 0.5 {
			t.Errorf("%+v, 2%% worse: %.2f of the runs miss, later in %v, wrong in %d of 2000", c, rate, later, wrong)
		}
		t.Logf("%+v: false %v, 2%% worse: missed %.2f, later in %v, wrong in %d", c, got, rate, later, wrong)
	}
}

// TestJudgeIsCalibrated: at the edge of each statement a verdict is wrong in 5% of all tables at most, and near 5% for
// one statement alone: the tests are neither too bold nor idle.
func TestJudgeIsCalibrated(t *testing.T) {
	wrong := func(statements int, noise float64, is relation, factor float64, said Agreement) (float64, float64) {
		return share(2000, func(r *rand.Rand) bool {
			lists, with := imaginary(r, 5, noise, slices.Repeat([]float64{factor}, statements))
			var p []float64
			var verdicts []Agreement
			for _, l := range lists {
				v, x := is.judge(pair(l, with))
				p, verdicts = append(p, float64(x)), append(verdicts, v)
			}
			for i, x := range holm(p) {
				if x <= level && (verdicts[i] == said || said == "") {
					return true
				}
			}
			return false
		})
	}
	for _, c := range []struct {
		is     relation
		factor float64
		said   Agreement // by mistake; "": either
		noise  float64
	}{
		{above, 1, "", 0.02},
		{notBelow, 1 / (1 + margin), Agrees, 0.02},
		{notBelow, 1 / (1 + margin), Differs, 0.02},
		{closeTo, 1 + margin, Agrees, 0.01},
		{closeTo, 1 / (1 + margin), Agrees, 0.01},
		{closeTo, 1 + margin, Differs, 0.2},
	} {
		alone, error3 := wrong(1, c.noise, c.is, c.factor, c.said)
		if alone > 0.05+error3 || alone < 0.02 {
			t.Errorf("%+v: %v of all single statements", c, alone)
		}
		if got, _ := wrong(34, c.noise, c.is, c.factor, c.said); got > 0.05+error3 {
			t.Errorf("%+v: %v of all tables", c, got)
		}
	}
	if got, _ := wrong(1, 0.05, closeTo, 1.1, Agrees); got > 0.05 {
		t.Errorf("10%% apart: agrees in %v", got)
	}
	for _, c := range []struct {
		is     relation
		factor float64
		right  Agreement
	}{{above, 1.2, Agrees}, {above, 1 / 1.2, Differs}, {notBelow, 1 / 1.2, Differs}, {closeTo, 1.25, Differs},
		{notBelow, 1.2, Agrees}} {
		if got, _ := wrong(1, 0.02, c.is, c.factor, c.right); got < 0.95 {
			t.Errorf("%s %v with a noise of 2%% %s in %v", c.is, c.factor, c.right, got)
		}
	}
}

// TestBestIsCalibrated: the case that is truly best is the best or a tie in 95% of all sweeps, also where the best of
// many equal cases looks better than it is.
func TestBestIsCalibrated(t *testing.T) {
	for _, worse := range []float64{1, 1.001, 1.02, 1.2} { // all others but the second
		got, error3 := share(2000, func(r *rand.Rand) bool {
			lists, first := imaginary(r, 5, 0.02, append([]float64{1}, slices.Repeat([]float64{worse}, 18)...))
			var cases []*Measured
			for _, l := range append(lists, first) {
				cases = append(cases, &Measured{TestLoss: l})
			}
			best, ties := best(cases)
			return best != cases[19] && !slices.Contains(ties, cases[19])
		})
		if got > 0.05+error3 {
			t.Errorf("others %v as large: the best is left out in %v of all sweeps", worse, got)
		}
	}
}
