package data

import (
	"bufio"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/sys/unix"

	"hogwild/internal/check"
)

// wide returns a text in UTF-16.
func wide(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, c := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, c)
	}
	return string(b)
}

// Files as other programs write them are read, or refused in words that say what to do.
func TestOddFiles(t *testing.T) {
	const rows = "size,price\n1,2.5\n2,4\n3,6.5\n"
	for name, c := range map[string]struct{ text, says string }{
		"UTF-16 LE": {wide(binary.LittleEndian, "\ufeff"+rows),
			"UTF-16LE text: convert it to UTF-8 first: iconv -f UTF-16LE"},
		"UTF-16 BE":           {wide(binary.BigEndian, "\ufeff"+rows), "UTF-16BE"},
		"UTF-16 LE, no mark":  {wide(binary.LittleEndian, rows), "UTF-16LE"},
		"UTF-16 BE, no mark":  {wide(binary.BigEndian, rows), "UTF-16BE"},
		"packed UTF-16":       {packed(t, wide(binary.LittleEndian, rows)), "UTF-16LE"},
		"a mark":              {"\ufeff", "nothing but a byte order mark"},
		"blank lines":         {"\n\r\n \n", "only blank lines"},
		"a mark, blank lines": {"\ufeff\n\n", "only blank lines"},
		"packed nothing":      {packed(t, ""), "the file is empty"},
		"a comment only":      {"#size,price\n\r\n", "no rows in the file"},
		"header only":         {"size,price\n", "a header (size, price) and no rows"},
		"header, no line end": {"size,price", "a header"},
		"header of escapes":   {"a\x1b[31m,b\n", `("a\x1b[31m", b)`},
		"one column":          {"price\n1\n2\n", "one column only, so there are no features"},
		"between blanks":      {"a b y\n1 2 3\n", "separate columns by commas"},
		"names only": {"day,y\n" + strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), ",1\n") +
			",2\n", `left out column "day": almost all its texts are unique, e.g. "a" in line 2`},
		"JSON":    {"{\"a\": 1}\n", "JSON, not a table"},
		"a page":  {"<!DOCTYPE html>\n<p>404</p>\n", "HTML or XML"},
		"Parquet": {"PAR1\x15\x04\x15", "a Parquet file: python -m hogwild.convert"},
		"a quote": {"a,b\n1\"2,3\n", ":2:2: bare"},
		"all targets alike": {"a,b\n1,.5\n2,.5\n3,.5\n",
			`every value of target "b" (the last column; --target names another) is 0.5`},
		"all labels alike":      {"1 1:2\n1 1:3\n1 2:1\n", "every label is"},
		"half of a quote":       {"a,b\n\"1,2\n", "quote"},
		"rows of unlike length": {"a,b\n1,2\n1,2,3\n", ":3: 3 cells, the first line has 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Load(Options{Path: file(t, "", "odd", c.text), Seed: 1})
			check.Error(t, err, c.says)
			if strings.Contains(err.Error(), "\x1b") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error %q would move the cursor", err)
			}
		})
	}
	want, err := open(file(t, "", "plain", rows), Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"old Mac":        strings.ReplaceAll(rows, "\n", "\r"),
		"DOS":            strings.ReplaceAll(rows, "\n", "\r\n"),
		"a mark":         "\ufeff" + rows,
		"decimal commas": strings.NewReplacer(",", ";", ".", ",").Replace(rows),
		"bars":           strings.ReplaceAll(rows, ",", "|"),
		"packed old Mac": packed(t, strings.ReplaceAll(rows, "\n", "\r")),
	} {
		got, err := open(file(t, "", "odd", text), Options{}, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !slices.Equal(got.x, want.x) || !slices.Equal(got.label, want.label) ||
			!slices.Equal(got.Columns, want.Columns) || !slices.Equal(got.line, want.line) {
			t.Errorf("%s: columns %q, x %v, labels %v", name, got.Columns, got.x, got.label)
		}
	}
	old, err := open(file(t, "", "mac", "1 1:2\r2 3:4 # no\r1 2:2\r"), Options{}, nil)
	if err != nil || old.Rows != 3 || old.Format != "libsvm" {
		t.Errorf("LIBSVM of an old Mac: %+v, %v", old, err)
	}
}

// A path that is not there is answered with one like it.
func TestDidYouMean(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"mnist", "sets", "sets/housing"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	file(t, dir, "train.csv", "1,2\n")
	t.Chdir(dir)
	for path, says := range map[string]string{
		"mnst":                   "did you mean mnist?",
		"./mnits/":               "did you mean mnist?",
		dir + "/trian.csv":       "did you mean " + dir + "/train.csv?",
		"housng":                 "did you mean sets/housing?",
		"digist":                 "did you mean digits?",
		"nowhere":                "no such file",
		"https://x.org/iris.csv": "is an address, not a file: download it first and name the file",
		"s3://bucket/iris.csv":   "is an address",
	} {
		for _, o := range []Options{{Path: path}, {Path: "digits:60", Test: path}} {
			_, _, err := Load(o)
			check.Error(t, err, says)
			if strings.Contains(says, "no such") && strings.Contains(err.Error(), "did you mean") {
				t.Errorf("%v", err)
			}
		}
	}
}

// A file has its name when it is complete. Before that, what was there stays.
func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	path := file(t, dir, "set.csv", "old")
	left := func() []string {
		var names []string
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	err := writeWhole(t.Context(), path, func(w *bufio.Writer) error {
		w.WriteString(strings.Repeat("x", 1<<21))
		return errors.New("the disk is full")
	})
	check.Error(t, err, path, "the disk is full")
	if text, _ := os.ReadFile(path); string(text) != "old" || !slices.Equal(left(), []string{"set.csv"}) {
		t.Errorf("what was cut short leaves %q, %.9q in the file", left(), text)
	}
	if err := writeWhole(t.Context(), path,
		func(w *bufio.Writer) error { _, err := w.WriteString("new"); return err }); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "new" || !slices.Equal(left(), []string{"set.csv"}) {
		t.Errorf("it leaves %q, %q in the file", left(), text)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		text, _ := os.ReadFile(pipe)
		read <- string(text)
	}()
	if err := writeWhole(t.Context(), pipe,
		func(w *bufio.Writer) error { _, err := w.WriteString("new"); return err }); err != nil || <-read != "new" {
		t.Errorf("a pipe is not written in place: %v", err)
	}
}

// The same on a disk that is full.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a file system of its own: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	train, test, err := Load(Options{Path: "synth:dense:2000x20", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer train.Close()
	defer test.Close()
	for _, ending := range []string{".csv", ".npy", ".libsvm"} {
		check.Error(t, WriteFile(t.Context(), filepath.Join(dir, "set"+ending), train), "set"+ending, "no space left")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}
