package human

import (
	"testing"

	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"lr", "", 2}, {"epoch", "epochs", 1}, {"trian", "train", 2},
		{"kitten", "sitting", 3}, {"sunday", "saturday", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestDistanceIsAMetric checks what holds of any distance, on random words.
func TestDistanceIsAMetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		if (distance(a, b) == 0) != (a == b) {
			t.Fatalf("distance(%q, %q) = %d", a, b, distance(a, b))
		}
		if distance(a, b) != distance(b, a) {
			t.Fatalf("distance(%q, %q) differs from its reverse", a, b)
		}
		if distance(a, c) > distance(a, b)+distance(b, c) {
			t.Fatalf("%q is nearer to %q by way of %q", a, c, b)
		}
	})
}

func TestSuggest(t *testing.T) {
	names := []string{"epochs", "lr", "l1", "l2", "average-every"}
	for word, want := range map[string]string{
		"epoch":       "; did you mean --epochs?",
		"averge-evry": "; did you mean --average-every?",
		"learning":    "",
		"xy":          "",
		"":            "",
	} {
		if got := Suggest("--", word, names); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, want)
		}
	}
}
