package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
	a := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2, missing}
	b := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4, 1}
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

// TestFactor: the ratio is the geometric mean, its interval as in tables: t is 2.776445 with 4 degrees of freedom.
func TestFactor(t *testing.T) {
	var a, b []float64
	for _, x := range []float64{-2, -1, 0, 1, 2} { // a standard deviation of √2.5, √0.5 of the mean
		a, b = append(a, 10*math.Exp(0.1*x)), append(b, 5)
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
	base := []float64{100, 110, 90, 105, 95}
	e := &Experiment{Kind: "bench", Seeds: FirstSeeds(5),
		Cases: []Measured{{Mode: "async", Workers: 2, Runs: make([]Run, 5)}}}
	for _, f := range []*Figure{Rate, SecondsToTarget, TestLoss} {
		f.Put(&e.Cases[0], base...)
	}
	for _, c := range []struct {
		mode, speed, time, loss string
		percent                 [5]float64 // of the base, seed by seed
		seconds, end            float64
	}{
		{"apart", "0.50 (0.48 to 0.52)", "0.20", "1.10", [5]float64{50, 51, 49, 52, 48}, 20, 110},
		{"equal", "equal", "equal", "1.01", [5]float64{100, 101, 99, 102, 99}, 100, 101},
		{"wild", "undecided", "4.00", "0.90", [5]float64{70, 60, 150, 95, 130}, 400, 90},
		{"missed", "undecided", "later: 5 of 5 missed against 0 of 5", "-190 (-209 to -171)",
			[5]float64{50, 51, 49, 52, missing}, missing, -90},
	} {
		m := Measured{Mode: c.mode, Workers: 2, Runs: make([]Run, 5)}
		for i, x := range base {
			Rate.put(&m.Runs[i], x*c.percent[i]/100)
			SecondsToTarget.put(&m.Runs[i], x*c.seconds/100)
			TestLoss.put(&m.Runs[i], x*c.end/100)
		}
		e.Cases = append(e.Cases[:1:1], m)
		got := e.Versus(e.of(""))
		if v, want := *got[&e.Cases[1]], (Verdicts{c.speed, c.time, c.loss}); v != want ||
			*got[&e.Cases[0]] != (Verdicts{}) {
			t.Errorf("%s: %+v, want %+v", c.mode, v, want)
		}
	}
}

// imaginary returns a family of comparisons with one list, by true factors: noise of some percent, half of whose
// variance is the round's and the same in all lists.
func imaginary(r *rand.Rand, n int, noise float64, factors []float64) (lists [][]float64, with []float64) {
	round := make([]float64, n)
	for i := range round {
		round[i] = r.NormFloat64()
	}
	list := func(factor float64) (all []float64) {
		for i := range n {
			all = append(all, factor*math.Exp(noise*(r.NormFloat64()+round[i])/math.Sqrt2))
		}
		return all
	}
	for _, f := range factors {
		lists = append(lists, list(f))
	}
	return lists, list(1)
}

// manyTables is how many random tables are judged: enough to see whether 5% are wrong.
func manyTables() int {
	if testing.Short() {
		return 500
	}
	return 2000
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
	const cases = 17
	words := func(r *rand.Rand, n int, noise float64, factors []float64) (count map[string]int) {
		e := &Experiment{Kind: "bench", Seeds: FirstSeeds(n)}
		lists, with := imaginary(r, n, noise, factors)
		e.Cases = []Measured{*having(Rate, with...)}
		e.Cases[0].Mode = "async"
		for i, l := range lists {
			e.Cases = append(e.Cases, *having(Rate, l...))
			e.Cases[i+1].Mode = fmt.Sprint(i)
		}
		count = map[string]int{}
		for _, v := range e.Versus(e.of("")) {
			word := v.Speed
			if word == "" { // of the rival
				continue
			}
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
		got, error3 := share(manyTables(), func(r *rand.Rand) bool {
			return words(r, c.n, c.noise, c.factors)[c.wrong] > 0
		})
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

// TestJudgeIsCalibrated: at the edge of each statement a verdict is wrong in 5% of all tables at most, and near 5% for
// one statement alone: the tests are neither too bold nor idle.
func TestJudgeIsCalibrated(t *testing.T) {
	wrong := func(statements int, noise float64, is relation, factor float64, said Agreement) (float64, float64) {
		return share(manyTables(), func(r *rand.Rand) bool {
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
		got, error3 := share(manyTables(), func(r *rand.Rand) bool {
			lists, first := imaginary(r, 5, 0.02, append([]float64{1}, slices.Repeat([]float64{worse}, 18)...))
			var cases []*Measured
			for _, l := range append(lists, first) {
				cases = append(cases, having(TestLoss, l...))
			}
			best, ties := best(cases)
			return best != cases[19] && !slices.Contains(ties, cases[19])
		})
		if got > 0.05+error3 {
			t.Errorf("others %v as large: the best is left out in %v of all sweeps", worse, got)
		}
	}
}
