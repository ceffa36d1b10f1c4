package house

import (
	"bytes"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// budgets is the page with the tables of budgets.
const budgets = "internal/house/budgets.md"

// budgetRow is a row of such a table: what is counted, its budget, and what it may have until it is there.
var budgetRow = regexp.MustCompile(`(?m)^\| ([A-Za-z0-9/+, .-]+) \| ([0-9,]+) \| ([0-9,]+) \|`)

// TestBudgets counts what is written by hand, outside tests: lines of Go by package, the generator of assembly, which
// is a module of its own, included; lines of other languages; words of Markdown.
func TestBudgets(t *testing.T) {
	inRoot(t)
	text, err := os.ReadFile(budgets)
	if err != nil {
		t.Fatal(err)
	}
	counts := otherLanguages(t)
	for _, s := range sources(t) {
		if !s.tests && !ast.IsGenerated(s.file) {
			counts[s.dir()] += bytes.Count(s.text, []byte("\n"))
		}
	}
	table, rows := budgetRow.FindAllSubmatch(text, -1), map[string]int{}
	for i, row := range table {
		for name := range strings.SplitSeq(string(row[1]), ", ") {
			rows[name] = i
		}
	}
	for name, n := range counts {
		if strings.ToLower(name) == name { // a folder of Go
			counts["Go"] += n
		}
	}
	sums := make([]int, len(table))
	for name, n := range counts {
		row, ok := rows[name]
		for dir := name; !ok && strings.Contains(dir, "/"); { // a folder belongs to the one above it
			dir = path.Dir(dir)
			row, ok = rows[dir]
		}
		if !ok {
			t.Errorf("%s is in no row of the table of budgets", name)
			continue
		}
		sums[row] += n
	}
	for i, row := range table {
		budget, now := number(t, row[2]), number(t, row[3])
		if sums[i] > max(budget, now) {
			t.Errorf("%s: %d, at most %d", row[1], sums[i], max(budget, now))
		}
		if sums[i]+max(100, now/100) < now && now > budget {
			t.Errorf("%s: %d: write that for %d", row[1], sums[i], now)
		}
	}
	t.Logf("%d lines of Go", counts["Go"])
}

// languages are counted along with the packages, by extension. Folders of Go have names in small letters.
var languages = map[string]string{".py": "Python", ".c": "C", ".h": "C", ".cc": "C", ".cu": "C", ".md": "Words"}

// otherLanguages counts lines of Python and of C, C++ and CUDA, words of the README and of docs, and lines of Go of
// the module that generates assembly.
func otherLanguages(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, extension := d.Name(), filepath.Ext(p)
		generator := strings.HasPrefix(p, "internal/vec/gen/")
		switch {
		case d.IsDir() && p != "." && (strings.HasPrefix(name, ".") || !strings.Contains(p, "/") && foreign(p)):
			return filepath.SkipDir
		case d.IsDir() || strings.HasPrefix(name, "test_") || strings.HasSuffix(name, "_test.go"):
			return nil
		case extension == ".md" && p != "README.md" && !strings.HasPrefix(p, "docs/"):
			return nil
		case languages[extension] == "" && !(generator && extension == ".go"):
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		switch {
		case extension == ".go":
			counts["internal/vec/gen"] += bytes.Count(text, []byte("\n"))
		case extension == ".md":
			counts["Words"] += len(bytes.Fields(text))
		default:
			counts[languages[extension]] += bytes.Count(text, []byte("\n"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

func number(t *testing.T, text []byte) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(string(text), ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
