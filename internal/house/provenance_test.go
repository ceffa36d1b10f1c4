package house

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// origin is how a page says where figures come from: a commit or a file of results, or that they were not measured.
var origin = regexp.MustCompile(`commits? [0-9a-f]{7,}|bench/results/\S+\.json|(?i:no results file)|sass-table|` +
	`simulated|(?i:computed)`)

// TestFiguresSayWhence: the pages of measured results say of each table of figures how it was had, in the table's
// section or in the section of the second level around it.
func TestFiguresSayWhence(t *testing.T) {
	inRoot(t)
	tables := regexp.MustCompile(`(?m)(?:^\|.*\n)+`)
	other := []string{"limit, s", "SimpleChains.jl"} // tables of budgets, and of what others published with links
	// These have one source, which the beginning of the page names.
	one := []string{"kernels.md", "hogwild-paper.md", "arm64.md"}
	pages, checked := 0, 0
	for _, page := range files(t, ".md") {
		name, result := strings.CutPrefix(page, "docs/results/")
		if !result {
			continue
		}
		pages++
		all := text(t, page)
		top, _, _ := strings.Cut(all, "\n## ")
		for _, section := range strings.Split(all, "\n## ") {
			about := tables.ReplaceAllString(section, "")
			if slices.Contains(one, name) {
				about += top
			}
			for _, table := range tables.FindAllString(section, -1) {
				if !figures(table) ||
					slices.ContainsFunc(other, func(words string) bool { return strings.Contains(table, words) }) {
					continue
				}
				checked++
				if !origin.MatchString(about) {
					t.Errorf("%s: nothing says how the figures of this table were had:\n%.200s", page, table)
				}
			}
		}
	}
	if pages < 10 || checked < 50 {
		t.Errorf("%d pages with %d tables of figures are read", pages, checked)
	}
}

// figures reports whether half of a table's cells, but for the first column's, begin with a number.
func figures(table string) bool {
	number := regexp.MustCompile(`^(?:\\\* )?[.\d]`)
	n, all := 0, 0
	for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		for _, cell := range cells[1:] {
			if cell = strings.TrimSpace(cell); cell != "" {
				all++
				if number.MatchString(cell) {
					n++
				}
			}
		}
	}
	return 2*n > all
}
