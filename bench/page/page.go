// Package page writes reports: one HTML file with its figures, tables and settings inside,
// that needs nothing from the net.
package page

import (
	"cmp"
	"math"
	"slices"

	"hogwild/bench"
	"hogwild/internal/figure"
)

// Page is a report.
type Page struct {
	Title    string
	About    string     // a sentence or two
	Facts    [][]string // machine, commit, time, command
	Notes    []string   // what is not fair or not significant
	Sections []Section

	of string // the run whose facts are added
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

// absent stands in a table for what was not measured.
const absent = "–"

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

// fact adds a line on how the page came to be, if it is known and not said; where something else is said, with the name
// of what it is of.
func (p *Page) fact(name, value string) {
	switch said := func(f []string) bool { return f[0] == name }; {
	case value == "" || slices.ContainsFunc(p.Facts, func(f []string) bool { return said(f) && f[1] == value }):
		return
	case slices.ContainsFunc(p.Facts, said):
		name += ", " + p.of
	}
	p.Facts = append(p.Facts, []string{name, value})
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

var nan = math.NaN()

// finite says whether x is a number that can be shown.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// value is NaN of what is not there.
func value(p *float64) float64 {
	if p == nil {
		return nan
	}
	return *p
}

// numberText is a number or nothing.
func numberText(x float64, text func(float64) string) string {
	if !finite(x) {
		return absent
	}
	return text(x)
}

// spreadText is the median of a list and, where there is one, its range.
func spreadText(list []bench.Number, text func(float64) string) string {
	return cmp.Or(bench.Summarize(list).Text(text), absent)
}
