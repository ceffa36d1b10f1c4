package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/internal/check"
)

// TestRivalsFigure: the picture is what its script draws from the committed results, and has their times.
func TestRivalsFigure(t *testing.T) {
	const drawn = "../docs/figures/rivals.svg"
	committed, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("times", func(t *testing.T) {
		times(t, string(committed))
	})
	t.Run("script", func(t *testing.T) {
		again := filepath.Join(t.TempDir(), "rivals.svg")
		out, err := exec.Command(check.Interpreter(t, "json"), "../docs/figures/rivals.py", again).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if now, err := os.ReadFile(again); err != nil || string(now) != string(committed) {
			t.Errorf("%s is not what rivals.py draws (%v): run docs/figures/rivals.py", drawn, err)
		}
	})
}

// times computes what the bars show, in another way than the script: a side that is at the target in most runs
// has a time, any other misses it.
func times(t *testing.T, svg string) {
	text, err := os.ReadFile("results/zen3-2core-rivals.json")
	if err != nil {
		t.Fatal(err)
	}
	type run struct{ To, Losses []float64 }
	var results struct {
		Commit string
		Cases  []struct {
			Case    string
			Target  float64
			Figures map[string][]run
		}
	}
	if err := json.Unmarshal(text, &results); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(svg, "commit "+results.Commit) {
		t.Errorf("the commit is not %s", results.Commit)
	}
	bars := 0
	for _, c := range results.Cases {
		for name, runs := range c.Figures {
			of := slices.Contains([]string{"mlp128", "mlp128-std", "example", "a9a", "imdb"}, c.Case)
			if !of || strings.Contains(name, "two") || strings.Contains(name, "2 threads") {
				continue
			}
			bars++
			at, hits := make([]float64, len(runs)), 0
			for i, r := range runs {
				at[i] = math.Inf(1)
				if n := slices.IndexFunc(r.Losses, func(l float64) bool { return l <= c.Target }); n >= 0 {
					at[i], hits = r.To[n], hits+1
				}
			}
			slices.Sort(at)
			want := fmt.Sprintf(">misses %.4f in %d of %d runs", c.Target, len(runs)-hits, len(runs))
			if middle := at[len(at)/2]; 2*hits > len(runs) && middle >= 0.1 {
				want = fmt.Sprintf(">%.3g s to test loss %.4f", middle, c.Target)
			} else if 2*hits > len(runs) {
				want = fmt.Sprintf(">%.2g ms to test loss %.4f", 1000*middle, c.Target)
			}
			if !strings.Contains(svg, want) {
				t.Errorf("%s, %s: no %q", c.Case, name, want)
			}
		}
	}
	if got := strings.Count(svg, "<rect "); bars != got {
		t.Errorf("%d bars, %d sides", got, bars)
	}
}
