package human

import (
	"strings"
	"testing"
)

// TestFit: no line is wider than the terminal, no word is lost or moved before another, and what belongs to a label or
// a table stays below it.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		columns        int
		text, becoming string
	}{
		{30, "short\n\nlines\n", "short\n\nlines\n"},
		{30, "note: the first line of it names the columns\n", "note: the first line of it\n  names the columns\n"},
		{30, "staleness   mean 39.2, p99 448; 82% in conflict",
			"staleness   mean 39.2, p99\n            448; 82% in\n            conflict"},
		{30, "epochs      10, 600,000 examples\ntraining    0.27 s, 2.25 M examples/s",
			"epochs      10, 600,000\n            examples\ntraining    0.27 s, 2.25 M\n            examples/s"},
		{30, "- a bullet that is longer than the screen", "- a bullet that is longer than\n  the screen"},
		{30, "- a bullet that was broken for\n  another width", "- a bullet that was broken for\n  another width"},
		{40, "- a bullet that\n  was broken for another width\n- b",
			"- a bullet that was broken for another\n  width\n- b"},
		{30, "  an indented line that is too long for it", "  an indented line that is too\n  long for it"},
		{30, "a " + strings.Repeat("/long", 10), "a\n  " + strings.Repeat("/long", 10)},
		{30, Next + "hogwild eval runs/one that is not broken", Next + "hogwild eval runs/one that is not broken"},
		{30, "RUN       DATA    MODEL    TEST LOSS  STATE\nfirst     digits  softmax  0.2853     done\nsecond    a9a " +
			"    hinge    0.3        done, resumable",
			"RUN       DATA    MODEL\n    TEST LOSS  STATE\nfirst     digits  softmax\n    0.2853     done\nsecond   " +
				" a9a     hinge\n    0.3        done, resumable"},
		{10, strings.Repeat("word ", 20), strings.Repeat("word ", 20)},
	} {
		got := Fit(c.text, c.columns)
		if got != c.becoming {
			t.Errorf("%d columns: %q becomes\n%s\nwant\n%s", c.columns, c.text, got, c.becoming)
		}
	}
	table := strings.Repeat("one  two  three  four  five  six  seven  eight  nine\n", 3)
	for columns := 20; columns < 70; columns++ {
		got := Fit(table, columns)
		for line := range strings.Lines(got) {
			if len(strings.TrimRight(line, "\n")) > columns {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
		if a, b := strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(table), " "); columns >= 56 &&
			a != b {
			t.Errorf("%d columns: %q", columns, got)
		}
	}
}

// TestShown: what is no terminal gets the text as it is, whatever its width.
func TestShown(t *testing.T) {
	var b strings.Builder
	if long := "warning     " + strings.Repeat("long ", 50); Shown(&b, long) != long || Terminal(&b) != nil {
		t.Error("a buffer has a width")
	}
}
