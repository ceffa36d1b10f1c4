package data

import (
	"fmt"
	"slices"
	"testing"
)

// TestStretches: with stretches an epoch visits each row once, in whole stretches, each in another order; those that
// Fetch names while it goes along are all rows, each once. Stretches of one block are the order without.
func TestStretches(t *testing.T) {
	for _, n := range []int{1, 63, 64, 1000, 64 * 12, 64*12 + 5, 64*13 + 5, 64 * 11} {
		for _, stretch := range []int{0, 1, 2, 3, 12, 100} {
			t.Run(fmt.Sprint(n, " ", stretch), func(t *testing.T) {
				o := Order{Seed: 5, First: 30, N: n, Stretch: stretch}
				rows := make([]int32, n)
				o.Fill(rows, 2, 0)
				if plain := make([]int32, n); stretch < 2 {
					Order{Seed: 5, First: 30, N: n}.Fill(plain, 2, 0)
					if !slices.Equal(rows, plain) {
						t.Error("another order than without stretches")
					}
				}
				at := 0
				for first, many := range o.stretches(2, 0, n) {
					part := slices.Clone(rows[at : at+many])
					slices.Sort(part)
					if int(part[0]) != first || int(part[many-1]) != first+many-1 {
						t.Fatalf("positions from %d on: rows %d to %d, want %d from %d on", at, part[0],
							part[many-1], many, first)
					}
					at += many
				}
				if at != n {
					t.Errorf("%d rows are named, want %d", at, n)
				}
				slices.Sort(rows)
				for i, row := range rows {
					if int(row) != 30+i {
						t.Fatalf("row %d is %d", i, row)
					}
				}
				seen := make([]int, n)
				for from := 0; from < n; from += 100 { // as workers ask, a chunk after the other
					for first, many := range o.stretches(1, from, 100) {
						for i := range many {
							seen[first-30+i]++
						}
					}
				}
				if i := slices.IndexFunc(seen, func(k int) bool { return k != 1 }); i >= 0 {
					t.Errorf("row %d is fetched %d times", i, seen[i])
				}
			})
		}
	}
	a, b := make([]int32, 6400), make([]int32, 6400)
	o := Order{Seed: 5, N: 6400, Stretch: 4}
	o.Fill(a, 0, 0)
	o.Fill(b, 1, 0)
	same := 0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	if same > 64 { // one in 6,400 is expected to be
		t.Errorf("%d of 6,400 rows have the same place in two epochs", same)
	}
}

// TestFetchKeepsToTheSet: whatever is fetched lies within the arrays, and only sets above a size stream.
func TestFetchKeepsToTheSet(t *testing.T) {
	for _, path := range []string{"digits:300", "synth:sparse:300x50x5", "synth:dense:300x5",
		"synth:lowrank:20x30x300x3"} {
		s, err := LoadSets(Options{Path: converted(t, Options{Path: path, Seed: 1}), Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if s.Train.Streams() || s.Train.Stretch() != 1 {
			t.Errorf("%s: a small set streams", path)
		}
		for _, stretch := range []int{1, 2, 9} {
			for from := 0; from < 400; from += 50 {
				s.Train.Fetch(Order{Seed: 1, N: s.Train.Rows, Stretch: stretch}, 3, from, 100)
			}
		}
	}
	// Rows of 2 KiB, 4 bytes and 2 MiB.
	for rows, want := range map[int]int{1 << 21: 8, 1 << 30: 1 << 12, 1 << 11: 1} {
		if got := stretchOf(1<<32, rows); got != want {
			t.Errorf("%d rows in 4 GiB: stretches of %d blocks, want %d", rows, got, want)
		}
	}
}
