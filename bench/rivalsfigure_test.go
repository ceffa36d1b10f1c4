package bench

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aclements/go-moremath/stats"

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

var drawnCases = []string{"mlp128-std", "mlp256", "fashion", "convnet", "a9a", "imdb"}

// times computes what the bars show, in another way than the script.
func times(t *testing.T, svg string) {
	var r rivals
	load(t, againstRivals, &r)
	if !strings.Contains(svg, "commit "+r.Commit) {
		t.Errorf("the commit is not %s", r.Commit)
	}
	show := func(s float64) string {
		if s >= 0.1 {
			return fmt.Sprintf("%.3g s", s)
		}
		return fmt.Sprintf("%.2g ms", 1000*s)
	}
	bars := 0
	for _, c := range r.Cases {
		ours, network := "one worker", len(c.Figures["hogwild"]) > 0
		if network {
			ours = "hogwild"
		}
		for _, rival := range []string{"PyTorch", "PyTorch plain", "plain C", "scikit-learn", "Vowpal Wabbit"} {
			if len(c.Figures[rival]) == 0 || !slices.Contains(drawnCases, c.Case) {
				continue
			}
			bars += 2
			mine, own := r.race(t, c.Case, ours, rival)
			loss := stats.Mean(c.Figures[rival].ends())
			want := fmt.Sprintf(">%s to test loss %.4f<", show(spreadOf(mine)[0]), loss)
			if math.IsInf(mine[0], 1) {
				want = fmt.Sprintf(">misses %.4f, ends at %.4f after ", loss, stats.Mean(c.Figures[ours].ends()))
			}
			for _, want := range []string{want, ">" + show(spreadOf(own)[0]) + "<"} {
				if !strings.Contains(svg, want) {
					t.Errorf("%s, %s: no %q", c.Case, rival, want)
				}
			}
		}
	}
	if got := strings.Count(svg, "<rect "); bars != got {
		t.Errorf("%d bars, and %d are wanted", got, bars)
	}
}
