package data

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
)

// triplesOf are the ids and values of a set, in some order.
func triplesOf(sets ...*Set) (all [][3]float64) {
	for _, s := range sets {
		get := s.triple()
		for i := range s.Rows {
			all = append(all, [3]float64(get(i)))
		}
	}
	slices.SortFunc(all, func(a, b [3]float64) int { return slices.Compare(a[:], b[:]) })
	return all
}

var ratings = [][3]float64{{3, 70, 4.5}, {3, 900, 1}, {17, 70, 3}, {17, 71, -2.25}, {2000000, 5, 5},
	{2000000, 900, 3e-3}, {2000000, 901, 2}}

// TestRatingsFormats: the same ratings in every format that is recognised by itself,
// and in others when it is said what they are.
func TestRatingsFormats(t *testing.T) {
	var npy strings.Builder
	npy.WriteString("\x93NUMPY\x01\x00\x3b\x00{'descr': '<f8', 'fortran_order': False, 'shape': (7, 3), }")
	for _, r := range ratings {
		for _, v := range r {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
			npy.Write(b[:])
		}
	}
	tab := "17\t70\t3\t881250949\n3\t70\t4.5\t881250950\n3\t900\t1\t881250951\n17\t71\t-2.25\t881250952\n" +
		"2000000\t5\t5\t881250953\n2000000\t900\t3e-3\t881250954\n2000000\t901\t2\t881250955\n"
	for _, c := range []struct{ name, text, task, format string }{
		{"u.data", tab, "", ""},
		{"ratings.csv", "userId,movieId,rating,timestamp\r\n" + strings.ReplaceAll(strings.ReplaceAll(tab, "\t", ","),
			"\n", "\r\n"), "", "auto"},
		{"ratings.dat", strings.ReplaceAll(tab, "\t", "::"), "", ""},
		{"plain.txt", "# three numbers\n\n" + strings.ReplaceAll(tab, "\t", "  "), "", "ratings"},
		{"semicolons", strings.TrimSuffix(strings.ReplaceAll(tab, "\t", ";"), "\n"), "triples", ""},
		{"coo.npy", npy.String(), "triples", ""},
	} {
		train, test := mustLoad(t, Options{Path: file(t, "", c.name, c.text), Task: c.task, Format: c.format, Seed: 1})
		if train.Kind != Pairs || !slices.Equal(train.Shape, []int{3, 5}) || train.Features != 8 ||
			train.Classes != nil {
			t.Errorf("%s: %s of shape %v with %d features", c.name, train.Kind, train.Shape, train.Features)
		}
		all := triplesOf(train, test)
		for i := range all {
			all[i][2] = math.Round(1e6*all[i][2]) / 1e6
		}
		if !slices.Equal(all, ratings) {
			t.Errorf("%s: %v, want %v", c.name, all, ratings)
		}
		if test.Rows == 0 || train.Rows == 0 || train.Y[0] == 0 {
			t.Errorf("%s: %d entries for training, %d for testing", c.name, train.Rows, test.Rows)
		}
	}
}

// TestRatingsLike: other ratings are read with the ids of the training data; those of
// other ids are left out, and counted.
func TestRatingsLike(t *testing.T) {
	train, _ := mustLoad(t, Options{Path: file(t, "", "u.data", "8 1 1\n8 5 2\n9 5 3\n12 1 4\n12 9 5\n"),
		Task: "triples", Seed: 1})
	s, err := LoadLike(file(t, "", "more", "12 5 1.5\n10 5 1\n8 9 2.5\n8 2 1\n"), "auto", "", train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if want := []uint32{2, 3 + 1, 0, 3 + 2}; !slices.Equal(s.Idx, want) || !slices.Equal(s.Y, []float32{1.5, 2.5}) {
		t.Errorf("nodes %v, values %v, want %v and 1.5, 2.5", s.Idx, s.Y, want)
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "left out 2 of 4 entries") {
		t.Errorf("notes %q", s.Notes)
	}
	if _, err := LoadLike(file(t, "", "none", "1 1 1\n"), "auto", "", train.Meta); err == nil {
		t.Error("ratings of unknown ids alone: no error")
	}
}

// TestEdges: nodes have one numbering, an edge goes from the smaller to the larger, and
// the graph is its own test.
func TestEdges(t *testing.T) {
	train, test := mustLoad(t, Options{Path: file(t, "", "g.txt", "30 10 2\n10 20\n20 20 5\n20 30 0.5\n"),
		Task: "edges", Seed: 1})
	want := [][3]float64{{10, 20, 1}, {10, 30, 2}, {20, 30, 0.5}}
	if got := triplesOf(train); !slices.Equal(got, want) || train.Features != 3 || train.Shape != nil {
		t.Errorf("%v with %d nodes, want %v", got, train.Features, want)
	}
	if !slices.Equal(test.Idx, train.Idx) || test.Rows != 3 {
		t.Errorf("the test set has the nodes %v, want those of the graph", test.Idx)
	}
}

// TestRatingsHoldOut: about a sixth of many entries, another one with another seed, and no
// entry twice or lost; --limit cuts the training entries.
func TestRatingsHoldOut(t *testing.T) {
	var text strings.Builder
	for i := range 6000 {
		text.WriteString(strings.Join([]string{decimal(float64(i % 77)), decimal(float64(i / 77)), decimal(float64(i))},
			","))
		text.WriteByte('\n')
	}
	path := file(t, "", "m.csv", text.String())
	train, test := mustLoad(t, Options{Path: path, Task: "triples", Seed: 1})
	if n := test.Rows; n < 900 || n > 1100 || train.Rows+n != 6000 {
		t.Errorf("%d for training, %d for testing of 6,000", train.Rows, n)
	}
	if all := triplesOf(train, test); len(slices.Compact(all)) != 6000 {
		t.Error("an entry is there twice")
	}
	_, other := mustLoad(t, Options{Path: path, Task: "triples", Seed: 2})
	if slices.Equal(test.Y, other.Y) {
		t.Error("another seed held out the same entries")
	}
	if slices.IsSorted(train.Y) {
		t.Error("the training entries lie in the order of the file")
	}
	few, _ := mustLoad(t, Options{Path: path, Task: "triples", Seed: 1, Limit: 100})
	if few.Rows != 100 || few.Features != train.Features {
		t.Errorf("limit 100: %d entries of %d nodes, want %d nodes", few.Rows, few.Features, train.Features)
	}
}

// TestRatingsErrors: each says where, and what is wanted.
func TestRatingsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"1 2 3\n1 x 3\n":       "m:2:3",
		"1 2 3\n-1 2 3\n":      "m:2:1",
		"1 2 3\n1 2 nan\n":     "finite",
		"1 2 3\n1 2 1e99\n":    "finite",
		"1 2147483648 1\n":     "2,147,483,647",
		"user item rating\n":   "no entries",
		"1 2.5 3\n":            "whole number",
		"1 2 3\n":              "too few",
		"+1 1:2 3:4\n-1 2:1\n": "libsvm",
	} {
		_, _, err := Load(Options{Path: file(t, "", "m", text), Task: "triples", Seed: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// TestIDs holds the numbering against a sorted list.
func TestIDs(t *testing.T) {
	s, err := newIDs(&source{Source: &format.Source{}}, 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	d, want := draws(7), []uint32{0, 63, 64, 65, 1 << 24}
	for range 500 {
		want = append(want, uint32(d.below(3000)))
	}
	for _, id := range want {
		s.add(id)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if n := s.count(); n != len(want) {
		t.Fatalf("%d ids, want %d", n, len(want))
	}
	again := idsOf(s.runs())
	for i, id := range want {
		a, ok := s.place(id)
		b, also := again.place(id)
		if !ok || !also || a != uint32(i) || b != a {
			t.Fatalf("id %d is number %d and %d, want %d", id, a, b, i)
		}
	}
	if _, ok := s.place(4000); ok || !slices.Equal(listed(s.runs()), want) {
		t.Error("an id that is not there, or a list that is not the ids")
	}
}
