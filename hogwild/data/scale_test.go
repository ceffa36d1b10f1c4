package data

import (
	"math"
	"testing"
)

// Three rows of three features, the last of them constant, in each kind.
func scaleTables() map[string]*table {
	floats := newTable(&source{path: "made"}, "csv", Floats)
	floats.x = []float32{1, 0, 5, 2, -4, 5, 6, 0, 5}
	bytes := newTable(&source{path: "made"}, "idx", Bytes)
	bytes.x8 = []uint8{51, 0, 255, 102, 204, 255, 255, 0, 255}
	sparse := newTable(&source{path: "made"}, "libsvm", Sparse)
	sparse.ptr = []int64{0, 2, 5, 7}
	sparse.idx = []uint32{0, 2, 0, 1, 2, 0, 2}
	sparse.val = []float32{1, 5, 2, -4, 5, 6, 5}
	tables := map[string]*table{Floats: floats, Bytes: bytes, Sparse: sparse}
	for _, t := range tables {
		t.Rows, t.Features, t.label = 3, 3, []float64{1, 2, 3}
	}
	return tables
}

// std is the population deviation, worked out from the definition.
func std(v ...float64) (mean, std float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		std += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, math.Sqrt(std)
}

func TestScale(t *testing.T) {
	m0, s0 := std(1, 2, 6)
	m1, s1 := std(0, -4, 0)
	b0, c0 := std(51, 102, 255)
	b1, c1 := std(0, 204, 0)
	for _, c := range []struct {
		kind, scale string
		want        []float64 // 3 x 3
	}{
		{Floats, "auto", []float64{1, 0, 5, 2, -4, 5, 6, 0, 5}},
		{Floats, "none", []float64{1, 0, 5, 2, -4, 5, 6, 0, 5}},
		{Floats, "unit", []float64{0, 1, 0, .2, 0, 0, 1, 1, 0}},
		{Floats, "standard", []float64{(1 - m0) / s0, -m1 / s1, 0, (2 - m0) / s0, (-4 - m1) / s1, 0, (6 - m0) / s0, -m1 / s1, 0}},
		{Floats, "2,4", []float64{-.25, -.5, .75, 0, -1.5, .75, 1, -.5, .75}},
		{Bytes, "", []float64{.2, 0, 1, .4, .8, 1, 1, 0, 1}},
		{Bytes, "none", []float64{51, 0, 255, 102, 204, 255, 255, 0, 255}},
		{Bytes, "unit", []float64{.2, 0, 1, .4, .8, 1, 1, 0, 1}},
		{Bytes, "standard", []float64{(51 - b0) / c0, -b1 / c1, 0, (102 - b0) / c0, (204 - b1) / c1, 0, (255 - b0) / c0, -b1 / c1, 0}},
		{Bytes, "0.5, 0.25", []float64{-1.2, -2, 2, -.4, 1.2, 2, 2, -2, 2}},
		{Sparse, "auto", []float64{1, 0, 5, 2, -4, 5, 6, 0, 5}},
		{Sparse, "unit", []float64{1. / 6, 0, 1, 1. / 3, -1, 1, 1, 0, 1}},
		{Sparse, "standard", []float64{1 / s0, 0, 5, 2 / s0, -4 / s1, 5, 6 / s0, 0, 5}},
	} {
		t.Run(c.kind+" "+c.scale, func(t *testing.T) {
			tab := scaleTables()[c.kind]
			rule, err := parseScale(c.scale)
			if err != nil {
				t.Fatal(err)
			}
			if err := tab.fit(rule, allRows(3)); err != nil {
				t.Fatal(err)
			}
			x, _ := rowsOf(t, stored(t, tab))
			for k, want := range c.want {
				if got := float64(x[k/3][k%3]); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("row %d, feature %d: %g, want %g", k/3, k%3, got, want)
				}
			}
		})
	}
}

// The scaling is fitted to the training rows alone, and applied to the test rows.
func TestScaleOfTestRows(t *testing.T) {
	path := file(t, "", "a.csv", "x,y\n0,.5\n10,1\n5,1\n")
	_, test := mustLoad(t, Options{Path: path, Test: file(t, "", "b.csv", "x,y\n20,.5\n"), Scale: "unit"})
	if x, _ := rowsOf(t, test); x[0][0] != 2 {
		t.Errorf("20 on a scale of 0 to 10 is %g, want 2", x[0][0])
	}
}

func TestScaleOfLimitedRows(t *testing.T) {
	path := file(t, "", "a.csv", "x,y\n0,.5\n10,1\n5,1\n50,1\n")
	train, _ := mustLoad(t, Options{Path: path, Test: path, Scale: "unit", Limit: 2})
	if train.Rows != 2 || train.Mul[0] != 0.1 {
		t.Errorf("%d rows of 0 and 10 are multiplied by %g, want 0.1", train.Rows, train.Mul[0])
	}
}

// Large offsets do not swallow a small spread.
func TestStandardWithLargeOffset(t *testing.T) {
	tab := newTable(&source{path: "made"}, "csv", Floats)
	tab.Rows, tab.Features, tab.x = 4, 1, []float32{1e6 - 1, 1e6 + 1, 1e6 - 1, 1e6 + 1}
	if s := tab.spreads(allRows(4))[0]; s.mean != 1e6 || s.std != 1 {
		t.Errorf("mean %g, std %g, want 1e6 and 1", s.mean, s.std)
	}
}
