package data

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

func anyRows(*Meta) error { return nil }

func silent(string, int, int) {}

// converted returns the cache of a data set, written in windows of a few rows.
func converted(t testing.TB, o Options) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	defer func(n int) { windowBytes = n }(windowBytes)
	windowBytes = 5000
	path := filepath.Join(t.TempDir(), "set.hog")
	if _, err := Convert(context.Background(), o, path, anyRows, silent); err != nil {
		t.Fatal(err)
	}
	return path
}

// sameSets compares sets but for their names.
func sameSets(t *testing.T, what string, got, want *Set) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
	if got == nil {
		return
	}
	a, b := *got, *want
	a.Name, a.seg, a.cacheInfo = b.Name, b.seg, b.cacheInfo
	if what == "of a worker" { // which was not told what was held out
		a.Notes = b.Notes
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%s: %.600s\nwant %.600s", what, fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b))
	}
}

// TestCacheIsWhatItWasMadeOf: whatever the source is, the sets of a cache are those that it loads to: arrays,
// order, scaling, classes, notes. The conversion puts rows in their places a few at a time.
func TestCacheIsWhatItWasMadeOf(t *testing.T) {
	var libsvm, table, dense, ratings strings.Builder
	table.WriteString("a,colour,b,y\n")
	for i := range 100 {
		fmt.Fprintf(&libsvm, "%d %d:%d %d:2.5\n", i%2, 1+i%7, i, 20+i%11)
		fmt.Fprintf(&table, "%d,%s,%d,%s\n", i*i, []string{"red", "blue", ""}[i%3], 100-i, []string{"yes", "no"}[i%5/3])
		fmt.Fprintf(&dense, "%d 1:%d 2:%d\n", i%3, i, i*i)
		fmt.Fprintf(&ratings, "%d,%d,%d\n", i%13, i%17, i%5)
	}
	array := t.TempDir()
	file(t, array, "X_train.npy", npyOf(2, squares(120)...))
	file(t, array, "y_train.npy", npyOf(1, squares(60)...))
	for name, o := range map[string]Options{
		"digits":               {Path: "digits:90"},
		"digits, validation":   {Path: "digits:90", Validation: "0.2", Scale: "standard"},
		"sparse":               {Path: file(t, "", "a.svm", libsvm.String())},
		"sparse, packed, unit": {Path: file(t, "", "a.svm.gz", packed(t, libsvm.String())), Scale: "unit", Limit: 50},
		"LIBSVM, dense":        {Path: file(t, "", "d.svm", dense.String())},
		"CSV": {Path: file(t, "", "t.csv", table.String()),
			Test: file(t, "", "u.csv", table.String()), Unjudged: true},
		"many texts": {Path: file(t, "", "n.csv", manyTexts(150, 700)), Test: file(t, "", "o.csv", manyTexts(160, 700)),
			Validation: "0.2"},
		"old Macintosh":         {Path: file(t, "", "m.csv", strings.ReplaceAll(table.String(), "\n", "\r"))},
		"array and labels":      {Path: filepath.Join(array, "X_train.npy"), Task: "values"},
		"array, a target":       {Path: file(t, "", "x.npy", npyOf(3, squares(90)...)), Target: "2", Task: "values"},
		"matrix":                {Path: file(t, "", "r.csv", ratings.String()), Task: "triples", Validation: "0.3"},
		"graph":                 {Path: file(t, "", "g.csv", ratings.String()), Task: "edges"},
		"synthetic, sparse":     {Path: "synth:sparse:100x50x5", Validation: "0.1"},
		"synthetic, dense":      {Path: "synth:dense:100x7", Test: "synth:dense:100x7"},
		"synthetic, a matrix":   {Path: "synth:lowrank:20x30x200x3"},
		"synthetic, an example": {Path: "synth:dblife:0.001"},
	} {
		t.Run(name, func(t *testing.T) {
			o.Seed = 3
			path := converted(t, o)
			want, err := LoadSets(o)
			if err != nil {
				t.Fatal(err)
			}
			defer want.Close()
			o.Path = path
			got, err := LoadSets(o)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Close()
			sameSets(t, "training", got.Train, want.Train)
			sameSets(t, "validation", got.Validation, want.Validation)
			sameSets(t, "test", got.Test, want.Test)
			mapped, err := Map(duplicate(t, got.Train.File()))
			if err != nil {
				t.Fatal(err)
			}
			defer mapped.Close()
			sameSets(t, "of a worker", mapped, want.Train)
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
				t.Errorf("the folder holds %v", left)
			}
			if err := CheckCache(path, silent); err != nil { // nothing that it takes for damage is there
				t.Error(err)
			}
		})
	}
}

func squares(n int) (v []float64) {
	for i := range n {
		v = append(v, float64(i*i%23))
	}
	return v
}

// TestCacheRefusesSettings: a cache holds what was decided when it was made.
func TestCacheRefusesSettings(t *testing.T) {
	table := file(t, "", "t.csv", "a,b,y\n1,2,0\n3,1,1\n5,6,0\n7,8,1\n9,4,0\n2,2,1\n8,1,0\n")
	path := converted(t, Options{Path: table, Seed: 1, Validation: "0.2", Scale: "unit"})
	for name, c := range map[string]struct {
		o    Options
		says []string
	}{
		"scale": {Options{Scale: "standard"},
			[]string{"scale standard", "converted with --scale unit", "leave --scale out", table}},
		"target":  {Options{Target: "b"}, []string{"target b", "converted without --target"}},
		"limit":   {Options{Limit: 3}, []string{"limit 3", "without --limit"}},
		"missing": {Options{Missing: "error"}, []string{"missing error"}},
		"ignore":  {Options{Ignore: "a"}, []string{"ignore a", "converted without --ignore"}},
		"format":  {Options{Format: "libsvm"}, []string{"format libsvm"}},
		"validation": {Options{Validation: "0.3"},
			[]string{"validation 0.3", "convert " + table + " again with --validation 0.3"}},
		"task": {Options{Task: "values"}, []string{"holds classes", "--task values"}},
		"test": {Options{Test: "synth:dense:20x3"}, []string{"3 features"}},
	} {
		c.o.Path, c.o.Seed = path, 1
		_, err := LoadSets(c.o)
		check.Error(t, err, append(c.says, "data")...)
		if err == nil {
			t.Error(name)
		}
	}
	// What was said then, or is the default, is no contradiction, nor is another test set.
	s, err := LoadSets(Options{Path: path, Seed: 2, Scale: "unit", Format: "auto", Missing: format.Fill,
		Validation: "0.2", Test: table, Unjudged: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Test.Rows != 7 || s.Test.cacheInfo != nil || s.Validation == nil || !s.Test.ScaledAlike(&s.Train.Meta) {
		t.Errorf("%+v", s.Test.Meta)
	}
	like, err := LoadLike(path, "", "", s.Train.Meta)
	if err != nil {
		t.Fatal(err)
	}
	like.Close()
	meta := s.Train.Meta
	meta.Mul = []float32{2, 2}
	_, err = LoadLike(path, "", "", meta)
	check.Error(t, err, "scaled in another way")
}

// TestCacheIsCheckedOnce: all bytes are looked at when a file is first opened, and again when it was written to.
func TestCacheIsCheckedOnce(t *testing.T) {
	path := converted(t, Options{Path: "digits:30", Seed: 1})
	open := func() error {
		s, err := LoadSets(Options{Path: path, Seed: 1})
		if err == nil {
			s.Close()
		}
		return err
	}
	trusted := func() bool {
		_, err := os.Stat(cacheAt(t, path).mark())
		return err == nil
	}
	if !trusted() {
		t.Error("a file that was just written is not trusted")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // another user
	if trusted() || open() != nil || !trusted() {
		t.Error("it was not checked, or that was forgotten")
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{77}, 70000); err != nil {
		t.Fatal(err)
	}
	if trusted() {
		t.Error("a file that was written to is trusted")
	}
	check.Error(t, open(), "damaged", "checksum", "again")
	check.Error(t, CheckCache(path, silent), "damaged")
	check.Error(t, CheckCache(file(t, "", "x.csv", "a,b\n1,2\n"), silent), "not a data cache")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if path = converted(t, Options{Path: "digits:30", Seed: 1}); open() != nil {
		t.Error("there is no place to remember it, and so it is not opened")
	}
}

// TestConvertLeavesNothing: a conversion that fails or is interrupted leaves no file, and none that was there changes.
func TestConvertLeavesNothing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	out := filepath.Join(dir, "set.hog")
	if err := os.WriteFile(out, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancelCause(context.Background())
	why := errors.New("no more")
	for name, c := range map[string]struct {
		o    Options
		ctx  context.Context
		tell func(string, int, int)
		says string
	}{
		"bad data":    {Options{Path: file(t, "", "bad.csv", "a,b\n1,2,3\n")}, context.Background(), silent, "bad.csv"},
		"no test set": {Options{Path: "digits:30", Test: "nowhere"}, context.Background(), silent, "nowhere"},
		"interrupted": {Options{Path: "synth:dense:100000x100"}, stopped,
			func(string, int, int) { stop(why) }, "no more"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Seed = 1
			_, err := Convert(c.ctx, c.o, out, anyRows, c.tell)
			check.Error(t, err, c.says)
			left, _ := os.ReadDir(dir)
			if text, _ := os.ReadFile(out); string(text) != "before" || len(left) != 1 {
				t.Errorf("%q, %v", text, left)
			}
		})
	}
	held, err := claim(out + ".part")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Convert(context.Background(), Options{Path: "digits:30"}, out, anyRows, silent)
	check.Error(t, err, "another conversion", "set.hog.part")
	held.Close() // killed: its file stays, and the next one takes it over
	if _, err := Convert(context.Background(), Options{Path: "digits:30"}, out, anyRows, silent); err != nil {
		t.Error(err)
	}
}

// duplicate returns a second descriptor of a file, as a worker inherits it.
func duplicate(t *testing.T, f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}
