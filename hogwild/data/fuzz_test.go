package data

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

// Fuzz targets: any bytes are a set or an error that names the file; neither takes more memory than it
// may, and a set is one that a run can train on. make fuzz runs them for long.

const (
	fuzzMemory = 16 << 20       // of a set and of reading it
	fuzzAlloc  = 8 * fuzzMemory // garbage too, and fixed tables
)

// tree writes files into the target's folder, in place of those that are there.
func tree(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// loadAny loads a training set, and checks it or the error.
func loadAny(t *testing.T, o Options) *Set {
	o.MaxMemory, o.Seed = fuzzMemory, 1
	var s Sets
	var err error
	check.Bounded(t, fuzzAlloc, func() { s, err = LoadSets(o) })
	if err != nil {
		aboutFile(t, err, filepath.Dir(o.Path))
		return nil
	}
	t.Cleanup(s.Close)
	for _, set := range []*Set{s.Train, s.Test} {
		if set != nil {
			soundSet(t, set, set == s.Train)
		}
	}
	return s.Train
}

// aboutFile checks that an error of a user's file names it and has one line.
func aboutFile(t *testing.T, err error, dir string) {
	t.Helper()
	says := err.Error()
	if !strings.Contains(says, dir) && !strings.HasPrefix(says, "data: task") &&
		!strings.HasPrefix(says, "data: validation") {
		t.Errorf("the error %q does not name the file", says)
	}
	if strings.ContainsAny(says, "\n\x1b") {
		t.Errorf("the error %q would move the cursor", says)
	}
	if full := (*format.MemoryError)(nil); errors.As(err, &full) && full.Need <= full.Limit-full.Held {
		t.Errorf("%q: there is room for it", says)
	}
}

// soundSet checks what a run takes for granted.
func soundSet(t *testing.T, s *Set, train bool) {
	t.Helper()
	if err := s.check(); err != nil {
		t.Error(err)
	}
	finite32 := func(v float32) bool { return finite(float64(v)) }
	for name, v := range map[string][]float32{"input": s.X, "value": s.Val, "label": s.Y, "factor": s.Mul,
		"shift": s.Add, "frequency": s.Freq} {
		// Test rows may lie anywhere, and inputs near the largest float32 have means that are none.
		if i := slices.IndexFunc(v, func(x float32) bool { return !finite32(x) }); i >= 0 && train {
			t.Errorf("%s %d of %d is %g", name, i, len(v), v[i])
		}
	}
	for _, j := range s.Idx {
		if s.Kind == Tokens {
			j &^= SentenceStart
		}
		if int(j) >= s.Features {
			t.Errorf("feature %d of %d", j, s.Features)
		}
	}
	for _, y := range s.Y {
		if s.Classes != nil && (y < 0 || int(y) >= len(s.Classes) || y != float32(int(y))) {
			t.Errorf("class %g of %d", y, len(s.Classes))
		}
	}
	if s.Kind == Tokens {
		for i, w := range s.NewReader().Batch(allRows(min(s.Rows, 1000))).Windows {
			for _, id := range append(w.Inputs, w.Targets...) {
				if int(id) >= s.Features && id != NoTarget {
					t.Errorf("the window of word %d has word %d of %d", i, id, s.Features)
				}
			}
		}
	}
	if s.Kind != Pairs && s.Kind != Tokens {
		for _, row := range s.NewReader().Batch(allRows(min(s.Rows, 1000))).Rows {
			if row.Idx == nil && len(row.Val) != s.Features || len(row.Idx) > len(row.Val) ||
				!slices.IsSorted(row.Idx) {
				t.Errorf("a row of %d values at %v, of %d features", len(row.Val), row.Idx, s.Features)
			}
		}
	}
}

// readsBack checks that a set of rows is the same once it was written and read again.
func readsBack(t *testing.T, s *Set, dir string) {
	t.Helper()
	if s == nil || s.Features > 1000 || s.Kind == Bytes ||
		slices.ContainsFunc(s.Classes, func(c string) bool { _, ok := format.Number(c); return !ok }) {
		return // what WriteFile is not for
	}
	name, format, target, like := "back.csv", "csv", "label",
		Meta{Kind: s.Kind, Features: s.Features, Classes: s.Classes, Scale: "none"}
	if s.Kind == Sparse {
		name, format, target = "back.libsvm", "libsvm", ""
	}
	for j := range s.Features {
		like.Columns = append(like.Columns, "x"+decimal(float64(j+1)))
	}
	path := filepath.Join(dir, name)
	if err := WriteFile(t.Context(), path, s); err != nil {
		t.Fatal(err)
	}
	back, err := LoadLike(path, format, target, like)
	if err != nil {
		t.Errorf("%v: it cannot be read back: %v", s.Meta, err)
		return
	}
	defer back.Close()
	if !slices.Equal(s.X, back.X) || !slices.Equal(s.Idx, back.Idx) || !slices.Equal(s.Val, back.Val) ||
		!slices.Equal(s.Y, back.Y) {
		t.Errorf("%v: it is read back as another set", s.Meta)
	}
}

func FuzzIDX(f *testing.F) {
	f.Add([]byte(images3x2x2), []byte(labels3))
	f.Add([]byte("\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x03abcdef"),
		[]byte("\x00\x00\x08\x01\x00\x00\x00\x02\x01\x00"))
	f.Add([]byte("\x00\x00\x08\x04\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01"), []byte(labels3))
	f.Add([]byte("\x00\x00\x08\x03\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x02"),
		[]byte("\x00\x00\x08\x01\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x0d\x01\x00\x00\x00\x01abcd"), []byte{})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, images, labels []byte) {
		tree(t, dir, map[string]string{"train-images-idx3-ubyte": string(images),
			"train-labels-idx1-ubyte": string(labels)})
		loadAny(t, Options{Path: filepath.Join(dir, "train-images-idx3-ubyte"), Format: "idx"})
	})
}

func FuzzLIBSVM(f *testing.F) {
	for _, text := range []string{"1 1:1\n-1 2:.5 3:1e5 # x\n", "1 0:1 0:2", "1 268435455:1\n2 1:1\n", "1 qid:3 1:1\n",
		"+1 3:1 2:2 1:-0\r\n-1 1:nan\n",
		"0 1:1 2:2\n1 1:2 2:3\n1 2:2\n0 1:4 2:1\n", "1.5 1:1\n2.5 1:2\n3.5 2:1\n", "1\n2\n3 1:1\n",
		"# c\n\n1 1:1\n0 1:2"} {
		f.Add([]byte(text), "classes")
		f.Add([]byte(text), "")
	}
	dir := f.TempDir()
	path := filepath.Join(dir, "x.libsvm")
	f.Fuzz(func(t *testing.T, text []byte, task string) {
		tree(t, dir, map[string]string{"x.libsvm": string(text)})
		readsBack(t, loadAny(t, Options{Path: path, Format: "libsvm", Task: task, Scale: "none"}), dir)
		loadAny(t, Options{Path: path, Format: "libsvm", Scale: "standard"})
	})
}

func FuzzCSV(f *testing.F) {
	for _, text := range []string{"a,b,y\n1,2,0\n3,4,1\n5,6,0\n", "1;2,5;a\n2;3,5;b\n3;1,5;a\n",
		"x\ty\n1\t\"a \"\"b\"\"\"\n2\tNA\n3\tc\n", "a,a,a\nu,1,2\nv,2,3\nu,3,4\n",
		",0,1,2,3\n0,1,2,3,4\n1,2,3,4,5\n2,1,1,1,1\n", "\ufeffa|b\n1|?\n2|3\n4|5\n", "a,b\n1,1e39\n2,1\n",
		"a,\"b\n1,2\n", "\n\n\n", "\ufeff", "\r1,2\r3,4\r5,6", "a=b,y\nu,0\nv,1\nu,1\n",
		"1,2,3\n4,5\n", "a,b\n\x1b[31m,1\nx,2\n", "d,y\n74%,1\n60%,2\n", "1.000,5;1\n2.000,5;0\n1,5;1\n",
		"0,1\n1,0\n0,0\n",
		"day,a,y\n2026-03-31,1,0\n2026-04-01 14:05,,1\n,2,1\n2025-01-01,3,\n",
		"# of whom\n#a;y\n3.4.2026;u\n13.4.2026;v\n1.1.2027;u\n", "a,y\ncaf\xe9,1\nu,2\n"} {
		f.Add([]byte(text), "", "none")
		f.Add([]byte(text), "1", "standard")
	}
	f.Add([]byte("a,b,y\n1,2,0\n3,4,1\n5,6,0\n"), "y", "0.5,2")
	dir := f.TempDir()
	path := filepath.Join(dir, "x.csv")
	f.Fuzz(func(t *testing.T, text []byte, target, scale string) {
		if _, err := parseScale(scale); err != nil {
			return
		}
		tree(t, dir, map[string]string{"x.csv": string(text)})
		s := loadAny(t, Options{Path: path, Format: "csv", Target: target, Scale: scale})
		if s == nil {
			return
		}
		readsBack(t, s, dir)
		// The same file as other data has the rows that the training set and its test set were made of.
		all, err := LoadLike(path, "csv", target, s.Meta)
		if err != nil {
			t.Errorf("it was read as training data, but not as other data: %v", err)
			return
		}
		defer all.Close()
		soundSet(t, all, false)
		if all.Rows <= s.Rows {
			t.Errorf("%d rows as other data, %d to train on", all.Rows, s.Rows)
		}
	})
}

// FuzzNPY makes the files from header and elements: few changes of a whole file would keep the header's length.
func FuzzNPY(f *testing.F) {
	head := func(descr, shape string) string {
		return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }\n"
	}
	floats := string(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, math.Float64bits(1.5)),
		math.Float64bits(1e300)))
	for _, x := range []struct{ head, raw string }{
		{head("|u1", "3, 2"), "abcdef"}, {head("<i4", "3, 2"), strings.Repeat("abc\x00", 6)},
		{head("<i8", "3, 2"), strings.Repeat("ab\x00\x00\x00\x00\x00\x00", 6)},
		{head("<f4", "3, 2"), strings.Repeat("ab3C", 6)}, {head("<f8", "3, 2"), strings.Repeat("abcdef3C", 6)},
		{head("<f8", "3, 2"), strings.Repeat(floats, 3)},
		{head("|u1", "3, 2, 1"), "abcdef"}, {head("<f4", "3, 2, 2"), strings.Repeat("ab3C", 12)},
		{head(">f8", "3, 2"), strings.Repeat("3Cabcdef", 6)},
		{head("|O", "3, 2"), ""}, {head("|u1", "6,"), "abcdef"}, {head("|u1", ""), "a"}, {head("|u1", "3, 0"), ""},
		{head("|u1", "0, 3"), ""},
		{head("<f8", "99999999999, 99999999999"), ""}, {head("<f8", "1099511627776, 8"), ""},
		{head("|u1", "18446744073709551616, 2"), ""}, {"{", ""},
		{strings.Replace(head("|u1", "3, 2"), "False", "True", 1), "abcdef"},
	} {
		for _, target := range []string{"", "1"} {
			f.Add(byte(1), x.head, []byte(x.raw), head("|u1", "3,"), []byte("\x00\x01\x00"), target)
		}
		f.Add(byte(2), x.head, []byte(x.raw), head("<f8", "3, 1"), []byte(strings.Repeat("abcdef3C", 3)), "")
	}
	f.Add(byte(1), head("|u1", "3, 2"), []byte("abcdef"), head("<f8", "2"), []byte(floats), "")
	dir := f.TempDir()
	path := filepath.Join(dir, "X_train.npy")
	f.Fuzz(func(t *testing.T, version byte, head string, raw []byte, labelsHead string, labels []byte, target string) {
		tree(t, dir, map[string]string{"X_train.npy": npyText(version, head, raw),
			"y_train.npy": npyText(1, labelsHead, labels)})
		readsBack(t, loadAny(t, Options{Path: path, Format: "npy", Target: target, Scale: "none"}), dir)
		loadAny(t, Options{Path: path, Format: "npy", Target: target})
	})
}

// npyText returns a .npy file of this header and these elements.
func npyText(version byte, head string, raw []byte) string {
	b := []byte("\x93NUMPY\x01\x00")
	if b[6] = version; version > 1 {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	} else {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(head)))
	}
	return string(append(append(b, head...), raw...))
}

func FuzzRatings(f *testing.F) {
	for _, text := range []string{
		"userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n1,1029,3,1260759179\n2,31,4,1\n",
		"1::1193::5::978300760\n1::661::3::978302109\n",
		"196\t242\t3\t881250949\n186\t302\t3\t891717742\n", "% a graph\n1 2\n2 3 .5\n3 3\n",
		"2147483647,0,1\n0,2147483647,1\n1,1,1\n", "-1,2,3\n", "1,2,inf\n",
		npy(f, "<f8", "2, 3", "False", []float64{1, 2, 3, 4, 5, 6}),
		npy(f, "<f8", "2, 3", "False", []float64{1, .5, 3, 4, 5, 6}), "4294967296,1,1\n"} {
		f.Add([]byte(text), "triples")
		f.Add([]byte(text), "edges")
	}
	dir := f.TempDir()
	path := filepath.Join(dir, "ratings")
	f.Fuzz(func(t *testing.T, text []byte, task string) {
		if task != "edges" {
			task = "triples"
		}
		tree(t, dir, map[string]string{"ratings": string(text)})
		s := loadAny(t, Options{Path: path, Task: task})
		if s == nil {
			return
		}
		all, err := LoadLike(path, "", "", s.Meta)
		if err != nil {
			t.Fatalf("it was read to train on, but not as other data: %v", err)
		}
		defer all.Close()
		soundSet(t, all, false)
		if err := WriteFile(context.Background(), filepath.Join(dir, "back.csv"), s); err != nil {
			t.Fatal(err)
		}
		back, err := LoadLike(filepath.Join(dir, "back.csv"), "ratings", "", s.Meta)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		defer back.Close()
		if !slices.Equal(back.Idx, s.Idx) || !slices.Equal(back.Y, s.Y) {
			t.Error("it is read back as other triples")
		}
	})
}

// FuzzPacked: files of any format, most of them packed, as data info sees them.
func FuzzPacked(f *testing.F) {
	for _, text := range []string{"a,b,y\n1,2,0\n3,4,1\n5,6,0\n", "1 1:1\n2 2:1\n", images3x2x2,
		npy(f, "<f8", "2, 3", "False", []float64{1, 2, 3, 4, 5, 6}), "", "\n\n", "\ufeff",
		"196\t242\t3\t881250949\n186\t302\t3\t891717742\n", strings.Repeat("\x00", 1<<20), "PK\x03\x04",
		"a\x00,\x00b\x00\n\x00"} {
		gz := packed(f, text)
		f.Add([]byte(gz))
		f.Add([]byte(gz[:len(gz)/2]))
		f.Add([]byte(gz + gz))
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file []byte) {
		tree(t, dir, map[string]string{"any.gz": string(file)})
		path := filepath.Join(dir, "any.gz")
		check.Bounded(t, fuzzAlloc, func() {
			src, err := read(path, format.NewBudget(fuzzMemory))
			if err != nil {
				aboutFile(t, err, dir)
				return
			}
			if len(src.Text) > fuzzMemory {
				t.Errorf("%d bytes", len(src.Text))
			}
		})
		loadAny(t, Options{Path: path})
	})
}
