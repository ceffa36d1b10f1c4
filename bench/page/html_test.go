package page

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// whole writes a page and checks what holds for every page; it returns the text.
func whole(t *testing.T, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	places, links := map[string]int{}, map[string]bool{}
	for _, e := range elements(t, b.String()) {
		switch e.Name.Local {
		case "script", "iframe", "object", "embed", "link", "img", "image", "use", "base", "form":
			t.Errorf("the page has a %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			switch {
			case a.Name.Local == "id":
				places[a.Value]++
			case a.Name.Local == "href" && strings.HasPrefix(a.Value, "#"):
				links[a.Value[1:]] = true
			default:
				selfContained(t, e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
	for place, n := range places {
		if n > 1 {
			t.Errorf("%d places are called %q", n, place)
		}
	}
	for link := range links {
		if places[link] == 0 {
			t.Errorf("a link leads to %q, which is nowhere", link)
		}
	}
	for _, f := range p.Figures() {
		labelled(t, f)
	}
	return b.String()
}

// elements returns what a parser finds in a page; style sheets may load nothing.
func elements(t *testing.T, text string) (all []xml.StartElement) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	inside := ""
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("the page cannot be parsed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			all = append(all, token.Copy())
			inside = token.Name.Local
		case xml.EndElement:
			inside = ""
		case xml.CharData:
			if s := string(token); inside == "style" && (strings.Contains(s, "url(") ||
				strings.Contains(s, "@import")) {
				t.Errorf("a style sheet loads something: %s", s)
			}
		}
	}
}

// selfContained refuses attributes by which a browser loads or runs something.
func selfContained(t *testing.T, element, attribute, value string) {
	t.Helper()
	switch attribute {
	case "src", "href", "action", "data", "srcset", "poster":
		t.Errorf("%s of a %s is %q", attribute, element, value)
	}
	if strings.HasPrefix(attribute, "on") || strings.Contains(value, "url(") {
		t.Errorf("%s of a %s runs or loads %q", attribute, element, value)
	}
}

// labelled checks that both axes say what they show: a unit after a comma, or a count or another
// number without a unit.
func labelled(t *testing.T, f figure.Figure) {
	t.Helper()
	counts := []string{"worker processes", "worker rank", "staleness, updates", "examples trained", "epoch",
		"epochs to the target", "learning rate", "test R²", "validation R²", "case"}
	for _, label := range []string{f.X.Label, f.Y.Label} {
		named := strings.Contains(label, ", ") || strings.HasPrefix(label, "--")
		for _, c := range counts {
			named = named || label == c
		}
		if !named {
			t.Errorf("%s: %q names no unit", f.Name, label)
		}
	}
	if f.Title == "" || f.Name == "" || f.Caption == "" {
		t.Errorf("figure %q, %q has no name, title or caption", f.Name, f.Title)
	}
}

func TestPageIsWhole(t *testing.T) {
	e := handmade()
	e.Notes = []string{"more workers than cores"}
	text := whole(t, OfExperiment(e))
	for _, want := range []string{
		"<h1>hogwild bench: modes</h1>", "A Processor, 2 cores", "8.0 GiB", "0.1.0, commit 0123456789ab",
		"2026-11-22 10:30 UTC",
		"more workers than cores", "hogwild bench --modes async,sync",
		"hogwild train --data digits --mode sync --workers 4",
		"prefers-color-scheme: dark", `<figure id="speed-up">`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestNamesAreText has names that would be markup.
func TestNamesAreText(t *testing.T) {
	const name = `<script>alert("1")</script><img src=x onerror=y>`
	e := handmade()
	e.Name, e.About, e.Command, e.Notes = name, name, name, []string{name}
	e.Machine.CPU = name
	for i := range e.Cases {
		c := &e.Cases[i]
		c.Name, c.Group, c.Config.Data = name, name, name
		c.Settings[0].Value, c.Runs[0].Failed = name, name
		c.Settings = append(c.Settings, e.Cases[i].Settings[0])
		c.Settings[len(c.Settings)-1].Flag = "test" + strings.Repeat("x", i%2) // varies: in names of variants
	}
	text := whole(t, OfExperiment(e))
	if !strings.Contains(text, "&lt;script&gt;") {
		t.Error("the name is not there")
	}
}

// TestRangesHaveALine: a range stands below its median, verdicts have a class, and a cell in words stays as it is.
func TestRangesHaveALine(t *testing.T) {
	text := whole(t,
		&Page{Title: "t",
			Sections: []Section{{Title: "s", Table: &human.Table{Heads: []string{"a", "b", "c"}, Rows: [][]string{
				{"x", "0.4739 (0.4703 to 0.4758)", "agrees"}, {"y", "1.00", "differs"}}}}}})
	for _, want := range []string{`<td class="n">0.4739<small>0.4703 – 0.4758</small></td>`, `<td class="n">1.00</td>`,
		`<td class="agrees">agrees</td>`, `<td class="differs">differs</td>`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

func TestFiguresAreDrawn(t *testing.T) {
	p := OfExperiment(handmade())
	if n := len(p.Figures()); n < 5 || n > 8 {
		t.Fatalf("%d figures: eight say what there is to say", n)
	}
	names := map[string]bool{}
	for _, f := range p.Figures() {
		if names[f.Name] {
			t.Errorf("two figures are called %s", f.Name)
		}
		names[f.Name] = true
		if err := f.SVG(io.Discard); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	empty := &Page{Title: "nothing"}
	if text := whole(t, empty); !strings.Contains(text, "<h1>nothing</h1>") {
		t.Error("an empty page has no title")
	}
}
