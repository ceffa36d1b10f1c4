package data

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeptSetsAreWhatReadingGives: the process that leaves sets in the folder, and others that find them there, have
// what LoadSets gives, under the data's own name.
func TestKeptSetsAreWhatReadingGives(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var libsvm, table, ratings strings.Builder
	table.WriteString("a,colour,b,y\n")
	for i := range 100 {
		fmt.Fprintf(&libsvm, "%d %d:%d %d:2.5\n", i%2, 1+i%7, i, 20+i%11)
		fmt.Fprintf(&table, "%d,%s,%d,%s\n", i*i, []string{"red", "blue", ""}[i%3], 100-i, []string{"yes", "no"}[i%5/3])
		fmt.Fprintf(&ratings, "%d,%d,%d\n", i%13, i%17, i%5)
	}
	svm := file(t, "", "a.svm", libsvm.String())
	for name, o := range map[string]Options{
		"digits":     {Path: "digits:90", Validation: "0.2", Scale: "standard"},
		"sparse":     {Path: svm, Limit: 50},
		"test none":  {Path: svm, Test: None},
		"a table":    {Path: file(t, "", "t.csv", table.String()), Validation: "0.1", Ignore: "b"},
		"test file":  {Path: svm, Test: file(t, "", "b.svm", libsvm.String()+"1 3:2\n")},
		"matrix":     {Path: file(t, "", "r.csv", ratings.String()), Task: "triples", Validation: "0.3", Grid: 2},
		"graph":      {Path: file(t, "", "g.csv", ratings.String()), Task: "edges"},
		"lots of it": {Path: svm, MaxMemory: 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, seed := range []uint64{3, 3, 4} {
				o.Seed = seed
				want, err := LoadSets(o)
				if err != nil {
					t.Fatal(err)
				}
				defer want.Close()
				got, err := LoadKept(o, folder)
				if err != nil {
					t.Fatal(err)
				}
				defer got.Close()
				sameSets(t, "training", got.Train, want.Train)
				sameSets(t, "validation", got.Validation, want.Validation)
				sameSets(t, "test", got.Test, want.Test)
				if got.Train.Name != want.Train.Name || got.HeldOut != want.HeldOut {
					t.Errorf("named %q, want %q", got.Train.Name, want.Train.Name)
				}
				if o.Grid == 0 && got.Train.cacheInfo == nil {
					t.Error("it was read, not mapped")
				}
			}
			if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) != 2 {
				t.Errorf("one cache for each seed: %v", left)
			}
		})
	}
}

// TestKeptSetsThatCannotBe: without room for a cache, or with one that is damaged, the data are read.
func TestKeptSetsThatCannotBe(t *testing.T) {
	folder := t.TempDir()
	o := Options{Path: "digits:90", Seed: 1}
	load := func(folder string) *Set {
		t.Helper()
		s, err := LoadKept(o, folder)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s.Train
	}
	if load(filepath.Join(folder, "missing")).cacheInfo != nil {
		t.Error("there is no folder")
	}
	load(folder)
	left, err := filepath.Glob(filepath.Join(folder, "*.hog"))
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	if err := os.Chmod(left[0], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(left[0], 1000); err != nil {
		t.Fatal(err)
	}
	if load(folder).cacheInfo != nil {
		t.Error("the cache is cut off")
	}
	_, err = LoadKept(Options{Path: filepath.Join(folder, "no.csv")}, folder)
	if err == nil || !strings.Contains(err.Error(), "no.csv") {
		t.Errorf("a file that is not there: %v", err)
	}
}
