package data

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
	"hogwild/shm"
)

// file writes a file into a new folder, unless dir names one.
func file(t *testing.T, dir, name, text string) string {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// mustLoad loads, and closes both sets when the test ends.
func mustLoad(t *testing.T, o Options) (train, test *Set) {
	t.Helper()
	train, test, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { train.Close(); test.Close() })
	return train, test
}

// rowsOf returns every row of the set, expanded, in its order.
func rowsOf(t *testing.T, s *Set) (x [][]float32, y []float32) {
	t.Helper()
	b := s.NewReader().Batch(allRows(s.Rows))
	for _, r := range b.Rows {
		x = append(x, slices.Clone(expand(t, r, s.Features)))
	}
	return x, slices.Clone(b.Y)
}

// The sizes that the sets are known by.
func TestRealSets(t *testing.T) {
	dir := check.Data(t, ".")
	for _, c := range []struct {
		path, target     string
		kind             Kind
		classes          int
		rows, tests, d   int
		nonzeros, testNZ int64 // 0: not checked
		note             string
	}{
		{"mnist", "", Bytes, 10, 60000, 10000, 784, 8994156, 1511219, ""},
		{"fashion-mnist", "", Bytes, 10, 60000, 10000, 784, 0, 0, ""},
		{"a9a/a9a", "", Sparse, 2, 32561, 16281, 123, 451592, 225731, ""},
		{"imdb/imdb_ltc_train.gz", "", Sparse, 2, 25000, 25000, 89527, 0, 0, ""},
		{"w8a/w8a", "", Sparse, 2, 49749 - 8292, 8292, 300, 0, 0,
			"held out 8,292 of 49,749 rows (a sixth) as the test set"},
		{"housing/housing_scale", "", Floats, 0, 422, 84, 13, 0, 0, "held out 84 of 506"},
		{"california-housing/housing.csv", "median_house_value", Floats, 0, 20640 - 3440, 3440, 13, 0, 0,
			"held out 3,440 of 20,640 rows (a sixth) as the test set"},
	} {
		t.Run(c.path, func(t *testing.T) {
			train, test := mustLoad(t, Options{Path: filepath.Join(dir, c.path), Target: c.target, Seed: 1})
			if train.Rows != c.rows || test.Rows != c.tests || train.Features != c.d || test.Features != c.d ||
				train.Kind != c.kind || test.Kind != c.kind || len(train.Classes) != c.classes {
				t.Errorf("%d + %d rows x %d, %s, %d classes", train.Rows, test.Rows, train.Features, train.Kind,
					len(train.Classes))
			}
			if c.nonzeros > 0 && (train.Nonzeros != c.nonzeros || test.Nonzeros != c.testNZ) {
				t.Errorf("%d + %d nonzeros, want %d + %d", train.Nonzeros, test.Nonzeros, c.nonzeros, c.testNZ)
			}
			if notes := strings.Join(train.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("notes %q do not say %q", notes, c.note)
			}
		})
	}
	m, err := Describe(Options{Path: filepath.Join(dir, "w8a/w8a")})
	if err != nil || m.Rows != 49749 || m.Nonzeros != 579586 || m.Features != 300 {
		t.Errorf("w8a: %d rows x %d, %d nonzeros, %v", m.Rows, m.Features, m.Nonzeros, err)
	}
}

// A worker's view of a set is the coordinator's.
func TestMapIsTheSameSet(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{
		"digits:60",
		file(t, dir, "sparse", "1 3:1\n2\n1 90:2 5:1\n2 7:.5\n1 1:1\n2 8:3\n"),
		file(t, dir, "floats.csv", "1,2,a\n3,4,b\n5,6,a\n7,8,b\n1,1,a\n0,2,b\n"),
	} {
		train, test := mustLoad(t, Options{Path: path, Scale: "unit", Seed: 3})
		for _, s := range []*Set{train, test} {
			got, err := Map(reopen(t, s.File()))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s, got, cmpopts.IgnoreUnexported(Set{}, Meta{})); diff != "" {
				t.Errorf("%s: the mapped set differs: %s", path, diff)
			}
			if err := got.Close(); err != nil {
				t.Error(err)
			}
			if err := got.Close(); err == nil {
				t.Error("a second Close is no error")
			}
		}
	}
}

func TestMapRefusesOtherFiles(t *testing.T) {
	f, err := os.Open(file(t, "", "x", "not a segment"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Map(f)
	check.Error(t, err, "not a sealed segment")

	for _, c := range []struct {
		meta    string
		n, freq int
		says    string
	}{
		{`{"rows":4,"features":2,"kind":"bytes"}`, 4, 2, ""},
		{`{"rows":5,"features":2,"kind":"bytes"}`, 4, 2, "5 rows"},
		{`{"rows":4,"features":3,"kind":"bytes"}`, 4, 3, "3 features"},
		{`{"rows":4,"features":2,"kind":"bytes"}`, 4, 1, "2 features"},
		{`{"rows":-4,"features":-2,"kind":"bytes"}`, 4, 2, "-4 rows"},
		{`{"rows":0,"features":0,"kind":"bytes"}`, 0, 0, "0 rows"},
		{`{"rows":4,"features":2,"kind":"bytes","mul":[1,2,3]}`, 4, 2, "not those"},
		{`{"rows":4,"features":2,"kind":"floats"}`, 4, 2, `"x"`},
		{`{"rows":4,"features":2,"kind":"woven"}`, 4, 2, "woven"},
		{`{"rows":`, 4, 2, "description"},
	} {
		var l shm.Layout
		l.Add("meta", shm.U8, len(c.meta))
		l.Add("x8", shm.U8, c.n, 2)
		l.Add("y", shm.F32, c.n)
		l.Add("freq", shm.F32, c.freq)
		l.Add("mean", shm.F32, c.freq)
		l.Add("m", shm.F32, c.n)
		seg, err := l.Create("test")
		if err != nil {
			t.Fatal(err)
		}
		text, err := shm.View[uint8](seg, "meta")
		if err != nil {
			t.Fatal(err)
		}
		copy(text, c.meta)
		if err := seg.Seal(); err != nil {
			t.Fatal(err)
		}
		s, err := Map(reopen(t, seg.File()))
		if c.says != "" {
			check.Error(t, err, c.says)
		} else if err != nil {
			t.Errorf("a good segment: %v", err)
		} else {
			s.Close()
		}
		seg.Close()
	}
}

// reopen returns another descriptor of f, as a worker gets it.
func reopen(t *testing.T, f *os.File) *os.File {
	t.Helper()
	other, err := os.Open("/proc/self/fd/" + itoa(int(f.Fd())))
	if err != nil {
		t.Fatal(err)
	}
	return other
}

func TestSparseOffsetsAreChecked(t *testing.T) {
	for _, ptr := range [][]int64{{0, 2, 1, 3}, {1, 1, 2, 3}, {0, 1, 2, 2}, {0, -1, 2, 3}, {0, 1, 9, 3}} {
		tab := newTable(&format.Source{Path: "made"}, "libsvm", Sparse)
		tab.Rows, tab.Features = 3, 4
		tab.ptr, tab.idx, tab.val = []int64{0, 1, 2, 3}, []uint32{0, 1, 2}, []float32{1, 2, 3}
		s := stored(t, tab)
		s.Ptr = ptr
		if err := s.check(); err == nil {
			t.Errorf("offsets %v are no error", ptr)
		}
	}
}

// The rows of a set are the file's, in an order of the seed; the limit is
// taken in the order of the file, and test rows keep it.
func TestOrderOfRows(t *testing.T) {
	var train, test strings.Builder
	for i := range 300 {
		train.WriteString(itoa(i) + ".5 1:" + itoa(i+1) + "\n")
		test.WriteString(itoa(i) + ".5 1:" + itoa(i+1) + "\n")
	}
	path := file(t, "", "rows", train.String())
	file(t, filepath.Dir(path), "rows.t", test.String())
	a, b := mustLoad(t, Options{Path: path, Limit: 200, Seed: 1, Scale: "none"})
	x, y := rowsOf(t, a)
	seen := map[float32]bool{}
	for i := range y {
		if x[i][0] != y[i]+.5 || y[i] > 199.5 {
			t.Fatalf("row %d: x %g, y %g", i, x[i][0], y[i])
		}
		seen[y[i]] = true
	}
	if len(seen) != 200 || slices.IsSorted(y) {
		t.Errorf("%d of 200 rows, sorted: %v", len(seen), slices.IsSorted(y))
	}
	if _, y := rowsOf(t, b); len(y) != 300 || !slices.IsSorted(y) {
		t.Errorf("%d test rows, in the order of the file: %v", len(y), slices.IsSorted(y))
	}
	again, _ := mustLoad(t, Options{Path: path, Limit: 200, Seed: 1})
	other, _ := mustLoad(t, Options{Path: path, Limit: 200, Seed: 2})
	if !slices.Equal(a.Y, again.Y) || slices.Equal(a.Y, other.Y) {
		t.Error("the order is not a function of the seed")
	}
}

// Held out and training rows together are the rows of the file.
func TestHoldOut(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		text.WriteString(itoa(i) + ".5 1:1\n")
	}
	path := file(t, "", "rows", text.String())
	train, test := mustLoad(t, Options{Path: path, Seed: 1})
	all := slices.Concat(train.Y, test.Y)
	slices.Sort(all)
	if test.Rows != 17 || len(slices.Compact(all)) != 100 {
		t.Errorf("%d rows held out, %d different ones in all", test.Rows, len(slices.Compact(all)))
	}
	_, other := mustLoad(t, Options{Path: path, Seed: 2})
	if slices.Equal(test.Y, other.Y) {
		t.Error("another seed holds out the same rows")
	}
}

// Whatever its name, a file that starts as gzip does is unpacked.
func TestGzipByContent(t *testing.T) {
	const text = "1 1:1\n2 2:1\n1 1:2\n2 2:2\n"
	plain, _ := mustLoad(t, Options{Path: file(t, "", "plain.gz", text), Task: "classes"})
	zipped, _ := mustLoad(t, Options{Path: file(t, "", "zipped", packed(t, text)), Task: "classes"})
	if !slices.Equal(plain.Y, zipped.Y) || plain.Rows != 3 {
		t.Error("packed and plain files differ")
	}
	_, _, err := Load(Options{Path: file(t, "", "cut.gz", packed(t, text)[:30])})
	check.Error(t, err, "cut.gz", "gzip", "damaged")
}

func TestLoadErrors(t *testing.T) {
	good := file(t, "", "good", "1 1:1\n2 1:2\n1 2:1\n2 2:2\n")
	for name, c := range map[string]struct {
		o    Options
		says []string
	}{
		"missing": {Options{Path: "/nowhere/x"}, []string{"/nowhere/x", "no such file"}},
		"empty":   {Options{Path: file(t, "", "e", "")}, []string{"/e:", "empty"}},
		"no rows": {Options{Path: file(t, "", "n", "# nothing\n\n"), Format: "libsvm"},
			[]string{"/n:", "no rows"}},
		"no features":  {Options{Path: file(t, "", "f", "1\n2\n"), Format: "libsvm"}, []string{"without features"}},
		"format":       {Options{Path: good, Format: "arff"}, []string{"arff", "want auto, idx, libsvm, csv, npy"}},
		"scale":        {Options{Path: good, Scale: "big"}, []string{`"big"`, "MEAN,STD"}},
		"zero std":     {Options{Path: good, Scale: "1,0"}, []string{"STD above 0"}},
		"sparse moved": {Options{Path: good, Scale: "1,2", Task: "classes"}, []string{"/good", "zeros"}},
		"task":         {Options{Path: good, Task: "rank"}, []string{"rank", "classes, values"}},
		"limit":        {Options{Path: good, Limit: -1}, []string{"-1"}},
		"one class":    {Options{Path: file(t, "", "o", "1 1:1\n1 2:2\n")}, []string{`every label is "1"`}},
		"one row":      {Options{Path: file(t, "", "r", "1.5 1:1\n")}, []string{"one row"}},
		"folder":       {Options{Path: filepath.Dir(filepath.Dir(good))}, []string{"it holds 001", "name a file"}},
		"zip":          {Options{Path: file(t, "", "z", "PK\x03\x04...")}, []string{"zip", "unpack"}},
		"binary":       {Options{Path: file(t, "", "b", "ab\x00c")}, []string{"binary"}},
		"test class": {Options{Path: good, Task: "classes", Test: file(t, "", "t", "1 1:1\n\n3 1:1\n3 1:2\n")},
			[]string{"/t:3", `class "3"`, "1, 2"}},
		"digits": {Options{Path: "digits:none"}, []string{"digits:none", "digits:N"}},
	} {
		_, _, err := Load(c.o)
		t.Run(name, func(t *testing.T) { check.Error(t, err, c.says...) })
	}
}

// The labels decide between classes and values, unless the task does.
func TestTask(t *testing.T) {
	for _, c := range []struct {
		text, task string
		classes    []string
	}{
		{"+1 1:1\n-1.0 1:1\n1 1:1\n-1 1:1\n-1 1:1\n", "", []string{"-1", "1"}},
		{"10 1:1\n9 1:1\n10 1:1\n9 1:1\n9 1:1\n", "", []string{"9", "10"}},
		{"1.5 1:1\n2 1:1\n2 1:1\n2 1:1\n2 1:1\n", "", nil},
		{"1 1:1\n2 1:1\n3 1:1\n4 1:1\n4 1:1\n", "", nil},
		{"1 1:1\n2 1:1\n3 1:1\n4 1:1\n4 1:1\n", "classes", []string{"1", "2", "3", "4"}},
		{"1 1:1\n2 1:1\n1 1:1\n2 1:1\n2 1:1\n", "values", nil},
	} {
		train, test := mustLoad(t, Options{Path: file(t, "", "x", c.text), Task: c.task})
		if !slices.Equal(train.Classes, c.classes) || !slices.Equal(test.Classes, c.classes) {
			t.Errorf("labels of %q are classes %q, want %q", c.text, train.Classes, c.classes)
		}
	}
}

// Data read like other data has its classes, its features and its scaling.
func TestLoadLike(t *testing.T) {
	train, test := mustLoad(t, Options{Path: "digits:60", Seed: 1, Scale: "0.5,0.25"})
	same, err := LoadLike("digits:60", "", "", train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	defer same.Close()
	if !bytes.Equal(same.X8, test.X8) || !slices.Equal(same.Add, train.Add) || same.Checksum != test.Checksum {
		t.Error("the test part of digits differs when it is read like the training part")
	}
	_, err = LoadLike(file(t, "", "a.csv", "a,b,label\n1,2,3\n4,5,6\n"), "", "", train.Meta)
	check.Error(t, err, "2 features", "784")
}

func itoa(i int) string { return strconv.Itoa(i) }
