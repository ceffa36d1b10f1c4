package house

import (
	"regexp"
	"strings"
	"testing"
)

// origin is how a page says where figures come from: a commit or a file of results, or that they were not measured.
var origin = regexp.MustCompile(`commit [0-9a-f]{7,}|bench/results/\S+\.json|(?i:no results file)|sass-table|` +
	`simulated|(?i:computed)`)

// TestFiguresSayWhence: the pages on speed say of each table of figures how it was had, in the table's section or in
// that of the second level around it.
func TestFiguresSayWhence(t *testing.T) {
	inRoot(t)
	tables := regexp.MustCompile(`(?m)(?:^\|.*\n)+`)
	checked := map[string]int{}
	for page, of := range map[string][]string{
		"docs/gpu.md":      {"limit, s"}, // tables of something else than measurements, by words of theirs
		"docs/speed.md":    nil,
		"docs/kernels.md":  nil,
		"docs/speedrun.md": {"SimpleChains.jl"}, // published by others, with links
		"docs/words.md":    {"default"},
	} {
		all := text(t, page)
		top, _, _ := strings.Cut(all, "\n## ")
		for _, section := range strings.Split(all, "\n## ") {
			about := tables.ReplaceAllString(section, "")
			if page == "docs/kernels.md" { // one command makes all of it
				about += top
			}
			for _, table := range tables.FindAllString(section, -1) {
				skip := !figures(table)
				for _, words := range of {
					skip = skip || strings.Contains(table, words)
				}
				if skip {
					continue
				}
				checked[page]++
				if !origin.MatchString(about) {
					t.Errorf("%s: nothing says how the figures of this table were had:\n%.200s", page, table)
				}
			}
		}
	}
	for page, least := range map[string]int{"docs/gpu.md": 4, "docs/speed.md": 14, "docs/kernels.md": 3,
		"docs/speedrun.md": 1, "docs/words.md": 3} {
		if checked[page] < least {
			t.Errorf("%s: %d tables of figures are read", page, checked[page])
		}
	}
}

// figures reports whether half of a table's cells, but for those of the first column, begin with a number.
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
