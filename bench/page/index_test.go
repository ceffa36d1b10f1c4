package page

import (
	"strings"
	"testing"
)

// TestIndex: each cell is there as text, numbers have a key to sort by, names cannot be markup, and the filter is
// hidden until the script is there.
func TestIndex(t *testing.T) {
	var b strings.Builder
	x := Index{Title: "1 run in <b>", Heads: []string{"run", "loss"},
		Rows: [][]Entry{{{Text: "<i>a", Link: "a/report.html"}, {Text: "0.5000", Key: "0.5"}}}}
	if err := x.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<h1>1 run in &lt;b&gt;</h1>`, `<a href="a/report.html">&lt;i&gt;a</a>`,
		`<td class="n" data-key="0.5">0.5000</td>`, `<p hidden><label>Filter`, `addEventListener("click"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
