package hogwild

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesHaveTests: each test that docs/testing.md names is one of its package.
func TestPromisesHaveTests(t *testing.T) {
	text, err := os.ReadFile("docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{} // the text of all tests of a folder
	for _, s := range sources(t) {
		if s.tests {
			tests[s.dir()] += string(s.text)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| (.+) \\|$").FindAllStringSubmatch(string(text), -1)
	for _, row := range rows {
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[2], -1) {
			if !strings.Contains(tests[row[1]], "func "+name[1]+"(t *testing.T)") {
				t.Errorf("docs/testing.md: %s has no %s", row[1], name[1])
			}
		}
	}
	if len(rows) < 20 {
		t.Errorf("%d rows are read", len(rows))
	}
}
