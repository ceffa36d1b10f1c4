package page

import (
	"bytes"
	_ "embed" // the script
	"html/template"
	"io"

	"hogwild/internal/figure"
)

//go:embed index.js
var indexScript string

// Index is a page with a table of many runs, which its script sorts and filters; without scripts it is the table.
type Index struct {
	Title string
	Heads []string
	Rows  [][]Entry
}

// Entry is a cell of an Index.
type Entry struct {
	Text string
	Key  string // a number by which rows are sorted; "": they are by Text
	Link string // "": none
}

// Figures is none.
func (x *Index) Figures() []figure.Figure { return nil }

// WriteHTML writes the page.
func (x *Index) WriteHTML(w io.Writer) error {
	var b bytes.Buffer
	if err := execute(&b, "index", x); err != nil {
		return err
	}
	return Layout{Title: x.Title, Body: template.HTML(b.String()), Script: template.JS(indexScript)}.WriteHTML(w)
}
