package data

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWeightColumn: a column of weights is no input, lies with its rows, in a cache too, and scores have none.
func TestWeightColumn(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,kind,w\n")
	for i := range 60 {
		fmt.Fprintf(&b, "%d.5,%s,%d\n", i*i%61, []string{"x", "y"}[i%2], i*i%61%7)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Path: path, Weight: "w", Scale: "none", Seed: 1, Validation: "0.1"}
	cache := filepath.Join(t.TempDir(), "t.hog")
	if _, err := Convert(context.Background(), o, cache, anyRows, silent); err != nil {
		t.Fatal(err)
	}
	byNumber := o
	byNumber.Weight = "3"
	for _, o := range []Options{o, byNumber, {Path: cache, Validation: "0.1"}} {
		s, err := LoadSets(o)
		if err != nil {
			t.Fatal(err)
		}
		if s.Test.Weighted() || s.Validation.Weighted() || !s.Train.Weighted() ||
			!slices.Equal(s.Train.Columns, []string{"a"}) {
			t.Errorf("%+v: train, validation, test weighted: %v %v %v, columns %v", o, s.Train.Weighted(),
				s.Validation.Weighted(), s.Test.Weighted(), s.Train.Columns)
		}
		batch := s.Train.NewReader().Batch([]int32{5, 0})
		for k, i := range []int32{5, 0} {
			if want := float32(int(s.Train.X[i]) % 7); s.Train.WeightOf(i) != want || batch.W[k] != want {
				t.Errorf("row %d, a = %g: weight %g, in a batch %g, want %g", i, s.Train.X[i], s.Train.W[i],
					batch.W[k], want)
			}
		}
		s.Close()
	}
	if s, err := LoadSets(Options{Path: path, Weight: "w", Test: None, Seed: 1}); err != nil || s.Test.Weighted() {
		t.Errorf("test none: weighted %v, %v", s.Test.Weighted(), err)
	}
	for replaced, want := range map[string]string{"nan": "t.csv:2: column w: nan: want a finite number",
		"-1": "t.csv:2: weight -1: want a finite number, 0 or more", "": `t.csv:2: column w: : want`} {
		text := strings.Replace(b.String(), "x,0\n", "x,"+replaced+"\n", 1)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadSets(o); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), want) {
			t.Errorf("weight %q: %v, want %q", replaced, err, want)
		}
	}
	for _, bad := range []string{"v", "kind"} {
		if o.Weight, o.Target = bad, "kind"; second(LoadSets(o)) == nil {
			t.Errorf("weight %s: no error", bad)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestWeightsInMemory: rows and pairs of a program, and rooms, have weights; wrong ones are refused.
func TestWeightsInMemory(t *testing.T) {
	m := &Memory{Y: []float32{0, 1, 1, 0, 1, 0, 0, 1}, W: []float32{0, 1, 2, 3, 4, 5, 6, 7}}
	pairs := &Memory{W: m.W}
	for i := range uint32(8) {
		m.Rows = append(m.Rows, Row{Val: []float32{float32(i)}})
		pairs.Pairs, pairs.Y = append(pairs.Pairs, [2]uint32{i, 100 + i/2}), append(pairs.Y, float32(10+i))
	}
	for _, m := range []*Memory{m, pairs} {
		for _, grid := range []int{0, 2} {
			o := Options{Path: "memory", Memory: m, TestMemory: m, Scale: "none", Seed: 1}
			if m.Pairs != nil {
				o.Task, o.Grid, o.TestMemory = "triples", grid, nil
			}
			s, err := LoadSets(o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.Train.Rows {
				want := s.Train.Y[i] - 10 // of pairs
				if m.Pairs == nil {
					want = s.Train.X[i]
				}
				if got := s.Train.WeightOf(int32(i)); got != want {
					t.Errorf("row %d: weight %g, want %g", i, got, want)
				}
			}
			if s.Test.Weighted() {
				t.Error("the test set has weights")
			}
			s.Close()
		}
		for _, bad := range []float32{-1, float32(math.NaN()), float32(math.Inf(1))} {
			own := *m
			own.W = slices.Clone(m.W)
			own.W[3] = bad
			_, err := LoadSets(Options{Path: "memory", Memory: &own, Seed: 1})
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("row 3: weight %g", bad)) {
				t.Errorf("weight %g: %v", bad, err)
			}
		}
		own := *m
		for want, w := range map[string][]float32{"all 8 rows": make([]float32, 8), "7 weights for 8": m.W[1:]} {
			own.W = w
			_, err := LoadSets(Options{Path: "memory", Memory: &own})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q", w, err, want)
			}
		}
	}
}

// TestClassWeights: balanced classes are equally heavy, by the weights of their rows; others have what is said.
func TestClassWeights(t *testing.T) {
	s := &Set{Meta: Meta{Name: "rows", Rows: 5, Classes: []string{"-1", "a,b", "never"}}, Y: []float32{0, 0, 0, 1, 0}}
	weights := func(s *Set) (all []float32) { return s.weights(nil, allRows(s.Rows)) }
	for how, want := range map[string][]float32{"balanced": {.625, .625, .625, 2.5, .625}, "": nil,
		`-1.0=3`: {3, 3, 3, 1, 3}, `"a,b=0.5",-1=2`: {2, 2, 2, .5, 2}} {
		w, err := s.Weighed(how)
		if err != nil || !slices.Equal(weights(w), want) || s.Weighted() {
			t.Errorf("%s: %v, %v, want %v", how, weights(w), err, want)
		}
	}
	s.W = []float32{1, 0, 2, 3, 3}
	w, err := s.Weighed("balanced")
	if want := []float32{.75, 0, 1.5, 4.5, 2.25}; err != nil || !slices.Equal(weights(w), want) {
		t.Errorf("balanced, weighted rows: %v, %v, want %v", weights(w), err, want)
	}
	if h := w.Heavy(); math.Abs(h-(.5625+2.25+20.25+5.0625)/9) > 1e-6 {
		t.Errorf("heavy: %g", h)
	}
	for _, bad := range []string{"b=1", "-1", "-1=-2", "-1=nan", `"-1=1`, "-1=0,a,b=0", "balance"} {
		if _, err := s.Weighed(bad); err == nil || !strings.Contains(err.Error(), "class-weight") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	s.Classes = nil
	if _, err := s.Weighed("balanced"); err == nil {
		t.Error("balanced values")
	}
}
