package data

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func whole(o Order, epoch int) []int32 {
	rows := make([]int32, o.N)
	o.Fill(rows, epoch, 0)
	return rows
}

// Every epoch visits each row once, and any stretch of it is as in the whole.
func TestOrderIsAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Order{
			Seed:  rapid.Uint64().Draw(t, "seed"),
			First: rapid.IntRange(0, 1000).Draw(t, "first"),
			N:     rapid.IntRange(1, 3000).Draw(t, "n"),
		}
		epoch := rapid.IntRange(0, 100).Draw(t, "epoch")
		rows := whole(o, epoch)
		seen := make([]bool, o.N)
		for _, r := range rows {
			if i := int(r) - o.First; i < 0 || i >= o.N || seen[i] {
				t.Fatalf("row %d is outside or there twice", r)
			} else {
				seen[i] = true
			}
		}
		from := rapid.IntRange(0, o.N).Draw(t, "from")
		part := make([]int32, rapid.IntRange(0, o.N-from).Draw(t, "len"))
		o.Fill(part, epoch, from)
		if !slices.Equal(part, rows[from:from+len(part)]) {
			t.Fatalf("positions %d to %d differ from those of the whole epoch", from, from+len(part))
		}
	})
}

func TestOrderOfEverySmallSet(t *testing.T) {
	for n := 1; n <= 64*40; n++ {
		rows := whole(Order{Seed: 7, N: n}, 3)
		slices.Sort(rows)
		if !slices.Equal(rows, allRows(n)) {
			t.Fatalf("an order of %d rows is no permutation", n)
		}
	}
}

func TestOrderDiffersBetweenEpochsAndSeeds(t *testing.T) {
	o := Order{Seed: 1, N: 10000}
	first := whole(o, 0)
	for name, other := range map[string][]int32{
		"epoch": whole(o, 1), "seed": whole(Order{Seed: 2, N: o.N}, 0), "none": whole(o, 0), "file": allRows(o.N),
	} {
		same := 0
		for i, r := range other {
			if r == first[i] {
				same++
			}
		}
		if name == "none" && same != o.N {
			t.Errorf("the same epoch and seed: %d of %d rows at the same position", same, o.N)
		}
		if name != "none" && same > 20 { // one is expected by chance
			t.Errorf("another %s: %d of %d rows at the same position", name, same, o.N)
		}
	}
}

// Over many epochs each row is at each position about equally often. Chi-squared
// with 128 x 127 degrees of freedom has mean 16256 and deviation 180.
func TestOrderIsUniform(t *testing.T) {
	const n, epochs = 128, 20000
	var at [n][n]int
	o := Order{Seed: 5, N: n}
	for e := range epochs {
		for position, r := range whole(o, e) {
			at[position][r]++
		}
	}
	chi2, want := 0.0, float64(epochs)/n
	for _, row := range at {
		for _, c := range row {
			chi2 += (float64(c) - want) * (float64(c) - want) / want
		}
	}
	if chi2 < 15300 || chi2 > 17200 {
		t.Errorf("chi-squared of rows at positions is %.0f, want 16256 +- 5 x 180", chi2)
	}
}

func TestOrderRefusesPositionsOutside(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for positions beyond the last")
		}
	}()
	Order{N: 100}.Fill(make([]int32, 2), 0, 99)
}

func BenchmarkOrder(b *testing.B) {
	o := Order{Seed: 1, N: 60000}
	dst := make([]int32, 1024)
	for b.Loop() {
		o.Fill(dst, 1, 512)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/row")
}
