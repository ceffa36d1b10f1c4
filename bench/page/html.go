package page

import (
	"bytes"
	"cmp"
	_ "embed" // the template and the style
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

//go:embed page.css
var style string

//go:embed page.html
var markup string

// Layout is a document around the body of a page.
type Layout struct {
	Title  string
	Style  template.CSS  // besides the style sheet of all pages
	Bar    template.HTML // above the body
	Body   template.HTML
	Script template.JS // "": the document forbids all scripts
}

// WriteHTML writes the document.
func (l Layout) WriteHTML(w io.Writer) error {
	l.Style = template.CSS(style) + l.Style
	return execute(w, "page", l)
}

// WriteHTML writes the page.
func (p *Page) WriteHTML(w io.Writer) error {
	body, err := p.Body()
	if err != nil {
		return err
	}
	return Layout{Title: p.Title, Body: body}.WriteHTML(w)
}

// Body returns what stands inside the page's main element: what a live page replaces.
func (p *Page) Body() (template.HTML, error) {
	var b bytes.Buffer
	if err := execute(&b, "body", p); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil
}

// execute parses the template each time: few pages are written, and a worker, which is
// this same program, writes none.
func execute(w io.Writer, name string, what any) error {
	t, err := template.New("page.html").Funcs(template.FuncMap{
		"svg": svg, "anchor": anchor, "numeric": numeric, "sentence": sentence, "ranged": ranged, "verdict": verdict,
	}).Parse(markup)
	if err == nil {
		err = t.ExecuteTemplate(w, name, what)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// svg is a figure as an element of the page. Package figure escapes its texts.
func svg(f figure.Figure) (template.HTML, error) {
	var b bytes.Buffer
	if err := f.SVG(&b); err != nil {
		return "", fmt.Errorf("figure %s: %w", f.Name, err)
	}
	return template.HTML(b.String()), nil
}

// anchor is a title as the name of a place or a file: letters, digits and dashes.
func anchor(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9')
	})
	return strings.Join(words, "-")
}

// verdict reports whether a cell is one, which has a colour.
func verdict(cell string) bool {
	return slices.Contains([]bench.Agreement{bench.Agrees, bench.Differs, bench.Undecided}, bench.Agreement(cell))
}

// ranged is a cell as its median and its range, which has a line of its own.
func ranged(cell string) [2]string {
	median, low, ok := strings.Cut(cell, " (")
	if !ok || !startsNumber(cell) {
		return [2]string{cmp.Or(cell, "–")}
	}
	return [2]string{median, strings.ReplaceAll(strings.Replace(low, ")", "", 1), " to ", " – ")}
}

// sentence says whether a cell is running text, which is broken into lines.
func sentence(cell string) bool { return len(cell) > 45 }

// numeric says which columns hold numbers, which are aligned on the right.
func numeric(t human.Table) []bool {
	columns := make([]bool, len(t.Heads))
	for i := range columns {
		columns[i] = i > 0
		for _, row := range t.Rows {
			if i < len(row) && !startsNumber(row[i]) {
				columns[i] = false
			}
		}
	}
	return columns
}

func startsNumber(cell string) bool {
	switch cell {
	case "", "equal", string(bench.Undecided), "not reached", "failed":
		return true
	}
	return strings.ContainsAny(cell[:1], "0123456789-+.<")
}
