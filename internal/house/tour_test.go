package house

import (
	"cmp"
	"fmt"
	"go/doc"
	"os"
	"slices"
	"strings"
	"testing"

	"hogwild/internal/check"
)

// TestTourHasThePackages: the table of docs/tour.md is made of the first sentences of the package comments, in the
// order in which packages may import each other. go test -update writes it.
func TestTourHasThePackages(t *testing.T) {
	inRoot(t)
	const page, head = "docs/tour.md", "| package | what |\n|---|---|\n"
	about := map[string]string{}
	for _, s := range sources(t) {
		if s.tests || strings.HasPrefix(s.path, "examples/") {
			continue
		}
		about[s.dir()] += "" // also without a comment
		if s.file.Doc != nil {
			about[s.dir()] = new(doc.Package).Synopsis(s.file.Doc.Text())
		}
	}
	dirs := make([]string, 0, len(about))
	for dir := range about {
		dirs = append(dirs, dir)
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a, b)) })
	var table strings.Builder
	table.WriteString(head)
	for _, dir := range dirs {
		name := "Package " + dir[strings.LastIndex(dir, "/")+1:] + " "
		switch dir {
		case ".":
			name = "Package hogwild "
		case "cmd/hogwild":
			name = "Command hogwild "
		}
		what, found := strings.CutPrefix(about[dir], name)
		if !found {
			t.Errorf("%s: its comment begins with %q, not with %q", dir, about[dir], name)
		}
		what = strings.TrimSuffix(strings.TrimPrefix(what, "is "), ".")
		fmt.Fprintf(&table, "| `%s` | %s |\n", dir, strings.ReplaceAll(what, "|", `\|`))
	}
	text := text(t, page)
	from := strings.Index(text, head)
	if from < 0 {
		t.Fatalf("%s has no table of packages", page)
	}
	to := len(text)
	if n := strings.Index(text[from:], "\n\n"); n >= 0 {
		to = from + n + 1
	}
	if text[from:to] == table.String() {
		return
	}
	if !check.Updating() {
		t.Errorf("the table of %s differs from the package comments: go test ./internal/house -run Tour -update", page)
		return
	}
	if err := os.WriteFile(page, []byte(text[:from]+table.String()+text[to:]), 0o666); err != nil {
		t.Fatal(err)
	}
}
