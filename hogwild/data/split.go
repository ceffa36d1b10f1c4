package data

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"hogwild/hogwild/data/format"
	"hogwild/internal/human"
)

// Hint ends the error of a path where no data are: a program may know how to get them.
var Hint = func(path string) string { return "" }

// locate finds the files that a path means: the training inputs, and the test
// inputs that belong to them, "" if there are none. A path is a file, a folder (see
// inFolder), or the name of the digits, which have both parts in one.
func locate(path string) (train, test string, err error) {
	if isDigits(path) {
		return path, path, nil
	}
	if isSynth(path) {
		return path, "", nil
	}
	if path == format.StdinName {
		return path, "", nil
	}
	if scheme, _, ok := strings.Cut(path, "://"); ok && regexp.MustCompile(`^[a-z0-9+]+$`).MatchString(scheme) {
		return "", "", fmt.Errorf("data: %s is an address, not a file: download it first and name the file%s",
			path, Hint(path))
	}
	if path == "" {
		return "", "", errors.New("data: the path is empty: name a file, a folder or digits")
	}
	info, err := os.Stat(path)
	if err != nil {
		if p := (*os.PathError)(nil); errors.As(err, &p) {
			err = p.Err
		}
		return "", "", fmt.Errorf("data: %s: %w%s", path, err, cmp.Or(Hint(path), suggest(path)))
	}
	if !info.IsDir() {
		return path, testBeside(path), nil
	}
	if train, test = inFolder(path); train == "" && test == "" {
		return "", "", fmt.Errorf("data: %s is a folder without train-images-idx3-ubyte or X_train.npy, or a single "+
			"data file; it holds %s: name a file%s",
			path, contents(path), Hint(path))
	}
	return train, test, nil
}

// Find returns an error if no data are there.
func Find(path string) error {
	_, _, err := locate(path)
	return err
}

// suggest returns a question for a path that is not there: a name like it in the same folder,
// or in a folder in there, or the digits.
func suggest(path string) string {
	dir, base := filepath.Split(filepath.Clean(path))
	for _, in := range []string{dir + "*", dir + "*/*"} {
		paths, _ := filepath.Glob(in)
		var names []string
		for _, p := range paths {
			names = append(names, filepath.Base(p))
		}
		if dir == "" {
			names = append(names, "digits")
		}
		if text := human.Suggest("", base, names); text != "" {
			for i, p := range paths {
				if human.Suggest("", base, names[i:i+1]) == text {
					return fmt.Sprintf("; did you mean %s?", human.Name(p))
				}
			}
			return text
		}
	}
	return ""
}

func contents(folder string) string {
	entries, _ := os.ReadDir(folder)
	if len(entries) == 0 {
		return "nothing"
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return format.Some(names)
}

// divide splits the rows for training from those for testing, unless there are others, and for validation.
func (o Options) divide(t *table, y []float32, tested bool) (rows, held, apart []int32, err error) {
	if rows = allRows(t.Rows); !tested {
		if rows, held, err = t.holdOut(o.Seed); err != nil {
			return nil, nil, nil, err
		}
	}
	if o.Limit > 0 {
		rows = rows[:min(o.Limit, len(rows))]
	}
	k, err := o.apart(len(rows), false)
	if k > 0 {
		rows, apart = t.setApart(rows, y, k, o.Seed)
	}
	return rows, held, apart, err
}

// holdOut splits the rows of t, a sixth for testing, chosen by the seed; both parts
// stay in the order of the file.
func (t *table) holdOut(seed uint64) (train, test []int32, err error) {
	n := t.Rows
	if n < 2 {
		return nil, nil,
			fmt.Errorf("data: %s has one row: too few to hold out a test set; name one with --test", t.Name)
	}
	held := make([]bool, n)
	k := max(1, (n+3)/6)
	for _, i := range shuffled(allRows(n), seed, drawHoldOut)[:k] {
		held[i] = true
	}
	for i := range held {
		if held[i] {
			test = append(test, int32(i))
		} else {
			train = append(train, int32(i))
		}
	}
	t.notef("held out %s of %s rows (a sixth) as the test set", count(k), count(n))
	t.noteSingle("test", k)
	return train, test, nil
}

// noteTwins notes if more than one in twenty of the rows held out equal a training row: they test nothing new.
func (t *table) noteTwins(train, held []int32, y []float32) {
	if t.rows != nil || t.x8 != nil || t.keepsZeros() {
		return
	}
	held = held[:min(len(held), mostTwins)]
	hash := func(i int32) uint64 { // FNV-1a
		h := (14695981039346656037 ^ uint64(math.Float32bits(y[i]))) * 1099511628211
		row := t.row(int(i))
		for _, v := range row.Val {
			h = (h ^ uint64(math.Float32bits(v))) * 1099511628211
		}
		for _, j := range row.Idx {
			h = (h ^ uint64(j)) * 1099511628211
		}
		return h
	}
	n := twins(len(train), len(held), func(k int) uint64 { return hash(train[k]) },
		func(k int) uint64 { return hash(held[k]) })
	if 20*n > len(held) {
		t.notef("%s of %s test rows equal a training row: remove duplicates, or name a test set with --test", count(n),
			count(len(held)))
	}
}

// mostTwins is how many rows are looked at: a sample will do.
const mostTwins = 100_000

// twins returns how many of the rows held out have the key of a training row.
func twins[K comparable](train, held int, of, heldKey func(i int) K) (n int) {
	among := map[K]bool{}
	for i := range held {
		among[heldKey(i)] = false
	}
	for i := range train {
		if _, is := among[of(i)]; is {
			among[of(i)] = true
		}
	}
	for i := range held {
		if among[heldKey(i)] {
			n++
		}
	}
	return n
}
