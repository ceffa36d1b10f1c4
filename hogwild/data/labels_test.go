package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

// Labels as data sets have them, by name; what they stand for is known.
func TestClassesOrNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	among := func(k, first, n int) (labels []float64) { // k classes, drawn
		for range n {
			labels = append(labels, float64(first+rng.IntN(k)))
		}
		return labels
	}
	times := func(n int, values ...float64) (labels []float64) {
		for range n {
			labels = append(labels, values...)
		}
		return labels
	}
	counts := func(mean float64, n int) (labels []float64) { // as rented bicycles: many small, few large
		for range n {
			labels = append(labels, float64(1+int(mean*rng.ExpFloat64())))
		}
		return labels
	}
	var years, prices []float64
	for i := range 20000 {
		years = append(years, float64(2010-min(88, int(12*rng.ExpFloat64()))))
		prices = append(prices, float64(15000+100*rng.IntN(3800)+i%2))
	}
	for name, c := range map[string]struct {
		labels  []float64
		classes bool
	}{
		"150 classes, 20 times":          {times(20, among(150, 0, 0)...), true},
		"150 classes, drawn":             {among(150, 0, 600), true},
		"150 classes from 1, drawn":      {among(150, 1, 3000), true},
		"1,000 classes, 5 times":         {among(1000, 0, 5000), true},
		"iris":                           {times(50, 0, 1, 2), true},
		"glass, without a 4":             {times(9, 1, 2, 3, 5, 6, 7), true},
		"wine's quality":                 {times(40, 3, 4, 5, 6, 7, 8), true},
		"two classes of a thousand rows": {times(500, -1, 1), true},
		"years":                          {years, false},
		"ages":                           {among(74, 17, 30000), false},
		"bicycles":                       {counts(150, 17379), false},
		"abalone: one ring is missing":   {append(times(140, numbersTo(27)...), times(140, 29)...), false},
		"prices":                         {prices, false},
		"diabetes":                       {among(322, 25, 442), false},
		"each twice":                     {times(2, numbersTo(10)...), false},
		"a half":                         {append(times(100, 1, 2), .5), false},
		"digits, of real frequencies":    {of(0, 178, 182, 177, 183, 181, 182, 181, 179, 174, 180), true},
		"digits, a rare one in front":    {of(0, 9, 1000, 990, 1010, 1020, 980, 1000, 1005, 995, 1000), true},
		"digits, a rare one at the end":  {of(0, 5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 60), true},
		"equal, a rare one at the end":   {of(0, 500, 500, 500, 500, 500, 500, 500, 500, 500, 5), true},
		"letters": {of(1, 789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792, 783, 753, 803, 783, 758,
			748, 796, 813, 764, 752, 787, 786, 734), true},
		"covertype":             {of(1, 211840, 283301, 35754, 2747, 9493, 17367, 20510), true},
		"shuttle":               {of(1, 45586, 50, 171, 8903, 3267, 10, 13), true},
		"page blocks":           {of(1, 4913, 329, 28, 88, 115), true},
		"dermatology":           {of(1, 112, 61, 72, 49, 52, 20), true},
		"stars of reviews":      {of(1, 52268, 29769, 42640, 80655, 363122), true},
		"stars of films":        {of(1, 6110, 11370, 27145, 34174, 21201), true},
		"one of 500":            {of(0, 499, 1), true},
		"one of 500, signed":    {append(times(499, -1), 1), true},
		"three, the last rare":  {of(0, 900, 90, 3), true},
		"zip codes":             {times(40, 2134, 10001, 60601, 90210, 94103), true},
		"100 classes of 10":     {times(10, numbersTo(100)...), true},
		"red wine's quality":    {of(3, 10, 53, 681, 638, 199, 18), false},
		"white wine's quality":  {of(3, 20, 163, 1457, 2198, 880, 175, 5), false},
		"persons in households": {of(1, 281, 346, 157, 132, 60, 16, 7, 2, 1), false},
		"rooms":                 {of(0, 2, 11, 120, 410, 560, 310, 90, 20, 3), false},
		"goal difference":       {of(-5, 1, 6, 30, 110, 230, 310, 220, 105, 40, 8, 2), false},
	} {
		if strings.HasPrefix(name, "150 classes, 20") {
			c.labels = times(20, append(numbersTo(149), 0)...)
		}
		if got, notes := classesOf(t, c.labels); got != c.classes {
			t.Errorf("%s: classes is %v, notes %q", name, got, notes)
		}
	}
}

// TestDrawnLabels: Poisson counts are numbers, and classes that are as frequent as each other, give or take chance, are
// classes.
func TestDrawnLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, mean := range []float64{.5, 1, 2, 5, 20} {
		for _, n := range []int{100, 1000, 20000} {
			wrong := 0
			for range 50 {
				labels := make([]float64, n)
				for i := range labels { // Poisson, by Knuth's method
					for p := rng.Float64(); p > math.Exp(-mean); p *= rng.Float64() {
						labels[i]++
					}
				}
				if is, _ := classesOf(t, labels); is && len(distinct(labels)) > fewClasses {
					wrong++
				}
			}
			if wrong > 1 && (n > 100 || wrong > 10) { // chance may make the last value frequent
				t.Errorf("Poisson of mean %g, %d rows: classes in %d of 50 draws", mean, n, wrong)
			}
		}
	}
	for range 200 { // as many rows of each class, give or take chance
		k, first, labels := 4+rng.IntN(20), rng.IntN(2), make([]float64, 100+rng.IntN(1000))
		for i := range labels {
			labels[i] = float64(first + rng.IntN(k))
		}
		if is, notes := classesOf(t, labels); !is {
			t.Errorf("%d classes: %q", k, notes)
		}
	}
}

// classesOf says whether labels are taken for classes; the notes must say so, too.
func classesOf(t *testing.T, labels []float64) (classes bool, notes string) {
	t.Helper()
	tab := newTable(&format.Source{Path: "made"}, "npy", Floats)
	tab.Rows, tab.label = len(labels), labels
	if err := tab.findClasses(""); err != nil {
		t.Fatal(err)
	}
	says := "numbers, regression"
	if tab.Classes != nil {
		says = fmt.Sprintf("%s classes", count(len(distinct(labels))))
	}
	if notes = strings.Join(tab.Notes, "; "); !strings.Contains(notes, says) {
		t.Errorf("notes %q do not say %q", notes, says)
	}
	return tab.Classes != nil, notes
}

// of returns n[0] times first, n[1] times first+1 and so on.
func of(first int, n ...int) (labels []float64) {
	for i, n := range n {
		labels = append(labels, slices.Repeat([]float64{float64(first + i)}, n)...)
	}
	return labels
}

// numbersTo returns 1 to n.
func numbersTo(n int) (v []float64) {
	for i := range n {
		v = append(v, float64(i+1))
	}
	return v
}

// TestClassesAreSpelledAsInTheFile: a name can be joined with the file, whole numbers that float64 merges are
// different classes, and other data and older runs (1e+06) may spell them in another way.
func TestClassesAreSpelledAsInTheFile(t *testing.T) {
	for text, want := range map[string][]string{
		"1,1000000\n2,20250101\n3,90210\n": {"90210", "1000000", "20250101"},
		"1,9007199254740993\n2,9007199254740992\n3,76561197960265729\n": {"9007199254740992", "9007199254740993",
			"76561197960265729"},
		"1,02134\n2,90210\n3,02134\n": {"02134", "90210"},
		"1,01\n2,1\n3,2\n":            {"1", "2"},
		"1,1.0\n2,3.0\n3,1.0\n":       {"1", "3"},
	} {
		tab, err := decodeText(strings.Repeat(text, 3), "", nil)
		if err == nil {
			err = tab.findClasses("classes")
		}
		slices.Sort(want)
		if err != nil || !slices.Equal(slices.Sorted(slices.Values(tab.Classes)), want) {
			t.Errorf("%q: classes %q, %v", text, tab.Classes, err)
		}
	}
	classes := []string{"1e+06", "1000001", "07", "9007199254740993"}
	for text, want := range map[string][]float32{
		"1,1000000\n2,1000001\n":     {0, 1},
		"1,7\n2,1000000.0\n":         {2, 0},
		"1,07\n2,9007199254740993\n": {2, 3},
	} {
		tab, err := decodeText(text, "2", nil)
		y := []float32(nil)
		if err == nil {
			y, err = tab.targets(classes)
		}
		if err != nil || !slices.Equal(y, want) {
			t.Errorf("%q: %v, %v", text, y, err)
		}
	}
	tab, err := decodeText("1,9007199254740992\n", "2", nil)
	if err == nil {
		_, err = tab.targets(classes)
	}
	check.Error(t, err, `class "9007199254740992" does not occur`)
	tab, err = decodeText("1,00000000000000017\n2,12345678901234567\n", "2", nil)
	if err == nil {
		err = tab.findClasses("values")
	}
	if err != nil || !slices.Equal(tab.label, []float64{17, 12345678901234568}) {
		t.Errorf("values: %v, %v", tab.label, err)
	}
	tab, err = decode(textOf("9007199254740993 1:1\n5 1:2\n"), Options{Format: "libsvm"}, nil)
	if err == nil {
		err = tab.findClasses("classes")
	}
	check.Error(t, err, "file:1: label 9007199254740992", "2^53")
}
