// Package page writes reports: one HTML file with its figures, tables and settings inside,
// that needs nothing from the net.
package page

import (
	"html/template"
	"io"

	"hogwild/bench"
	"hogwild/hogwild"
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

// Table is a table: the first column names the rows; numbers are aligned on the right.
type Table struct {
	Heads []string
	Rows  [][]string
}

// OfExperiment is the report of a bench, a sweep or a reproduction.
func OfExperiment(e *bench.Experiment) *Page { panic("not yet") }

// OfRuns is the report of runs, beside each other if there are several.
func OfRuns(runs []*hogwild.Recorded) *Page { panic("not yet") }

// WriteHTML writes the page.
func (p *Page) WriteHTML(w io.Writer) error { panic("not yet") }

// Body is what stands inside the page's main element: what a live page replaces.
func (p *Page) Body() (template.HTML, error) { panic("not yet") }

// Figures is all figures of the page.
func (p *Page) Figures() []figure.Figure { panic("not yet") }
