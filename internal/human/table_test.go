package human

import "testing"

// TestTable has tables as a person would write them.
func TestTable(t *testing.T) {
	rows := [][]string{{"a", "", "µµµ"}, {"bb", "12345", "x"}, {"c"}}
	for _, c := range []struct{ got, want string }{
		{Aligned(rows), "a          µµµ\nbb  12345  x\nc\n"},
		{AlignedRight([][]string{{"a", "", "µµµ"}, {"bb", "12345", "x"}}), "a          µµµ\nbb  12345    x\n"},
		{(&Table{Rows: [][]string{{"a", "1"}, {"bb", "2"}}}).Text(80), "a   1\nbb  2\n"},
		// Columns for which there is no room come below, each behind the names; one that is too wide has a table of its
		// own.
		{(&Table{Heads: []string{"run", "aaa", "bbb", "wide as it is"}, Rows: [][]string{{"1", "x", "y", "z"}}}).Text(
			13),
			"run  aaa  bbb\n1    x    y\n\nrun  wide as it is\n1    z\n"},
		{(&Table{}).Text(80), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestTableOf: a column without a text in any row is left out.
func TestTableOf(t *testing.T) {
	text := func(s string) func(int) string {
		return func(i int) string { return s[i : i+1] }
	}
	none := func(int) string { return "" }
	if got := TableOf([]int{0, 1}, Col("n", text("ab")), Col("none", none),
		Col("m", text("xy"))).Text(80); got != "n  m\na  x\nb  y\n" {
		t.Errorf("%q", got)
	}
	if got := TableOf(nil, Col("n", text("ab"))); got != nil {
		t.Errorf("a table of nothing: %v", got)
	}
}
