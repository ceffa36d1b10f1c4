package data

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/internal/check"
)

// A folder with one data file is that file, whatever texts lie next to it, with the test file that belongs to it.
func TestFolders(t *testing.T) {
	for name, c := range map[string]struct {
		files       []string
		train, test string
	}{
		"LIBSVM": {[]string{"a9a", "a9a.t", "SHA256SUMS"}, "a9a", "a9a.t"},
		"train and test": {[]string{"rcv1_train.binary", "rcv1_test.binary", "README"}, "rcv1_train.binary",
			"rcv1_test.binary"},
		"packed": {[]string{"imdb_ltc_train.gz", "imdb_ltc_test.gz"}, "imdb_ltc_train.gz",
			"imdb_ltc_test.gz"},
		"one file": {[]string{"housing.csv", "README.md", "LICENSE", ".hidden"}, "housing.csv", ""},
		"under way": {[]string{"u.data", "README", "other.zip.part", "other.1a2b3c4d.tmp", "SHA256SUMS"},
			"u.data", ""},
		"MNIST": {[]string{"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
			"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}, "train-images-idx3-ubyte.gz",
			"t10k-images-idx3-ubyte.gz"},
		"arrays": {[]string{"X_train.npy", "y_train.npy", "X_test.npy", "y_test.npy"},
			"X_train.npy", "X_test.npy"},
		"a cache":             {[]string{"a9a.hog"}, "a9a.hog", ""},
		"a cache beside it":   {[]string{"a9a", "a9a.hog", "a9a.t"}, "a9a", "a9a.t"},
		"two files":           {[]string{"a.csv", "b.csv"}, "", ""},
		"two with their test": {[]string{"a", "a.t", "b", "b.t"}, "", ""},
		"only texts":          {[]string{"README", "SHA256SUMS"}, "", ""},
		"nothing":             {nil, "", ""},
	} {
		dir := t.TempDir()
		for _, f := range c.files {
			file(t, dir, f, "1 1:1\n")
		}
		pipe := unix.Mkfifo(filepath.Join(dir, "train-images-idx3-ubyte"), 0o666) // which must not be waited for
		if err := errors.Join(pipe, os.Mkdir(filepath.Join(dir, "folder"), 0o777)); err != nil {
			t.Fatal(err)
		}
		in := func(name string) string {
			if name == "" {
				return ""
			}
			return filepath.Join(dir, name)
		}
		if train, test := inFolder(dir); train != in(c.train) || test != in(c.test) {
			t.Errorf("%s: %q and %q, want %q and %q", name, train, test, c.train, c.test)
		}
	}
	_, _, err := locate(t.TempDir())
	check.Error(t, err, "or a single data file; it holds nothing: name a file")
}
