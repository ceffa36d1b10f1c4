package house

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPromisesHaveTests: each test that docs/testing.md and the README name is one of the packages of its row.
func TestPromisesHaveTests(t *testing.T) {
	inRoot(t)
	has := map[string]bool{} // folder and test
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.tests {
				has[s.dir()+" "+f.Name.Name] = true
			}
		}
	}
	row := regexp.MustCompile("(?m)^\\| [^|]+ \\| (`[^ |]+`(?:, `[^ |]+`)*) \\| (.+) \\|$")
	quoted := regexp.MustCompile("`([^`]+)`")
	for page, least := range map[string]int{"docs/testing.md": 20, "README.md": 6} {
		rows := row.FindAllStringSubmatch(text(t, page), -1)
		for _, r := range rows {
			folders := quoted.FindAllStringSubmatch(r[1], -1)
			for _, name := range quoted.FindAllStringSubmatch(r[2], -1) {
				if !slices.ContainsFunc(folders, func(f []string) bool { return has[f[1]+" "+name[1]] }) {
					t.Errorf("%s: %s has no %s", page, r[1], name[1])
				}
			}
		}
		if len(rows) < least {
			t.Errorf("%d rows of %s are read", len(rows), page)
		}
	}
}

// TestReadmeIsShort: a newcomer reads one page; the rest is in docs.
func TestReadmeIsShort(t *testing.T) {
	inRoot(t)
	if lines := strings.Count(text(t, "README.md"), "\n"); lines >= 150 {
		t.Errorf("README.md has %d lines", lines)
	}
}
