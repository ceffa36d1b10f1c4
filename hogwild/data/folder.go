package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hogwild/hogwild/data/format"
	"hogwild/internal/atomicfile"
)

// inFolder finds the training and the test file of a folder: by the names of MNIST's images and of arrays, else the
// only file that is no test file of another, and no text about the data.
func inFolder(path string) (train, test string) {
	in := func(name string) string { return filepath.Join(path, name) }
	train = format.Existing(in("train-images-idx3-ubyte"), in("X_train.npy"), in("train.txt"), in("train2id.txt"))
	test = format.Existing(in("t10k-images-idx3-ubyte"), in("X_test.npy"), in("test.txt"), in("test2id.txt"))
	if train != "" || test != "" {
		return train, test
	}
	var files []string
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if e.Type().IsRegular() && !isDocumentation(e.Name()) {
			files = append(files, in(e.Name()))
		}
	}
	for _, f := range files {
		if beside := testBeside(f); beside != "" {
			files = slices.DeleteFunc(slices.Clone(files), func(other string) bool { return other == beside })
		}
	}
	if len(files) > 1 { // a cache of the data may lie next to them
		files = slices.DeleteFunc(files, func(f string) bool { return filepath.Ext(f) == ".hog" })
	}
	if len(files) != 1 {
		return "", ""
	}
	return files[0], testBeside(files[0])
}

// isDocumentation reports by its name whether a file is about the data next to it, or is not whole.
func isDocumentation(name string) bool {
	upper, ending := strings.ToUpper(name), filepath.Ext(name)
	return strings.HasPrefix(name, ".") || strings.HasPrefix(upper, "README") || strings.HasPrefix(upper, "LICENSE") ||
		name == "SHA256SUMS" || slices.Contains([]string{".part", atomicfile.Ending, ".md"}, ending)
}

// testBeside returns the test file that belongs to a training file by its name: NAME.t
// for NAME, NAME.test for NAME.base, t10k-... for train-..., else "test" in the place
// of "train".
func testBeside(path string) string {
	dir, base := filepath.Split(path)
	bare := strings.TrimSuffix(base, ".gz")
	names := []string{bare + ".t"}
	if name, ok := strings.CutSuffix(bare, ".base"); ok { // MovieLens
		names = append(names, name+".test")
	}
	if rest, ok := strings.CutPrefix(bare, "train-images"); ok {
		names = append(names, "t10k-images"+rest)
	}
	if i := strings.LastIndex(bare, "train"); i >= 0 {
		names = append(names, bare[:i]+"test"+bare[i+len("train"):])
	}
	for i := range names {
		names[i] = dir + names[i]
	}
	return format.Existing(names...)
}
