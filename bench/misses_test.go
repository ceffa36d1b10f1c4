package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRanked: p-values against counts of all signs, or of all ways to choose five of ten, and from Wilcoxon's table of
// 1947: of ten pairs a sum of 8 and less has .0488.
func TestRanked(t *testing.T) {
	inf := math.Inf(1)
	zero := make([]float64, 10)
	for _, c := range []struct {
		a, b  []float64
		p     float64
		above bool
	}{
		{[]float64{1, 2, -3, 4, -5, 6, 7, 8, 9, 10}, zero, 50.0 / 1024, true}, // 1 + 24 sums of up to 8
		{[]float64{-1, -2, 3, -4, 5, -6, -7, -8, -9, -10}, zero, 50.0 / 1024, false},
		{[]float64{inf, inf, inf, inf, inf, inf, inf, inf, 1, 1}, []float64{inf, inf, 1, 1, 1, 1, 1, 1, 2, 2},
			2 * 4.0 / 256, true}, // six at the top, two at 1.5 have a minus: sums 0, 1.5 twice, 3
		{[]float64{inf, inf, inf, inf, inf, inf, inf, inf, 1, 1}, []float64{1, 1, 1, 1, 1, 1, 1, 1, inf, inf},
			2 * (1 + 10 + 45) / 1024.0, true}, // a sign test
		{[]float64{inf, inf, inf, inf, inf}, []float64{1, 2, 3, 4, 5}, 2 / 252.0, true},
		{[]float64{1, 2, 3, 4}, []float64{inf, inf, inf, inf}, math.NaN(), false},
		{slices.Repeat([]float64{inf}, 9), slices.Repeat([]float64{inf}, 9), 1, false},
	} {
		p, above := ranked(c.a, c.b)
		if !(math.Abs(p-c.p) < 1e-12 || p != p && c.p != c.p) || above != c.above {
			t.Errorf("%v and %v: %v, %v, want %v, %v", c.a, c.b, p, above, c.p, c.above)
		}
	}
}

// withMisses returns an experiment of a case and its rival, n runs each. Some miss the target; the case's others take a
// factor of the rival's time.
func withMisses(n int, case_, rival []int, factor float64) (*Experiment, *Measured) {
	e := &Experiment{Kind: "bench", Seeds: FirstSeeds(n)}
	for i, missed := range [][]int{rival, case_} {
		m := Measured{Mode: []string{"async", "sync"}[i], Workers: 2, Runs: make([]Run, n)}
		for k := range n {
			seconds := 1 + 0.01*float64(k)
			if i == 1 {
				seconds *= factor
			}
			if slices.Contains(missed, k) {
				seconds = missing
			}
			SecondsToTarget.put(&m.Runs[k], seconds)
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
		TestLoss.put(&e.Cases[0].Runs[i], 1)
		if i >= 7 {
			TestLoss.put(&m.Runs[i], 1)
			continue
		}
		m.Runs[i] = Run{Failed: "training diverged", Diverged: true}
	}
	v := e.Versus(e.of(""))[m]
	if v.Loss != "higher: 7 of 10 diverged against 0 of 10" || v.Time != "later: 7 of 10 missed against 0 of 10" {
		t.Errorf("7 of 10 diverged: %+v", v)
	}
	for i := range m.Runs {
		m.Runs[i].Diverged = false
	}
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
			var all []float64
			for i := range n {
				x := by * math.Exp(0.02*(math.Sqrt(1-shared)*r.NormFloat64()+math.Sqrt(shared)*round[i]))
				ends[k], all = append(ends[k], x), append(all, x)
			}
			best = min(best, Summarize(all).Median)
		}
		for k, of := range ends {
			m := Measured{Mode: []string{"async", "sync"}[k], Workers: 2, Runs: make([]Run, n)}
			for i, x := range of {
				seconds := math.Exp(0.1 * r.NormFloat64())
				if x > 1.02*best {
					seconds, missed = missing, missed+k
				}
				SecondsToTarget.put(&m.Runs[i], seconds)
			}
			e.Cases = append(e.Cases, m)
		}
		return e.Versus(e.of(""))[&e.Cases[1]].Time, missed
	}
	tables := manyTables()
	decided := func(word string) bool { return word != "undecided" && word != "equal" && word != "" }
	for _, c := range []struct {
		n      int
		shared float64
	}{{5, 0}, {5, 0.5}, {10, 0}, {10, 0.5}, {20, 0}, {20, 0.5}} {
		got, error3 := share(tables, func(r *rand.Rand) bool {
			word, _ := words(r, c.n, c.shared, 1)
			return decided(word)
		})
		if got > 0.05+error3 {
			t.Errorf("%+v: equal cases differ in %v of all tables", c, got)
		}
		missed, wrong := 0, 0
		later, _ := share(tables, func(r *rand.Rand) bool {
			word, n := words(r, c.n, c.shared, 1.02)
			missed += n
			if decided(word) && !strings.HasPrefix(word, "later: ") && n > 0 {
				wrong++
			}
			return strings.HasPrefix(word, "later: ")
		})
		rate := float64(missed) / float64(tables*c.n)
		if rate < 0.4 || rate > 0.55 || wrong > tables/100 || c.n == 20 && later < 0.5 {
			t.Errorf("%+v, 2%% worse: %.2f of the runs miss, later in %v, wrong in %d of %d", c, rate, later, wrong,
				tables)
		}
		t.Logf("%+v: false %v, 2%% worse: missed %.2f, later in %v, wrong in %d", c, got, rate, later, wrong)
	}
}
