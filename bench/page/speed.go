package page

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// figures are how the cases learned, how fast they were, how soon they came to the target, and how stale their updates
// were: of a sweep first the effect of each setting.
func (g *group) figures() []figure.Figure {
	if g.e.Kind == "sweep" {
		return append(shown(g.swept()...), g.leading()...)
	}
	p := g.panel()
	all := learned(p, aboutMedians)
	if len(g.variants) > tellApart {
		return all
	}
	if len(g.workers) > 1 { // at one number of workers there is no line: tables have the figures
		all = append(all, g.speedUp(),
			g.byWorkers("rate", "Throughput", "throughput, examples/s", bench.Rate.Of))
		if loss := g.cases[0].Target(); loss > 0 {
			f := g.byWorkers("time to target", "Training time to a test loss of "+human.Loss(loss),
				"training time to the target, s", bench.SecondsToTarget.Of)
			f.Caption += " No mark: the median run did not reach it; no range: some runs did not."
			all = append(all, f)
		}
	}
	return shown(append(all, staleness(p))...)
}

// byWorkers is a figure of what was measured over the number of workers, a line for each
// variant.
func (g *group) byWorkers(name, title, label string, of measure) figure.Figure {
	f := chart(g.name, name, title, aboutPoints, "worker processes", label)
	f.Y.Zero = true
	over(&f, g.cases, g.colors, of, func(c *bench.Measured) float64 { return float64(c.Workers) }, g.variant)
	return f
}

// speedUp draws the speed-up over one worker, and an ideal machine's with as many cores.
func (g *group) speedUp() figure.Figure {
	f := g.byWorkers("speed-up", "Speed-up over one worker", "speed-up, relative to one worker", g.e.SpeedUp)
	f.Caption += " Each repeat is compared with the one-worker run of the same round."
	most := float64(g.workers[len(g.workers)-1])
	top := most
	if cores := g.e.Machine.Cores; cores >= 1 && float64(cores) < most && g.cases[0].Config.GPU == "" {
		top = float64(cores)
		f.Caption += fmt.Sprintf(" The ideal line is flat beyond %s, all that the machine has.",
			human.Plural(cores, "core"))
	}
	ideal := figure.Series{Name: "ideal", Kind: figure.Ideal}
	for _, n := range slices.Compact([]float64{1, top, most}) {
		ideal.Points = append(ideal.Points, figure.Point{X: n, Y: min(n, top)})
	}
	f.Series = append([]figure.Series{ideal}, f.Series...)
	return f
}

// staleness is the histograms of a panel's cases: a point for 0 and one for each power of two, since shares of buckets
// compare only where these have the same widths.
func staleness(p panel) figure.Figure {
	const about = "Updates by other workers between a step's read of the weights and its write. " +
		"A mark for each of 0 (drawn at ½), 1, 2 to 3, 4 to 7 and so on."
	f := chart(p.part, "staleness", "Staleness of updates", about, "staleness, updates", "samples, %")
	f.X.Log, f.Y.Zero = true, true
	for _, c := range p.cases {
		var counts []float64
		total := 0.0
		for _, r := range c.Runs {
			if r.Result == nil || r.Result.Instruments == nil {
				continue
			}
			for _, s := range r.Result.StalenessHistogram {
				at := bits.Len64(s[0])
				counts = append(counts, make([]float64, max(0, at+1-len(counts)))...)
				counts[at] += float64(s[1])
				total += float64(s[1])
			}
		}
		line := figure.Series{Name: c.name, Color: c.color}
		for i, n := range counts {
			line.Points = append(line.Points, figure.Point{X: math.Ldexp(0.5, i), Y: 100 * n / total})
		}
		f.Series = append(f.Series, line)
	}
	return f
}
