package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"hogwild/hogwild/data/format"
)

// stored makes a set of all rows of t, closed when the test ends.
func stored(tb testing.TB, t *table) *Set {
	tb.Helper()
	if t.label == nil {
		t.label = make([]float64, t.Rows)
	}
	y, err := t.targets(t.Classes)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := t.store(allRows(t.Rows), y)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// bytesTable returns n x d random bytes, about the share of them not zero.
func bytesTable(n, d int, share float64) *table {
	t := newTable(&format.Source{Path: "made"}, "idx", Bytes)
	t.Rows, t.Features, t.x8 = n, d, make([]uint8, n*d)
	rng := rand.New(rand.NewPCG(1, uint64(d)))
	for i := range t.x8 {
		if rng.Float64() < share {
			t.x8[i] = uint8(1 + rng.IntN(255))
		}
	}
	return t
}

// expand returns a row as d numbers, after checking that it is one.
func expand(t *testing.T, r Row, d int) []float32 {
	t.Helper()
	if r.Idx == nil {
		if len(r.Val) != d {
			t.Fatalf("a dense row of %d values, want %d", len(r.Val), d)
		}
		return r.Val
	}
	x, last := make([]float32, d), -1
	for k, i := range r.Idx {
		if int(i) <= last || int(i) >= d || r.Val[k] == 0 {
			t.Fatalf("a sparse row with index %d after %d and value %g", i, last, r.Val[k])
		}
		last, x[i] = int(i), r.Val[k]
	}
	return x
}

// Batches of bytes against the definition x*Mul + Add, for odd widths and every
// form of scaling.
func TestBatchOfBytes(t *testing.T) {
	perFeature := func(d int, from float32) []float32 {
		v := make([]float32, d)
		for j := range v {
			v[j] = from + float32(j)/8
		}
		return v
	}
	for _, d := range []int{1, 7, 8, 9, 16, 61, 784} {
		for _, share := range []float64{0, 0.1, 0.5, 0.9, 1} {
			for name, scale := range map[string][2][]float32{
				"none":   {nil, nil},
				"scalar": {{1. / 255}, nil},
				"moved":  {{1. / 255}, {-0.5}},
				"vector": {perFeature(d, 1), nil},
				"both":   {perFeature(d, 1), perFeature(d, -3)},
			} {
				t.Run(fmt.Sprintf("%s/%d/%g", name, d, share), func(t *testing.T) {
					tab := bytesTable(13, d, share)
					tab.Mul, tab.Add = scale[0], scale[1]
					checkBytes(t, tab, stored(t, tab))
				})
			}
		}
	}
}

func checkBytes(t *testing.T, tab *table, s *Set) {
	d, nonzeros := tab.Features, int64(0)
	r := s.NewReader()
	for _, rows := range [][]int32{{3}, {12, 0, 0, 5}, allRows(tab.Rows), {}} {
		b := r.Batch(rows)
		if len(b.Rows) != len(rows) || len(b.Y) != len(rows) || b.Features != d {
			t.Fatalf("%d rows, %d targets, %d features", len(b.Rows), len(b.Y), b.Features)
		}
		nonzeros = 0
		for k, i := range rows {
			for j, got := range expand(t, b.Rows[k], d) {
				mul, add := tab.scaling(j)
				want := float64(tab.x8[int(i)*d+j])*float64(mul) + float64(add)
				if math.Abs(float64(got)-want) > 1e-6*(1+math.Abs(want)) {
					t.Fatalf("row %d, feature %d: %g, want %g", i, j, got, want)
				}
				if got != 0 {
					nonzeros++
				}
			}
		}
		if len(rows) == tab.Rows && nonzeros != s.Nonzeros {
			t.Errorf("%d inputs are not zero, Nonzeros says %d", nonzeros, s.Nonzeros)
		}
	}
}

// The form of the rows follows the share of zeros.
func TestRowsAreSparseWhereItPays(t *testing.T) {
	for _, c := range []struct {
		share  float64
		add    []float32
		sparse bool
	}{{0.2, nil, true}, {0.9, nil, false}, {0.2, []float32{-0.1}, false}} {
		tab := bytesTable(20, 100, c.share)
		tab.Add = c.add
		row := stored(t, tab).NewReader().Batch([]int32{4}).Rows[0]
		if (row.Idx != nil) != c.sparse {
			t.Errorf("%.0f%% not zero, add %v: sparse is %v", 100*c.share, c.add, !c.sparse)
		}
	}
}

// TestValuesPerRow holds the mean to the rows that batches have.
func TestValuesPerRow(t *testing.T) {
	floats := newTable(&format.Source{Path: "made"}, "csv", Floats)
	floats.Rows, floats.Features, floats.x = 2, 3, []float32{0, 1, 0, 0, 0, 2}
	sparse := newTable(&format.Source{Path: "made"}, "libsvm", Sparse)
	sparse.Rows, sparse.Features = 2, 9
	// a zero is stored
	sparse.ptr, sparse.idx, sparse.val = []int64{0, 3, 4}, []uint32{0, 1, 7, 2}, []float32{1, 0, 3, 4}
	added := bytesTable(20, 100, 0.2)
	added.Add = []float32{-0.1}
	for name, tab := range map[string]*table{"few": bytesTable(20, 100, 0.2), "many": bytesTable(20, 100, 0.9),
		"added": added, "floats": floats, "sparse": sparse} {
		s := stored(t, tab)
		sum := 0
		for _, row := range s.NewReader().Batch(allRows(s.Rows)).Rows {
			sum += len(row.Val)
		}
		if got, want := s.ValuesPerRow(), float64(sum)/float64(s.Rows); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestBatchAllocatesNothingOnceWarm(t *testing.T) {
	r := stored(t, bytesTable(200, 100, 0.3)).NewReader()
	rows := allRows(64)
	r.Batch(rows)
	if n := testing.AllocsPerRun(100, func() { r.Batch(rows) }); n != 0 {
		t.Errorf("%g allocations a batch", n)
	}
}

// Frequencies are shares of rows, never below 1/n.
func TestFrequencies(t *testing.T) {
	tab := newTable(&format.Source{Path: "made"}, "libsvm", Sparse)
	tab.Rows, tab.Features = 4, 3
	tab.ptr, tab.idx, tab.val = []int64{0, 2, 2, 3, 4}, []uint32{0, 1, 0, 0}, []float32{1, 2, 3, 4}
	s := stored(t, tab)
	want := []float32{0.75, 0.25, 0.25} // the last by the floor
	for j := range want {
		if s.Freq[j] != want[j] {
			t.Errorf("feature %d: %g, want %g", j, s.Freq[j], want[j])
		}
	}
	if s.Nonzeros != 4 {
		t.Errorf("%d nonzeros, want 4", s.Nonzeros)
	}
}

// BenchmarkBatch forms batches of 64 images, a fifth of whose bytes are not zero.
func BenchmarkBatch(b *testing.B) {
	tab, err := drawDigits(&format.Source{Path: "digits:4096"}, 1, false)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		add  []float32
	}{{"sparse", nil}, {"dense", []float32{-0.1}}} {
		b.Run(c.name, func(b *testing.B) {
			tab.Mul, tab.Add = []float32{1. / 255}, c.add
			r := stored(b, tab).NewReader()
			rows := make([]int32, 64)
			o, at := Order{Seed: 1, N: 4096}, 0
			for b.Loop() {
				o.Fill(rows, 0, at%4096)
				r.Batch(rows)
				at += 64
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/row")
		})
	}
}

// open reads a file into a table.
func open(path string, o Options, like *Meta) (*table, error) {
	src, err := read(path, nil)
	if err != nil {
		return nil, err
	}
	return decode(src, o, like)
}
