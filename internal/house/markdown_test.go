package house

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	fences   = regexp.MustCompile("(?ms)^```.*?^```|^    .*?$|`[^`\n]*`")
	links    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// TestLinksResolve follows each relative link of each page, and its anchor.
func TestLinksResolve(t *testing.T) {
	inRoot(t)
	followed := 0
	for _, page := range files(t, ".md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links.FindAllStringSubmatch(fences.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			followed++
			if why := broken(page, link[1]); why != "" {
				t.Errorf("%s: link %s: %s", page, link[1], why)
			}
		}
	}
	if followed < 50 {
		t.Errorf("%d links were found: far too few", followed)
	}
	for _, link := range []string{"docs/nowhere.md", "CONTRIBUTING.md#nowhere"} {
		if broken("README.md", link) == "" {
			t.Errorf("a link to %s passes", link)
		}
	}
}

// TestEachPageIsInTheIndex: docs/README.md links to every other page of docs/ once.
func TestEachPageIsInTheIndex(t *testing.T) {
	inRoot(t)
	named := map[string]int{}
	for _, link := range links.FindAllStringSubmatch(text(t, "docs/README.md"), -1) {
		named[path.Join("docs", link[1])]++
	}
	pages := 0
	for _, page := range files(t, ".md") {
		if !strings.HasPrefix(page, "docs/") || page == "docs/README.md" {
			continue
		}
		pages++
		if named[page] != 1 {
			t.Errorf("docs/README.md names %s %d times, want once", page, named[page])
		}
	}
	if pages < 30 {
		t.Errorf("%d pages are found", pages)
	}
}

// broken says why a link of a page leads nowhere, if it does.
func broken(page, link string) string {
	file, anchor, _ := strings.Cut(link, "#")
	to := page
	if file != "" {
		to = path.Join(path.Dir(page), file)
	}
	if _, err := os.Stat(to); err != nil {
		return err.Error()
	}
	if anchor == "" {
		return ""
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err.Error()
	}
	for _, heading := range headings.FindAllStringSubmatch(string(text), -1) {
		if anchorOf(heading[1]) == anchor {
			return ""
		}
	}
	return "no heading of " + to + " has this anchor"
}

// anchorOf is the anchor that GitHub gives a heading.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
