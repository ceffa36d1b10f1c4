package data

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

// Three rows of three features, the last of them constant, in each kind.
func scaleTables() map[Kind]*table {
	floats := newTable(&format.Source{Path: "made"}, "csv", Floats)
	floats.x = []float32{1, 0, 5, 2, -4, 5, 6, 0, 5}
	bytes := newTable(&format.Source{Path: "made"}, "idx", Bytes)
	bytes.x8 = []uint8{51, 0, 255, 102, 204, 255, 255, 0, 255}
	sparse := newTable(&format.Source{Path: "made"}, "libsvm", Sparse)
	sparse.ptr = []int64{0, 2, 5, 7}
	sparse.idx = []uint32{0, 2, 0, 1, 2, 0, 2}
	sparse.val = []float32{1, 5, 2, -4, 5, 6, 5}
	tables := map[Kind]*table{Floats: floats, Bytes: bytes, Sparse: sparse}
	for _, t := range tables {
		t.Rows, t.Features, t.label = 3, 3, []float64{1, 2, 3}
	}
	return tables
}

// std returns the population deviation, worked out from the definition.
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
		kind  Kind
		scale string
		want  []float64 // 3 x 3
	}{
		{Floats, "auto", []float64{(1 - m0) / s0, -m1 / s1, 0, (2 - m0) / s0, (-4 - m1) / s1, 0,
			(6 - m0) / s0, -m1 / s1, 0}},
		{Floats, "none", []float64{1, 0, 5, 2, -4, 5, 6, 0, 5}},
		{Floats, "unit", []float64{0, 1, 0, .2, 0, 0, 1, 1, 0}},
		{Floats, "standard", []float64{(1 - m0) / s0, -m1 / s1, 0, (2 - m0) / s0, (-4 - m1) / s1, 0,
			(6 - m0) / s0, -m1 / s1, 0}},
		{Floats, "2,4", []float64{-.25, -.5, .75, 0, -1.5, .75, 1, -.5, .75}},
		{Bytes, "", []float64{.2, 0, 1, .4, .8, 1, 1, 0, 1}},
		{Bytes, "none", []float64{51, 0, 255, 102, 204, 255, 255, 0, 255}},
		{Bytes, "unit", []float64{.2, 0, 1, .4, .8, 1, 1, 0, 1}},
		{Bytes, "standard", []float64{(51 - b0) / c0, -b1 / c1, 0, (102 - b0) / c0, (204 - b1) / c1, 0,
			(255 - b0) / c0, -b1 / c1, 0}},
		{Bytes, "0.5, 0.25", []float64{-1.2, -2, 2, -.4, 1.2, 2, 2, -2, 2}},
		{Sparse, "auto", []float64{1, 0, 5, 2, -4, 5, 6, 0, 5}},
		{Sparse, "unit", []float64{1. / 6, 0, 1, 1. / 3, -1, 1, 1, 0, 1}},
		{Sparse, "standard", []float64{1 / s0, 0, 5, 2 / s0, -4 / s1, 5, 6 / s0, 0, 5}},
	} {
		t.Run(string(c.kind)+" "+c.scale, func(t *testing.T) {
			tab := scaleTables()[c.kind]
			rule, err := parseScale(c.scale)
			if err != nil {
				t.Fatal(err)
			}
			if err := tab.fit(rule, func() []spread { return tab.spreads(allRows(3)) }); err != nil {
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

// A pixel that is dark in all training rows stays within 0 and 1 where a test row lights it.
func TestStandardOfDarkPixels(t *testing.T) {
	tab := scaleTables()[Bytes]
	tab.x8 = []uint8{51, 0, 0, 102, 204, 0, 255, 0, 0}
	if err := tab.fit(scaleRule{name: "standard"}, func() []spread { return tab.spreads(allRows(3)) }); err != nil {
		t.Fatal(err)
	}
	if got := tab.Scaled([]float32{0, 0, 255})[2]; math.Abs(float64(got)-1) > 1e-6 {
		t.Errorf("a byte of 255 in a column of zeros is %g, want 1", got)
	}
}

func TestScaleOfLimitedRows(t *testing.T) {
	path := file(t, "", "a.csv", "x,y\n0,.5\n10,1\n5,1\n50,1\n")
	train, _ := mustLoad(t, Options{Path: path, Test: path, Unjudged: true, Scale: "unit", Limit: 2})
	if train.Rows != 2 || train.Mul[0] != 0.1 {
		t.Errorf("%d rows of 0 and 10 are multiplied by %g, want 0.1", train.Rows, train.Mul[0])
	}
}

// Large offsets do not swallow a small spread.
func TestStandardWithLargeOffset(t *testing.T) {
	tab := newTable(&format.Source{Path: "made"}, "csv", Floats)
	tab.Rows, tab.Features, tab.x = 4, 1, []float32{1e6 - 1, 1e6 + 1, 1e6 - 1, 1e6 + 1}
	if s := tab.spreads(allRows(4))[0]; s.mean != 1e6 || s.std != 1 {
		t.Errorf("mean %g, std %g, want 1e6 and 1", s.mean, s.std)
	}
}

// Nothing said, each column of numbers is standardised by the training rows alone: compared
// with the definition, in float64, of the numbers that the files write. What a text became
// stays 0 or 1; a constant column is 0; times in seconds keep their digits.
func TestStandardByDefault(t *testing.T) {
	line := func(i int) (cells []float64, text string) {
		r := math.Abs(math.Sin(float64(i) + 1))
		cells = []float64{20 + 3*r, 1e-3 * r * r, 1.7e9 + 128e3*float64(i%7), .1, float64(i % 2)}
		color := [...]string{"red", "blue", "blue"}[i%3]
		for _, v := range cells {
			text += strconv.FormatFloat(v, 'g', -1, 64) + ","
		}
		return cells, text + color + "," + strconv.FormatFloat(r+.5, 'g', -1, 64) + "\n"
	}
	const head, n, tests = "a,b,time,same,flag,color,y\n", 40, 10
	train, test := head, head
	columns := make([][]float64, 5)
	for i := range n + tests {
		cells, text := line(i)
		if i >= n {
			test += text
			continue
		}
		train += text
		for j, v := range cells {
			columns[j] = append(columns[j], v)
		}
	}
	_, set := mustLoad(t, Options{Path: file(t, "", "train.csv", train), Test: file(t, "", "test.csv", test)})
	x, _ := rowsOf(t, set)
	for i := range tests {
		cells, _ := line(n + i)
		for j, v := range cells {
			mean, std := std(columns[j]...)
			want := 0.
			if j != 3 {
				want = (v - mean) / std
			}
			if got := float64(x[i][j]); math.Abs(got-want) > 1e-3 {
				t.Errorf("test row %d, column %d: %g, want %g", i, j, got, want)
			}
		}
		if blue := float32((n + i) % 3); x[i][5] != min(blue, 1) || x[i][6] != 1-min(blue, 1) {
			t.Errorf("test row %d: blue and red are %g and %g", i, x[i][5], x[i][6])
		}
	}
	if text := set.ScaleText(); text != "standardised" {
		t.Errorf("it says %q", text)
	}
}

// A constant that is no sum of powers of two has, by rounding, a mean next to it.
func TestConstantColumns(t *testing.T) {
	for _, v := range []float32{.1, -1.7e9, 3e38, 1e-38, 0} {
		tab := newTable(&format.Source{Path: "made"}, "csv", Floats)
		tab.Rows, tab.Features, tab.label = 1000, 2, make([]float64, 1000)
		for i := range tab.Rows {
			tab.x = append(tab.x, v, float32(i))
		}
		measured := func() []spread { return tab.spreads(allRows(tab.Rows)) }
		if err := tab.fit(scaleRule{name: "auto"}, measured); err != nil {
			t.Fatal(err)
		}
		if x, _ := rowsOf(t, stored(t, tab)); x[0][0] != 0 || x[999][0] != 0 || x[999][1] < 1.5 {
			t.Errorf("a column of %g becomes %g and %g, one of 0 to 999 ends with %g", v, x[0][0], x[999][0], x[999][1])
		}
		if notes := strings.Join(tab.Notes, "; "); !strings.Contains(notes, "1 of 2 columns are constant") {
			t.Errorf("notes %q", notes)
		}
	}
}

// What NumPy saves and NumPy standardises: columns one by one, the pixels of images together.
func TestStandardByNumPy(t *testing.T) {
	dir := t.TempDir()
	out := check.Python(t, "numpy", `import os, sys, numpy as n
r = n.random.RandomState(3)
for name, x in ("rows", r.gamma(2., [1, 30, 1e-4], (60, 3)) - [1, 1, 0]), ("images", r.uniform(0, 255, (60, 4, 5)).astype("f4")):
    y = r.uniform(size=60)
    os.makedirs(sys.argv[1] + "/" + name)
    n.save(sys.argv[1] + "/" + name + "/X_train.npy", x); n.save(sys.argv[1] + "/" + name + "/y_train.npy", y)
    axis = 0 if x.ndim == 2 else None
    z = (x - x.mean(axis, dtype="f8")) / x.std(axis, dtype="f8")
    print(*z.reshape(60, -1)[:, :3].ravel())
`, dir)
	want := strings.Split(string(out), "\n")
	for k, name := range []string{"rows", "images"} {
		path := filepath.Join(dir, name, "X_train.npy")
		_, set := mustLoad(t, Options{Path: path, Test: path, Unjudged: true, Task: "values"})
		x, _ := rowsOf(t, set)
		for i, text := range strings.Fields(want[k]) {
			z, err := strconv.ParseFloat(text, 64)
			if got := float64(x[i/3][i%3]); err != nil || math.Abs(got-z) > 2e-5 {
				t.Fatalf("%s: row %d, feature %d: %g, want %s", name, i/3, i%3, got, text)
			}
		}
	}
}
