package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/rogpeppe/go-internal/txtar"

	"hogwild/hogwild/rundir"
)

// wrong is a table of command lines that a user may get wrong, and behind it the files that they are about.
// A line is COMMAND => TEXT | TEXT: what the error says, in this order. Variables of the environment stand in
// front of the command; a word in quotes is a Go string.
//
//go:embed testdata/wrong.txt
var wrong []byte

// TestWrongInputs: each ends with status 2 and at most four lines on stderr, which say what is wrong, where, and
// what to do; nothing is on stdout, nothing was trained, and nothing was written.
func TestWrongInputs(t *testing.T) {
	table := txtar.Parse(wrong)
	t.Chdir(t.TempDir())
	t.Setenv("PATH", "/nowhere") // no hogwild-cuda takes this process's place, and no Python reads files
	t.Setenv(rundir.Python, "")
	files := map[string][]byte{
		"cut.gz": packed(t, "x,y\n1,2\n3,4\n")[:20], "not.gz": []byte("\x1f\x8b garbage"),
		"archive.zip": []byte("PK\x03\x04 and so on"),
		"latin1.txt":  []byte("rot grün\nblau rot\ncaf\xe9 grün rot\n"),
		"head.npy":    []byte("\x93NUMPY\x01\x00"), "short.npy": npy("<f4", 8),
		"X.npy": npy("<f4", 108), "objects.npy": npy("|O", 800),
		"cut-idx3-ubyte": []byte("\x00\x00\x08\x03\x00\x00\x00\x00"),
		"pickle.pt":      []byte("\x80\x02cposix\nsystem\nX\x01\x00\x00\x00a\x85R."),
		"binary":         []byte("\x01\x00\x02"), "long.safetensors": bytes.Repeat([]byte{255}, 16),
		"head.safetensors": []byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"),
		"deep.yaml":        []byte("lr: 1\nworkers: " + strings.Repeat("[", 16000)),
		"keys.yaml":        []byte(strings.Repeat("a:\n", 5000)), "long.yaml": bytes.Repeat([]byte("# \n"), 1<<17),
		"open.csv":                 []byte("a,b,y\n1,2,3\n1,\"2,3\n" + strings.Repeat("1,2,3\n", 3<<20)),
		"titled.csv":               []byte("Report of sales 2021\na,b,y\n" + strings.Repeat("1,2,3\n2,3,1\n", 9)),
		"huge.csv":                 []byte("a,y\n" + strings.Repeat("1e25,1\n-2e25,2\n", 20)),
		"bad/snapshot.safetensors": []byte("\x10\x00\x00\x00\x00\x00\x00\x00{garbagegarbage}"),
	}
	for _, f := range table.Files {
		files[f.Name] = f.Data
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if status, _, said := carriedOut(t,
		"train --data digits:300 --workers 1 --epochs 1 --run run --quiet"); status != 0 {
		t.Fatalf("a run that other lines are about: %s", said)
	}
	before, rows, start := listing(t), 0, time.Now()
	for line := range strings.Lines(string(table.Comment)) {
		command, says, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				t.Errorf("no row of the table: %s", line)
			}
			continue
		}
		rows++
		if cudaVersion() != "" && strings.Contains(command, "--gpu ") {
			continue // whose errors are of the machine
		}
		status, out, said := carriedOut(t, command)
		if fault := faultOf(status, out, said, strings.Split(says, " | ")); fault != "" {
			t.Errorf("%s: %s:\n%s", command, fault, said)
		}
		if after := listing(t); after != before {
			t.Fatalf("%s: it has left other files:\n%s\nbefore:\n%s", command, after, before)
		}
	}
	if rows < 200 {
		t.Errorf("%d rows, want 200", rows)
	}
	t.Logf("%d rows in %v", rows, time.Since(start))
}

// faultOf says what is not right with the answer to a wrong command; "": nothing.
func faultOf(status int, out, said string, says []string) string {
	const mostBytes = 900 // 300 of them for a user's text
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	switch {
	case status != 2:
		return "status " + strconv.Itoa(status) + ", want 2"
	case out != "":
		return "on stdout: " + out
	case len(lines) > 4 || len(said) > mostBytes:
		return "the error is too long"
	case !strings.HasPrefix(said, "hogwild: ") || !strings.HasSuffix(said, "\n"):
		return "the error is not one of hogwild"
	case strings.Contains(said, "panic:") || strings.Contains(said, "goroutine") || strings.Contains(said, "%!"):
		return "the error is one of the program"
	}
	for _, r := range said {
		if unicode.IsControl(r) && r != '\n' {
			return "a control character " + strconv.QuoteRune(r)
		}
	}
	rest := said
	for _, text := range says {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			return "it does not say " + text
		}
		rest = after
	}
	return ""
}

// carriedOut carries out a command in this process.
func carriedOut(t *testing.T, command string) (status int, stdout, stderr string) {
	t.Helper()
	var args []string
	for rest := command; rest != ""; rest = strings.TrimLeft(rest, " ") {
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			word, _ := strconv.Unquote(quoted)
			args, rest = append(args, word), rest[len(quoted):]
			continue
		}
		word, after, _ := strings.Cut(rest, " ")
		args, rest = append(args, word), after
	}
	for len(args) > 0 && assignment.MatchString(args[0]) {
		name, value, _ := strings.Cut(args[0], "=")
		os.Setenv(name, value)
		defer os.Unsetenv(name)
		args = args[1:]
	}
	var out, said bytes.Buffer
	status = execute(args, &out, &said)
	return status, out.String(), said.String()
}

var assignment = regexp.MustCompile(`^(HOGWILD|OMPI)_[A-Za-z_]*=`)

// listing returns the files of the working directory.
func listing(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		all.WriteString(path + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// npy returns a file of 9 x 3 elements of a type, with n bytes of them.
func npy(kind string, n int) []byte {
	head := "{'descr': '" + kind + "', 'fortran_order': False, 'shape': (9, 3), }"
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	return append([]byte("\x93NUMPY\x01\x00\x76\x00"+head), make([]byte, n)...)
}
