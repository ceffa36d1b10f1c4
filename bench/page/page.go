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
	Heat  [][]float64 // of each cell from 0 to 1, of a heat map; nil for other tables
}

// column is a column of a table of things, as cases or runs.
type column[T any] struct {
	head string
	cell func(T) string
}

// table has a row for each thing, and those columns in which there is anything; nil
// without rows.
func table[T any](things []T, columns ...column[T]) *Table {
	if len(things) == 0 {
		return nil
	}
	t := &Table{Rows: make([][]string, len(things))}
	for _, c := range columns {
		var cells []string
		for _, thing := range things {
			cells = append(cells, c.cell(thing))
		}
		if !slices.ContainsFunc(cells, func(s string) bool { return s != absent }) {
			continue
		}
		t.Heads = append(t.Heads, c.head)
		for i, cell := range cells {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
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
