package bench

import (
	"strings"
	"testing"

	"hogwild/internal/human"
)

// TestClaimsOfThePaper: claims.yaml has the figures of the paper's tables and curves.
func TestClaimsOfThePaper(t *testing.T) {
	format := func(x float64, text func(float64) string) string {
		if human.Finite(x) {
			return text(x)
		}
		return "-"
	}
	n := 0
	for _, c := range claims() {
		s := publishedSet(c.In)
		if s == nil {
			continue
		}
		n++
		of := func(name string) string {
			method := strings.TrimSuffix(name, "-*")
			switch {
			case c.Figure == "speed-up" && name == "async-1":
				return "1.00"
			case c.Figure == "speed-up":
				return format(s.at(method, 10), human.Factor)
			case method == methodAIG:
				return "-"
			}
			by := map[string]PublishedRun{methodHogwild: s.Hogwild, methodRR: s.RoundRobin}
			return format(by[method].Test, human.Loss)
		}
		if want := of(c.a) + ", " + of(c.b); c.Published != want {
			t.Errorf("%s, %s: %s, published is %s", c.In, c.Claim, c.Published, want)
		}
	}
	if n != 6*len(PublishedSets) {
		t.Errorf("%d claims of %d sets", n, len(PublishedSets))
	}
}
