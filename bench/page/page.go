// Package page writes reports: one HTML file with its figures, tables and settings inside,
// that needs nothing from the net.
package page

import (
	"slices"

	"hogwild/internal/figure"
)

// Page is a report.
type Page struct {
	Title    string
	About    string      // a sentence or two
	Facts    [][2]string // machine, commit, time, command
	Notes    []string    // what is not fair or not significant
	Sections []Section
}

// Section is a part of a page, all of whose parts may be missing.
type Section struct {
	Title   string
	Text    string
	Figures []figure.Figure
	Table   *Table
	Code    string // settings, or how to repeat it: preformatted
}

// Table is a table: the first column names the rows; numbers are aligned on the right. One
// without heads has a name and a value a row, and several rows stand beside each other.
type Table struct {
	Heads []string
	Rows  [][]string
}

// add adds a column, if there is anything in it: a cell for each row.
func (t *Table) add(head string, cell func(row int) string) {
	cells := make([]string, len(t.Rows))
	for i := range cells {
		cells[i] = cell(i)
	}
	if !slices.ContainsFunc(cells, func(s string) bool { return s != absent }) {
		return
	}
	t.Heads = append(t.Heads, head)
	for i, c := range cells {
		t.Rows[i] = append(t.Rows[i], c)
	}
}

// Figures is all figures of the page.
func (p *Page) Figures() []figure.Figure {
	var all []figure.Figure
	for _, s := range p.Sections {
		all = append(all, s.Figures...)
	}
	return all
}

// fact adds a line on how the page came to be, if it is known.
func (p *Page) fact(name, value string) {
	if value != "" {
		p.Facts = append(p.Facts, [2]string{name, value})
	}
}

// note adds a line that a reader must know, once.
func (p *Page) note(lines ...string) {
	for _, line := range lines {
		if !slices.Contains(p.Notes, line) {
			p.Notes = append(p.Notes, line)
		}
	}
}

// section adds a part to the page, if there is anything in it.
func (p *Page) section(s Section) {
	if len(s.Figures) > 0 || s.Table != nil || s.Code != "" {
		p.Sections = append(p.Sections, s)
	}
}
