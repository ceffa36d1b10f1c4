package tune

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run"
)

// TestCapped: one block of a hundred has at most a tenth of the sum, or as much as the next.
func TestCapped(t *testing.T) {
	for _, x := range []struct{ blocks, want []float64 }{
		{[]float64{5}, []float64{5}},
		{[]float64{100, 1, 2}, []float64{2, 1, 2}},
		{append(slices.Repeat([]float64{1}, 99), 1e9), append(slices.Repeat([]float64{1}, 99), 11)},
		{append(slices.Repeat([]float64{1}, 99), 9), append(slices.Repeat([]float64{1}, 99), 9)},
		{append(slices.Repeat([]float64{0}, 96), 4, 4, 3, 4), append(slices.Repeat([]float64{0}, 96), 4, 4, 3, 4)},
		{append(slices.Repeat([]float64{1}, 198), 1e6, 1e9), append(slices.Repeat([]float64{1}, 198), 24.75, 24.75)},
	} {
		got := capped(slices.Clone(x.blocks))
		for i := range got {
			if math.Abs(got[i]-x.want[i]) > 1e-6 {
				t.Errorf("%v became %v", x.blocks, got)
				break
			}
		}
	}
}

// TestChoice: of rates that cannot be told apart the smallest is taken, and the line says so.
func TestChoice(t *testing.T) {
	blocks := func(lr, loss, spread float64, seed uint64) Trial { // eight blocks, half of them spread above the loss
		tr := Trial{LR: lr, Loss: loss, Seed: seed, long: true}
		for i := range 8 {
			tr.blocks = append(tr.blocks, loss+spread*float64(2*(i%2)-1))
		}
		return tr
	}
	// The blocks' differences are .02 +- .01, so that their mean has the error .01 sqrt(8/7)/sqrt(8); the seeds' are
	// .01 and .03.
	a := []Trial{blocks(.2, .52, .02, 0), blocks(.2, .54, .02, 1)}
	b := []Trial{blocks(.1, .51, .01, 0), blocks(.1, .51, .01, 1)}
	if by, sigma := worse(a, b); math.Abs(by-.02) > 1e-12 || math.Abs(sigma-math.Hypot(.01/math.Sqrt(7), .01)) > 1e-12 {
		t.Errorf("worse by %g +- %g", by, sigma)
	}
	// Of three seeds one that is far off counts as twice the middle one, and a set of rows may lack a block.
	c := []Trial{blocks(.5, 9, 0, 0), blocks(.5, 1, 0, 1), blocks(.5, 3, 0, 2)}
	d := []Trial{blocks(.1, 3, 0, 0), blocks(.1, 1, 0, 1), blocks(.1, 2, 0, 2)}
	c[1].blocks, d[1].blocks = c[1].blocks[1:], d[1].blocks[1:]
	if by, sigma := worse(c, d); math.Abs(by-4./3) > 1e-12 || math.Abs(sigma-math.Sqrt(7./9)) > 1e-12 {
		t.Errorf("a seed far off: worse by %g +- %g", by, sigma)
	}
	if by, _ := worse([]Trial{{Loss: math.Inf(1)}}, b[:1]); !math.IsInf(by, 1) {
		t.Errorf("a rate that diverged is worse by %g", by)
	}
	if by, sigma := worse([]Trial{{Loss: 3, blocks: []float64{3}}},
		[]Trial{{Loss: 2, blocks: []float64{2}}}); by != 1 || by > sigma {
		t.Errorf("one row tells %g +- %g", by, sigma)
	}
	for _, x := range []struct {
		name   string
		trials []Trial
		lr     float64
		says   string
	}{
		{"told apart", []Trial{blocks(.1, .60, .001, 0), blocks(.2, .50, .001, 0), blocks(.5, .58, .001, 0)}, .2,
			": loss 0.5000 on 2 rows held out; the next, lr 0.5, has 0.08 +- 0 more"},
		{"alike", []Trial{blocks(.1, .502, .05, 0), blocks(.2, .500, .01, 0)}, .1,
			"; could not tell it from lr 0.2: losses 0.5020 and 0.5000, +- 0.015, on 2 rows held out"},
		{"alike though far apart", []Trial{blocks(.1, .52, .1, 0), blocks(.2, .50, .01, 0)}, .1,
			"; could not tell it from lr 0.2: losses 0.5200 and 0.5000, +- 0.034, on 2 rows held out"},
		{"two smaller ones",
			[]Trial{blocks(.05, .503, .05, 0), blocks(.1, .502, .05, 0), blocks(.2, .500, .01, 0)}, .1,
			"; could not tell it from lr 0.2"},
		{"alike to the larger",
			[]Trial{blocks(.1, .50, .01, 0), blocks(.2, .502, .05, 0), blocks(.05, .58, .01, 0)}, .1,
			"; could not tell it from lr 0.2"},
		{"seeds", []Trial{blocks(.2, .50, .001, 0), blocks(.2, .51, .001, 1),
			blocks(.5, .60, .002, 0), blocks(.5, .61, .001, 1)}, .2,
			"(0.5000 to 0.5100 by 2 seeds); the next, lr 0.5, has 0.1 +-"},
		{"alone", []Trial{blocks(.1, .5, .001, 0)}, .1, "no other rate is known to be stable"},
	} {
		c := configtest.Dense()
		tr := &tuner{data: []*run.Lender{{}}, held: []*heldRows{{all: 2}}, long: c, trials: x.trials}
		if best, how := tr.choice(); best.LR != x.lr || !strings.Contains(how, x.says) {
			t.Errorf("%s: lr %g%s", x.name, best.LR, how)
		}
	}
}
