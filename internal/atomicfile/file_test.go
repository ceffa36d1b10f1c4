package atomicfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Two that save at once: readers find the file of one of them, whole.
func TestWriteAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	contents := [][]byte{bytes.Repeat([]byte("a"), 1<<18), bytes.Repeat([]byte("b"), 1<<19),
		bytes.Repeat([]byte("c"), 1<<17)}
	var all sync.WaitGroup
	for _, text := range contents {
		all.Go(func() {
			for range 20 {
				if err := Write(path, text[:100], text[100:]); err != nil {
					t.Error(err)
				}
				got, err := os.ReadFile(path)
				if err != nil || !slices.ContainsFunc(contents, func(c []byte) bool { return bytes.Equal(c, got) }) {
					t.Errorf("torn: %d bytes, %v", len(got), err)
					return
				}
			}
		})
	}
	all.Wait()
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
}

// Names of temporary files that are links, or files of the user's, stay as they are.
func TestCreateTakesNoOtherFile(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(other, []byte("mine"), 0o666), os.Symlink(other, path+Ending),
		os.Symlink(other, path)); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(other); string(text) != "mine" {
		t.Errorf("wrote %q through a link", text)
	}
	if text, _ := os.ReadFile(path); string(text) != "{}" {
		t.Errorf("the file holds %q", text)
	}
}

// A folder that gets another name while a file is written in it: the file is in that folder in the end, or nothing is.
func TestRenamedFolder(t *testing.T) {
	for _, ends := range []bool{true, false} {
		root := t.TempDir()
		was, is := filepath.Join(root, "was"), filepath.Join(root, "is")
		if err := os.Mkdir(was, 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := Create(filepath.Join(was, "file"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(was, is); err != nil {
			t.Fatal(err)
		}
		if ends {
			if err := f.Commit(); err != nil {
				t.Error(err)
			}
		}
		f.Abandon()
		var left []string
		entries, err := os.ReadDir(is)
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if want := []string{"file"}[:map[bool]int{true: 1}[ends]]; err != nil || !slices.Equal(left, want) {
			t.Errorf("the folder holds %v, want %v (%v)", left, want, err)
		}
	}
}

// A file of another kind stays unless force says otherwise.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	table, page := put("table.hog", "a,b\n1,2\n"), put("page.csv", "<!doctype html><title>mine</title>")
	array, predictions := put("x.csv", "\x93NUMPY\x01\x00"), put("p.csv", "prediction\n1\n")
	all := []Kind{Made, Cache, Weights, Page, PNG, SVG, ONNX, Predictions, Unfinished, Profile, Trace}
	for _, c := range []struct {
		path string
		of   []string // the kinds that may replace it
	}{
		{table, nil}, {page, nil}, {array, nil},
		{predictions, []string{Predictions.name}},
		{put("pairs.csv", "userId,movieId,prediction\n1,2,3\n"), []string{Predictions.name}},
	} {
		for _, kind := range all {
			err := Check(c.path, kind, false)
			if (err == nil) != slices.Contains(c.of, kind.name) {
				t.Errorf("%s over %s: %v", kind.name, c.path, err)
			}
			if err != nil && (!strings.Contains(err.Error(), c.path) || !errors.Is(err, ErrOther)) {
				t.Errorf("it does not say why: %v", err)
			}
			if err := Check(c.path, kind, true); err != nil {
				t.Errorf("forced: %v", err)
			}
		}
	}
	for _, path := range []string{put("empty", ""), filepath.Join(dir, "none"), os.DevNull} {
		if err := Check(path, Made, false); err != nil {
			t.Error(err)
		}
	}
	if err := Check(dir, Page, true); err == nil {
		t.Error("a folder may be replaced")
	}
}

// Nothing but plain files is read, and nothing is waited for.
func TestPlainFilesAlone(t *testing.T) {
	dir := t.TempDir()
	pipe, link, plain := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "plain")
	if err := errors.Join(unix.Mkfifo(pipe, 0o666), os.Symlink("/dev/zero", link),
		os.WriteFile(plain, []byte("12345"), 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, "/dev/zero", dir} {
		done := make(chan error, 1)
		go func() {
			_, err := Read(path, 1<<20)
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "not a file") {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it waits", path)
		}
	}
	if text, err := Read(plain, 5); err != nil || string(text) != "12345" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Read(plain, 4); err == nil {
		t.Error("5 bytes are 4 at most")
	}
}
