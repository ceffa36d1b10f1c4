// Package page writes reports: one HTML file with its figures, tables and settings inside,
// that needs nothing from the net.
//
//	index.go       a table of many runs
//	runs.go        the report of runs
//	training.go    how runs learned, how fast they were, how stale their updates
//	outcome.go     what runs came to
//	experiment.go  the report of a bench, a sweep or a reproduction
//	speed.go       how fast cases were
//	sweep.go       what a sweep shows of each setting
//	paper.go       what is published, and what was measured
//	curves.go      numbers of epochs as curves
//	group.go       cases that are compared
//	html.go        a page
//	compare.go     in what runs differ
//	page.go        Page: its figures, tables and settings
//	run.go         a run of several
package page

import (
	"math"
	"slices"

	"hogwild/internal/figure"
	"hogwild/internal/human"
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
	Table   *human.Table
	Code    string // settings, or how to repeat it: preformatted
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

// value is NaN of what is not there.
func value(p *float64) float64 { return float64(human.NumberOf(p)) }
