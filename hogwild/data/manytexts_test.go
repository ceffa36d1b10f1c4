package data

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
)

// manyTexts returns a table of n rows: a number, one of the texts, and two classes; some numbers and texts are missing.
func manyTexts(texts, n int) string {
	var text strings.Builder
	text.WriteString("n,level,y\n")
	for i := range n {
		number, level := itoa(1000+i*i%77), "t"+itoa(i*i%texts*7%texts)
		if i < texts {
			level = "t" + itoa(i)
		}
		if i%31 == 30 {
			number = ""
		}
		if i%37 == 36 {
			level = ""
		}
		text.WriteString(number + "," + level + "," + itoa(i%2) + "\n")
	}
	return text.String()
}

// A table of many texts has sparse rows: the values are as plain code has them, standardised numbers too.
func TestCSVOfManyTexts(t *testing.T) {
	text := manyTexts(150, 700)
	train, err := LoadSets(Options{Path: file(t, "", "t.csv", text), Test: None, Task: "classes"})
	if err != nil {
		t.Fatal(err)
	}
	defer train.Close()
	set := train.Train
	if set.Kind != Sparse || set.Rows != 700 || set.ScaleText() != "standardised" {
		t.Fatalf("%s, %d rows of %d features, %s", set.Kind, set.Rows, set.Features, set.ScaleText())
	}
	var sum, squares, known float64
	often, lines := map[string]int{}, strings.Split(strings.TrimSpace(text), "\n")[1:]
	for _, line := range lines {
		cells := strings.Split(line, ",")
		if v, err := strconv.ParseFloat(cells[0], 64); err == nil {
			sum, squares, known = sum+v, squares+v*v, known+1
		}
		if cells[1] != "" {
			often[cells[1]]++
		}
	}
	if set.Features != 1+len(often) || len(often) <= format.MaxTexts {
		t.Errorf("%d features of %d texts", set.Features, len(often))
	}
	mean, common := sum/known, "t0"
	for _, name := range slices.Sorted(maps.Keys(often)) {
		if often[name] > often[common] {
			common = name
		}
	}
	squares += (700 - known) * mean * mean // the mean stands for missing values
	deviation := math.Sqrt(squares/700 - mean*mean)
	thousandths, want := func(v float64) int { return int(math.Round(1000 * v)) }, map[string]int{}
	for _, line := range lines {
		cells := strings.Split(line, ",")
		v, err := strconv.ParseFloat(cells[0], 64)
		if err != nil {
			v = mean
		}
		if cells[1] == "" {
			cells[1] = common
		}
		want[fmt.Sprintf("%d level=%s %s", thousandths((v-mean)/deviation), cells[1], cells[2])]++
	}
	for i := range set.Rows { // in an order that was drawn
		from := set.Ptr[i]
		if set.Ptr[i+1] != from+2 || set.Idx[from] != 0 || set.Val[from+1] != 1 {
			t.Fatalf("row %d: %v %v", i, set.Idx[from:set.Ptr[i+1]], set.Val[from:set.Ptr[i+1]])
		}
		text, class := set.Columns[set.Idx[from+1]], set.Classes[int(set.Y[i])]
		want[fmt.Sprintf("%d %s %s", thousandths(float64(set.Val[from])), text, class)]--
	}
	for row, n := range want {
		if n != 0 {
			t.Errorf("%s: %d rows too few", row, n)
		}
	}
}

// What a column of many texts is left out for.
func TestCSVLeavesOutTexts(t *testing.T) {
	for want, cell := range map[string]func(i int) string{
		"almost all its texts are unique": func(i int) string { return "name" + itoa(i) },
		"some of more than 100 bytes":     func(i int) string { return strings.Repeat("a word ", 15) + itoa(i%300) },
		"more than 100 distinct numbers":  func(i int) string { return []string{"", "A", "B"}[i%3] + itoa(i%450) },
		"more than 65,536 distinct text":  func(i int) string { return "t" + itoa(i%66000) },
	} {
		var text strings.Builder
		n := 900
		if strings.HasPrefix(want, "more than 65") {
			n = 140000
		}
		text.WriteString("x,t,y\n")
		for i := range n {
			text.WriteString(itoa(i%7) + "," + cell(i) + "," + itoa(i%2) + "\n")
		}
		tab, err := decodeText(text.String(), "", nil)
		if err != nil || !slices.Equal(tab.Columns, []string{"x"}) || tab.Kind != Floats ||
			!strings.Contains(strings.Join(tab.Notes, "\n"), want) {
			t.Errorf("%s: %v, columns %q, notes %q", want, err, tab.Columns, tab.Notes)
		}
	}
}
