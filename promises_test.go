package hogwild

import (
	"regexp"
	"strings"
	"testing"
)

// TestPromisesHaveTests: each test that docs/testing.md and the README name is one of its package.
func TestPromisesHaveTests(t *testing.T) {
	tests := map[string]string{} // the text of all tests of a folder
	for _, s := range sources(t) {
		if s.tests {
			tests[s.dir()] += string(s.text)
		}
	}
	row := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| (.+) \\|$")
	for page, least := range map[string]int{"docs/testing.md": 20, "README.md": 6} {
		rows := row.FindAllStringSubmatch(text(t, page), -1)
		for _, r := range rows {
			for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(r[2], -1) {
				if !strings.Contains(tests[r[1]], "func "+name[1]+"(t *testing.T)") {
					t.Errorf("%s: %s has no %s", page, r[1], name[1])
				}
			}
		}
		if len(rows) < least {
			t.Errorf("%d rows of %s are read", len(rows), page)
		}
	}
}

// TestReadmeIsShort: whoever comes reads one page; the rest is in docs.
func TestReadmeIsShort(t *testing.T) {
	if lines := strings.Count(text(t, "README.md"), "\n"); lines >= 150 {
		t.Errorf("README.md has %d lines", lines)
	}
}
