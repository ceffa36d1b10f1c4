package data

import (
	"fmt"
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
	} {
		if strings.HasPrefix(name, "150 classes, 20") {
			c.labels = times(20, append(numbersTo(149), 0)...)
		}
		tab := newTable(&format.Source{Path: "made"}, "npy", Floats)
		tab.Rows, tab.label = len(c.labels), c.labels
		if err := tab.findClasses(""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		says := "numbers, regression"
		if c.classes {
			says = fmt.Sprintf("%s classes", count(len(distinct(c.labels))))
		}
		if notes := strings.Join(tab.Notes, "; "); (tab.Classes != nil) != c.classes || !strings.Contains(notes, says) {
			t.Errorf("%s: %d classes, notes %q", name, len(tab.Classes), notes)
		}
	}
}

// numbersTo is 1 to n.
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
