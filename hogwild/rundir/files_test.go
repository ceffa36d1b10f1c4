package rundir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/internal/atomicfile"
)

// The old snapshot is the previous one by the time the new one takes its name: there is no moment without a whole one.
func TestPreviousSnapshot(t *testing.T) {
	dir := t.TempDir()
	newest, previous := filepath.Join(dir, SnapshotFile), filepath.Join(dir, PreviousFile)
	content := func(path string) string {
		text, _ := os.ReadFile(path)
		return string(text)
	}
	save := func(text string) {
		t.Helper()
		err := atomicfile.WriteAs(newest, [][]byte{[]byte(text)}, atomicfile.Options{Ready: func(folder int) error {
			err := keepPrevious(folder)
			if was := content(newest); was != content(previous) {
				t.Errorf("before %s is there: newest %q, previous %q", text, was, content(previous))
			}
			return err
		}})
		if err != nil || content(newest) != text {
			t.Errorf("newest is %q, want %q (%v)", content(newest), text, err)
		}
	}
	save("one")
	if _, err := os.Stat(previous); err == nil {
		t.Error("there is one before the first")
	}
	save("two")
	save("three")
	if got := content(previous); got != "two" {
		t.Errorf("previous is %q", got)
	}
	// A process was killed between the two steps: both names lead to one file.
	if err := errors.Join(os.Remove(previous), os.Link(newest, previous)); err != nil {
		t.Fatal(err)
	}
	save("four")
	if got := content(previous); got != "three" {
		t.Errorf("previous is %q", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("the folder holds %v", entries)
	}
}

// What killed processes left goes when the next run begins, and nothing else does.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	keep := []string{SnapshotFile, PreviousFile, "mine.tmp", "snapshot.tmp"}
	for _, name := range append([]string{SnapshotFile + ".12ab34cd.tmp", WeightsFile + ".tmp",
		MetricsName + ".00000000.tmp"}, keep...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Open(config.Default(), nil); err != nil {
		t.Fatal(err)
	}
	f.Close()
	entries, _ := os.ReadDir(dir)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want := append(keep, ConfigFile, MetricsName); len(got) != len(want)+1 ||
		slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(got, name) }) {
		t.Errorf("the folder holds %v, want %v and events", got, want)
	}
}

// A line that cannot be written leaves no part of itself, and an owed one is written before the next.
func TestGrowing(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8k"); err != nil {
		t.Skipf("a small file system: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	path, ballast := filepath.Join(dir, "lines"), filepath.Join(dir, "ballast")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.WriteFile(ballast, make([]byte, 4096), 0o666); err != nil {
		t.Fatal(err)
	}
	g := growing{f: f}
	line := func(c string) []byte { return append(bytes.Repeat([]byte(c), 2999), '\n') }
	if err := g.add(line("a"), true); err != nil {
		t.Fatal(err)
	}
	for _, owe := range []bool{true, false} { // a page has room for 4,096
		if err := g.add(line("b"), owe); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("the second line: %v", err)
		}
		if text, _ := os.ReadFile(path); !bytes.Equal(text, line("a")) {
			t.Errorf("%d bytes are there, want the first line", len(text))
		}
	}
	if err := g.Settle(); err == nil {
		t.Error("nothing is owed")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := g.add(line("c")[2000:], true); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); !bytes.Equal(text, slices.Concat(line("a"), line("b"), line("c")[2000:])) {
		t.Errorf("%d bytes in the end", len(text))
	}
}
