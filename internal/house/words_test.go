package house

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// plain are phrases that a colleague would not say, and how often pages and comments of Go have them at most. Both
// numbers only fall: where a count is lower, set its ceiling down.
var plain = []struct {
	phrase      string
	pages, code int
}{
	{"those of", 7, 6},
	{"that of", 2, 4},
	{"nobody", 3, 2},
	{"whoever", 2, 1},
	{"so many", 0, 0},
	{"comes to", 1, 1},
	{"of which", 4, 8},
	{"tells of", 1, 1},
	{"beside", 6, 5},
}

// TestPlainWords counts phrases in all pages, but for what CHANGELOG.md says of released and earlier work, and in the
// comments of all Go files.
func TestPlainWords(t *testing.T) {
	inRoot(t)
	var pages, comments strings.Builder
	for _, page := range files(t, ".md") {
		if page == "CHANGELOG.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(text)
	}
	for _, s := range sources(t) {
		for _, c := range s.file.Comments {
			comments.WriteString(c.Text() + "\n")
		}
	}
	for _, p := range plain {
		words := regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(p.phrase, " ", `\s+`) + `\b`)
		for _, of := range []struct {
			what, text string
			most       int
		}{{"pages", pages.String(), p.pages}, {"Go comments", comments.String(), p.code}} {
			if n := len(words.FindAllString(of.text, -1)); n > of.most {
				t.Errorf("%s have %q %d times, %d is the limit", of.what, p.phrase, n, of.most)
			}
		}
	}
}
