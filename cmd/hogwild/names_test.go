package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// TestNamesAreOnlyShown: escape sequences in the names of files, columns and classes reach no terminal,
// and no page has a class's name as HTML. What other programs read is what the file says.
func TestNamesAreOnlyShown(t *testing.T) {
	const escape, markup = "\x1b[31mred\a\u009b2J", "<script>alert(1)</script>"
	t.Chdir(t.TempDir())
	var text strings.Builder
	fmt.Fprintf(&text, "%sa,b%[1]s,%[1]sy\n", escape)
	for i := range 60 {
		fmt.Fprintf(&text, "%.3f,%.3f,%s\n", math.Sin(float64(i)), math.Cos(float64(i)), []string{escape, markup}[i%2])
	}
	file, folder := "a"+escape+".csv", "run"+escape
	if err := os.WriteFile(file, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"train", "--data", file, "--target", "3", "--epochs", "1", "--workers", "1", "--run", folder},
		{"train", "--data", file, "--target", "3", "--epochs", "1", "--workers", "1", "--run",
			"json" + escape, "--json"},
		{"train", "--resume", folder, "--epochs", "2"},
		{"train", "--data", "no" + file},
		{"train", "--data", file, "--target", escape},
		{"eval", folder},
		{"eval", folder, "--json"},
		{"predict", folder, "--data", file, "--out", "out" + file},
		{"data", "info", file},
		{"data", "info", file, "--json"},
		{"data", "make", "linear:10x2", "made" + file},
		{"runs", "."},
		{"report", folder, "--out", "page" + escape + ".html"},
	} {
		cmd := program(args...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = exitStatus(t, cmd)
		if i := strings.IndexFunc(said.String(), func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' &&
				r != '\t'
		}); i >= 0 {
			t.Errorf("%q: %.80q", args, said.String()[i:])
		}
	}
	html, err := os.ReadFile("page" + escape + ".html")
	if err != nil || bytes.Contains(html, []byte(markup)) || !bytes.Contains(html, []byte("alert(1)")) {
		t.Errorf("the page has the class's name as HTML, or not at all (%v)", err)
	}
	rows, err := program("predict", folder, "--data", file).Output()
	if err != nil || !bytes.Contains(rows, []byte(escape)) {
		t.Errorf("predictions for a program (%v): %.80q", err, rows)
	}
	if _, err := os.Stat(filepath.Join(folder, "snapshot.safetensors")); err != nil {
		t.Error(err)
	}
}
