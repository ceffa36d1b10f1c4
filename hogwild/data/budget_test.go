package data

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hogwild/hogwild/data/format"
	"hogwild/internal/check"
)

// TestMemoryOfReading: what a file would take is counted before it is allocated, whatever the file
// promises, and the error says how much of what, and what to do.
func TestMemoryOfReading(t *testing.T) {
	const limit, most = 8 << 20, 64 << 20
	rows := strings.Repeat("1,2,3,4,5,6,7,8\n", 1<<16)
	for name, c := range map[string]struct {
		o    Options
		says string
	}{
		"a packed bomb": {Options{Path: file(t, "", "zeros.csv.gz",
			packed(t, strings.Repeat("\x00", 64<<20)))}, "reading on after"},
		"a packed bomb of blanks": {Options{Path: file(t, "", "blank.csv.gz", packed(t, strings.Repeat("\n", 64<<20)))},
			"reading on after"},
		"its trailer lies": {Options{Path: file(t, "", "lies.csv.gz",
			packed(t, strings.Repeat(" ", 64<<20))+"\x01\x00\x00\x00")}, "reading on after"},
		"a long file": {Options{Path: sparseFile(t, 1<<40)}, "reading on after"},
		"rows":        {Options{Path: file(t, "", "rows.csv", strings.Repeat(rows, 4))}, "262,144 rows of"},
		"values": {Options{Path: file(t, "", "x.libsvm", strings.Repeat("1 1:1 2:2 3:3\n", 1<<18))},
			"786,432 values"},
		"a wide feature": {Options{Path: file(t, "", "wide.libsvm", "1 268435455:1\n2 1:1\n1 1:2\n2 3:1\n")},
			"a set of 3 rows, 268,435,455 features"},
		"ids": {Options{Path: file(t, "", "r", "1 2147483647 1\n2 1 3\n"), Task: "triples"},
			"ids up to 2,147,483,647"},
		"digits":    {Options{Path: "digits:100000000"}, "100,000,000 rows of 796 bytes each"},
		"made rows": {Options{Path: "synth:dense:1000000x1000"}, "rows (a fraction of it needs less)"},
		"made factors": {Options{Path: "synth:lowrank:1000000000x1147483647x10x2147483647", Task: "triples"},
			"rows (a fraction of it needs less)"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.MaxMemory, c.o.Seed = limit, 1
			check.Bounded(t, most, func() {
				_, _, err := Load(c.o)
				check.Error(t, err, c.o.Path, c.says, "needs ",
					"the limit is 8.00 MiB (--max-memory): raise it with --max-memory", "hogwild data convert")
				if full := (*format.MemoryError)(nil); !errors.As(err, &full) || full.Need <= limit-full.Held {
					t.Errorf("%v: there is room for it", err)
				}
			})
		})
	}
}

// sparseFile writes a file of this size with only a header on the disk.
func sparseFile(t *testing.T, size int64) string {
	path := file(t, "", "sparse", "a,b\n")
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFilesWithoutEnd: a device is refused, a pipe is read up to the limit.
func TestFilesWithoutEnd(t *testing.T) {
	for _, device := range []string{"/dev/zero", "/dev/urandom"} {
		_, _, err := Load(Options{Path: device})
		check.Error(t, err, device, "a device, not a file")
		_, err = Convert(t.Context(), Options{Path: device}, filepath.Join(t.TempDir(), "out.hog"), anyRows, silent)
		check.Error(t, err, device, "a device, not a file")
		_, err = Stream(Inputs{Path: device, Like: Meta{Kind: Floats, Features: 2}}, func(*Piece) error { return nil })
		check.Error(t, err, device, "a device, not a file")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for line := []byte(strings.Repeat("1,2\n", 1000)); err == nil; {
			_, err = w.Write(line)
		}
		w.Close()
	}()
	defer r.Close()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	check.Bounded(t, 64<<20, func() {
		_, _, err := Load(Options{Path: path, MaxMemory: 8 << 20})
		check.Error(t, err, path, "reading on after", "--max-memory")
	})
}

// TestPlacesAreCounted: names of ids count where they are held to be looked up, for at least what they take.
func TestPlacesAreCounted(t *testing.T) {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "user %d,film %d,%d\n", i, i*7, i%5)
	}
	path := file(t, "", "r.csv", text.String())
	train, _ := mustLoad(t, Options{Path: path, Task: "triples"})
	if train.Columns == nil {
		t.Fatal("no names")
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	heap() // what loading has left
	before := heap()
	p, err := train.Places(nil)
	took := heap() - before
	defer runtime.KeepAlive(p)
	if err != nil || p.held < took || p.held > 3*took {
		t.Errorf("counted %d bytes of %d: %v", p.held, took, err)
	}
	const says = "the ids of the training data: needs "
	_, err = train.Places(format.NewBudget(p.held - 1))
	check.Error(t, err, says)
	_, err = Stream(Inputs{Path: path, Like: train.Meta, Places: p, MaxMemory: p.held - 1},
		func(*Piece) error { return nil })
	check.Error(t, err, says)
	_, err = Options{Path: path, budget: format.NewBudget(40 << 20)}.Like(&train.Meta)
	check.Error(t, err, says)
	if set, err := (Options{Path: path, budget: format.NewBudget(120 << 20)}).Like(&train.Meta); err != nil {
		t.Error(err)
	} else {
		set.Close()
	}
}

// TestLongCell: a cell of a table is not held several times over, however long it is.
func TestLongCell(t *testing.T) {
	path := file(t, "", "x.csv", "a,b,y\n1,2,3\n1,\""+strings.Repeat("x", 64<<20))
	check.Bounded(t, 200<<20, func() {
		_, _, err := Load(Options{Path: path})
		check.Error(t, err, path+":3: a row of more than 16.0 MiB: is a quote before it never closed?")
	})
}

// TestGraphCountsOnce: a graph is its own test set, and takes its memory once.
func TestGraphCountsOnce(t *testing.T) {
	sets, err := LoadSets(Options{Path: "synth:dblife:0.001", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer sets.Close()
	limit := int64(4*(len(sets.Train.Idx)+len(sets.Train.Y))) + 100
	if err := sets.MayTake(limit, 100, "model", "weights"); err != nil {
		t.Error(err)
	}
	if err := sets.MayTake(limit, 101, "model", "weights"); err == nil {
		t.Error("a byte more than the limit is no error")
	}
}
