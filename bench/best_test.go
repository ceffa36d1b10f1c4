package bench

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestBest: the least median loss wins; ties are cases not shown to be worse, which with fewer than five repeats is
// all.
func TestBest(t *testing.T) {
	for _, c := range []struct {
		name   string
		losses [][]float64
		best   string
		ties   []string
	}{
		{"apart", [][]float64{{0.5, 0.51, 0.5, 0.52, 0.5}, {0.3, 0.31, 0.3, 0.31, 0.3}, {0.4, 0.41, 0.4, 0.42, 0.4}},
			"b", nil},
		{"as seeds go", [][]float64{{0.31, 0.21, 0.41, 0.52, 0.26}, {0.3, 0.2, 0.4, 0.505, 0.25}}, "b", nil},
		{"one is near", [][]float64{{0.5, 0.305, 0.29, 0.4, 0.31}, {0.3, 0.31, 0.3, 0.31, 0.3},
			{0.4, 0.41, 0.4, 0.42, 0.4}}, "b", []string{"a"}},
		{"few runs", [][]float64{{0.5, 0.5}, {0.3, 0.3}, {0.4, 0.4}}, "b", []string{"c", "a"}},
		{"one run", [][]float64{{0.310}, {0.300}, {0.4}}, "b", []string{"a", "c"}},
		{"diverged", [][]float64{{missing}, {0.300}, {0.4}}, "b", []string{"c"}},
		{"nothing", [][]float64{{missing}, {missing}}, "", nil},
		{"no choice", [][]float64{{0.3}}, "", nil},
	} {
		e := &Experiment{Kind: "sweep", Seeds: FirstSeeds(len(c.losses[0]))}
		for i, l := range c.losses {
			e.Cases = append(e.Cases, *having(TestLoss, l...))
			e.Cases[i].Name = string(rune('a' + i))
		}
		var b strings.Builder
		if err := e.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var read struct{ Best []Best }
		if err := json.Unmarshal([]byte(b.String()), &read); err != nil {
			t.Fatal(err)
		}
		text := e.BestText(e.of(""))
		if c.best == "" {
			if read.Best != nil || text != "" {
				t.Errorf("%s: %v, %q", c.name, read.Best, text)
			}
			continue
		}
		if len(read.Best) != 1 || read.Best[0].Case != c.best || !slices.Equal(read.Best[0].Ties, c.ties) {
			t.Errorf("%s: %+v, want %s and %q", c.name, read.Best, c.best, c.ties)
		}
		if !strings.HasPrefix(text, "Best: "+c.best+", test loss 0.3") ||
			strings.Contains(text, "Not told apart") != (c.ties != nil) {
			t.Errorf("%s: %q", c.name, text)
		}
		if few := strings.Contains(text, "that takes 5 repeats"); few != (len(e.Seeds) < leastRepeats) ||
			read.Best[0].Low > read.Best[0].TestLoss || read.Best[0].High < read.Best[0].TestLoss {
			t.Errorf("%s: %q, %+v", c.name, text, read.Best[0])
		}
		if e.Kind = "bench"; e.BestText(e.of("")) != "" || e.bests() != nil {
			t.Errorf("%s: a bench has a best case", c.name)
		}
	}
}
