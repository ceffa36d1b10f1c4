package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// A table that may be ratings has a note, with the flag that makes them some; others have none.
func TestTablesLikeRatings(t *testing.T) {
	lines := func(head string, line func(r *rand.Rand, i int) string) string {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 1500 {
			head += line(r, i) + "\n"
		}
		return head
	}
	for name, c := range map[string]struct{ text, flag string }{
		"quoted, a time": {lines("\"Stars\";\"when\";\"reader\";\"title\"\n", func(r *rand.Rand, _ int) string {
			return fmt.Sprintf(`"%d";"%d";"%d";"%d"`, 1+r.IntN(5), 1_500_000_000+r.IntN(1e8), r.IntN(80), r.IntN(60))
		}), "--columns user=reader,item=title,value=Stars"},
		"texts, an index, dates": {lines(",who,what,when,halves\n", func(r *rand.Rand, i int) string {
			stars := .5 * float64(1+r.IntN(10))
			return fmt.Sprintf("%d,u%d,f%d,2026-03-%02d,%g", i, r.IntN(400), r.IntN(300), 1+r.IntN(31), stars)
		}), "--columns user=who,item=what,value=halves"},
		"no names, sorted by user": {lines("", func(r *rand.Rand, i int) string {
			return fmt.Sprintf("%d,%d,%d", 1000+i/30, r.IntN(300), r.IntN(11))
		}), "--columns user=1,item=2,value=3"},
		"a name to quote": {lines("a reader,title,stars\n", func(r *rand.Rand, _ int) string {
			return fmt.Sprintf("%d,%d,%d", r.IntN(50), r.IntN(60), r.IntN(5))
		}), "--columns 'user=a reader,item=title,value=stars'"},
		"houses": {lines("population,rooms,price\n", func(r *rand.Rand, _ int) string {
			return fmt.Sprintf("%d,%d,%d", 500+r.IntN(50_000), 1+r.IntN(9), 900+r.IntN(50_000))
		}), ""},
		"measures": {lines("a,b,class\n", func(r *rand.Rand, _ int) string {
			return fmt.Sprintf("%.1f,%.1f,%d", 9*r.Float64(), 9*r.Float64(), r.IntN(3))
		}), ""},
		"counts and a class": {lines("id,hits,misses,team,win\n", func(r *rand.Rand, i int) string {
			return fmt.Sprintf("%d,%d,%d,%d,%d", i+1, r.IntN(40), r.IntN(40), r.IntN(30), r.IntN(2))
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Describe(Options{Path: file(t, "", "t.csv", c.text)})
			if err != nil {
				t.Fatal(err)
			}
			const says = "if its rows are ratings of items by users, or counts of them, say so: "
			_, flag, _ := strings.Cut(strings.Join(m.Notes, "\n"), says)
			if flag, _, _ = strings.Cut(flag, "\n"); flag != c.flag {
				t.Fatalf("%q, notes %q", flag, m.Notes)
			}
			if c.flag == "" {
				return
			}
			columns := strings.Trim(strings.TrimPrefix(flag, "--columns "), "'")
			p, err := Describe(Options{Path: file(t, "", "t.csv", c.text), Columns: columns})
			if err != nil || p.Kind != Pairs || p.Rows != 1500 {
				t.Errorf("read by it: %+v, %v", p, err)
			}
		})
	}
}

// Of many entries the number of copies is estimated.
func TestManyCopies(t *testing.T) {
	r, text := rand.New(rand.NewPCG(1, 1)), []byte("user,item,rating\n")
	seen, copies := map[[2]int]bool{}, 0
	for range 300_000 {
		at := [2]int{r.IntN(1000), r.IntN(1500)}
		if seen[at] {
			copies++
		}
		seen[at] = true
		text = fmt.Appendf(text, "%d,%d,%d\n", at[0], at[1], r.IntN(5))
	}
	about, ok := strings.CutPrefix(copiesNoted(t, string(text)), "about ")
	n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSuffix(about, " of 300,000"), ",", ""))
	if !ok || err != nil || math.Abs(float64(n-copies)) > .1*float64(copies) {
		t.Errorf("%s of %d copies: %v", about, copies, err)
	}
}

// copiesNoted returns what data info says of copies.
func copiesNoted(t *testing.T, text string) string {
	m, err := Describe(Options{Path: file(t, "", "m", text), Task: "triples"})
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range m.Notes {
		if n, is := strings.CutSuffix(note, " entries have the row and the column of an earlier one: each counts"); is {
			return n
		}
	}
	return ""
}
