package data

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/internal/check"
)

// mustLoadSets loads, and closes the sets when the test ends.
func mustLoadSets(t *testing.T, o Options) Sets {
	t.Helper()
	s, err := LoadSets(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestValidationShare: training, validation and test rows are the file's, each in one
// set. The training and test rows of a run without validation keep their sides.
func TestValidationShare(t *testing.T) {
	var text strings.Builder
	for i := range 240 {
		fmt.Fprintf(&text, "%d.5 1:%d\n", i, i+1)
	}
	path := file(t, "", "rows", text.String())
	s := mustLoadSets(t, Options{Path: path, Validation: "0.25", Scale: "standard", Seed: 1})
	all := slices.Concat(s.Train.Y, s.Validation.Y, s.Test.Y)
	slices.Sort(all)
	if s.Validation.Rows != 50 || s.Test.Rows != 40 || len(slices.Compact(all)) != 240 {
		t.Errorf("%d validation rows, %d test rows, %d different ones in all; want 50, 40, 240", s.Validation.Rows,
			s.Test.Rows, len(slices.Compact(all)))
	}
	if !slices.IsSorted(s.Validation.Y) || !slices.Contains(s.Train.Notes, "held out 50 of 200 training rows for "+
		"validation") {
		t.Errorf("in the order of the file: %v; notes %q", slices.IsSorted(s.Validation.Y), s.Train.Notes)
	}
	// x is y + 1/2
	if want := 1 / spreadOf(s.Train.Y).Deviation; math.Abs(float64(s.Train.Mul[0]/want-1)) > 1e-5 ||
		s.Validation.Mul[0] != s.Train.Mul[0] {
		t.Errorf("scaled by %v: want %v, by the training rows alone", s.Train.Mul[0], want)
	}
	train, test := mustLoad(t, Options{Path: path, Seed: 1})
	both := slices.Concat(s.Train.Y, s.Validation.Y)
	slices.Sort(both)
	without := slices.Sorted(slices.Values(train.Y))
	if !slices.Equal(both, without) || !slices.Equal(test.Y, s.Test.Y) {
		t.Error("without validation other rows are tested on")
	}
	again, other := mustLoadSets(t, Options{Path: path, Validation: "0.25", Seed: 1}),
		mustLoadSets(t, Options{Path: path, Validation: "0.25", Seed: 2})
	if !slices.Equal(s.Validation.Y, again.Validation.Y) || slices.Equal(s.Validation.Y, other.Validation.Y) {
		t.Error("the validation rows are not a function of the seed")
	}
}

// TestValidationIsStratified: each class has its share of the validation rows, give or take one.
func TestValidationIsStratified(t *testing.T) {
	var text strings.Builder
	for i := range 600 {
		label := 0
		if i%10 == 0 {
			label = 1 + i/10%3 // 20 rows each of the classes 1, 2 and 3
		}
		fmt.Fprintf(&text, "%d 1:%d\n", label, i+1)
	}
	path := file(t, "", "rows", text.String())
	file(t, filepath.Dir(path), "rows.t", text.String())
	for seed := range uint64(20) {
		s := mustLoadSets(t, Options{Path: path, Validation: "0.1", Seed: seed})
		counts := map[float32]int{}
		for _, y := range s.Validation.Y {
			counts[y]++
		}
		if s.Validation.Rows != 60 || counts[0] != 54 || min(counts[1], counts[2], counts[3]) < 1 ||
			max(counts[1], counts[2], counts[3]) > 3 {
			t.Errorf("seed %d: %v of 540, 20, 20 and 20", seed, counts)
		}
	}
}

// TestValidationOfOtherData: files, matrices and synthetic data have validation rows too.
func TestValidationOfOtherData(t *testing.T) {
	var train, validation, ratings strings.Builder
	for i := range 60 {
		fmt.Fprintf(&train, "%d 1:%d\n", i%2, i+1)
		fmt.Fprintf(&validation, "%d 1:%d\n", i%2, i+100)
		fmt.Fprintf(&ratings, "%d,%d,%d.5\n", i%7, i, i)
	}
	path := file(t, "", "rows", train.String())
	beside := file(t, filepath.Dir(path), "others", validation.String())
	s := mustLoadSets(t, Options{Path: path, Validation: beside, Scale: "none", Seed: 1})
	if s.Train.Rows != 50 || s.Validation.Rows != 60 || s.Validation.X[0] != 100 ||
		!slices.Equal(s.Validation.Classes, s.Train.Classes) {
		t.Errorf("from a file: %d validation rows, %+v", s.Validation.Rows, s.Validation.Meta)
	}
	s = mustLoadSets(t, Options{Path: file(t, "", "m.csv", ratings.String()), Task: "triples",
		Validation: "0.3", Seed: 1})
	all := slices.Concat(s.Train.Y, s.Validation.Y, s.Test.Y)
	slices.Sort(all)
	if n := s.Validation.Rows; n < 5 || n > 25 || len(slices.Compact(all)) != 60 ||
		s.Validation.Features != s.Train.Features {
		t.Errorf("of a matrix: %d validation entries, %d different ones in all", n, len(slices.Compact(all)))
	}
	for _, name := range []string{"synth:dense:500x3", "synth:sparse:500x40x5", "synth:linear:500x3",
		"synth:lowrank:40x30x500x2"} {
		s := mustLoadSets(t, Options{Path: name, Validation: "0.2", Seed: 1})
		if s.Train.Rows != 400 || s.Validation.Rows != 100 || s.Test.Rows != 83 {
			t.Errorf("%s: %d, %d and %d rows", name, s.Train.Rows, s.Validation.Rows, s.Test.Rows)
		}
		first := func(s *Set) string { b := s.NewReader().Batch([]int32{0}); return fmt.Sprint(b.Rows, b.Y) }
		if a, b, c := first(s.Train), first(s.Validation), first(s.Test); a == b || b == c {
			t.Errorf("%s: sets begin with equal rows: %s, %s, %s", name, a, b, c)
		}
	}
}

// TestValidationRefuses what is no set of its own.
func TestValidationRefuses(t *testing.T) {
	path := file(t, "", "rows", "1 1:1\n2 1:2\n1 1:3\n2 1:4\n")
	test := file(t, filepath.Dir(path), "rows.t", "1 1:5\n2 1:6\n")
	wide := file(t, filepath.Dir(path), "more", "1 1:5\n3 1:6\n3 1:7\n")
	for _, c := range []struct {
		o    Options
		says string
	}{
		{Options{Path: path, Validation: path}, "the file holds the training rows: name another one, or give a share " +
			"of the training rows, such as 0.1"},
		{Options{Path: path, Validation: test}, "the file holds the test rows: name another one"},
		{Options{Path: path, Validation: wide, Task: "classes"}, `class "3" does not occur in the training data`},
		{Options{Path: path, Validation: "0.99"}, "leaves none of 4 training rows"},
		{Options{Path: path, Validation: "1"}, "want a share of the training rows above 0 and below 1"},
		{Options{Path: path, Validation: "nowhere"}, "nowhere: no such file"},
		{Options{Path: "digits:300", Validation: "digits:300", Seed: 1}, "the file holds the test rows"},
		{Options{Path: "synth:dblife:0.001", Validation: "0.1", Task: "edges"},
			"is a graph, and cut trains on all of its edges; leave validation out"},
	} {
		_, err := LoadSets(c.o)
		check.Error(t, err, c.says)
	}
}
