package page

import (
	"cmp"
	"fmt"
	"slices"

	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

const aboutMedians = "Medians of the repeats at the end of each epoch."

// figures are how the cases learned, how fast they were, how soon they came to the target, and how stale their updates
// were: of a sweep first the effect of each setting.
func (g *group) figures() []figure.Figure {
	if g.e.Kind == "sweep" {
		return shown(append(g.swept(), g.leading()...)...)
	}
	p := g.panel()
	all := curves(p, aboutMedians, drawn...)
	if len(g.variants) <= tellApart {
		all = append(all, g.speedUp(), g.bars("rate", "Throughput", g.repeats(), "throughput, examples/s", rate), g.toTarget(), staleness(p))
	}
	return shown(all...)
}

// toTarget is the time to the target.
func (g *group) toTarget() figure.Figure {
	if !finite(g.target()) {
		return figure.Figure{}
	}
	return g.bars("time-to-target", "Training time to a test loss of "+human.Loss(g.target()),
		g.repeats()+" No bar: the case did not reach it.", "training time to the target, s", secondsToTarget)
}

// byWorkers is a figure of what was measured over the number of workers, a line for each
// variant.
func (g *group) byWorkers(name, title, caption, label string, of measure) figure.Figure {
	f := chart(g.name, name, title, caption, "worker processes", label)
	f.Y.Zero = true
	for _, v := range g.variants {
		s := figure.Series{Name: v, Color: g.colors[v]}
		for _, c := range g.cases {
			if g.variant(c) == v {
				s.Points = append(s.Points, point(float64(c.Workers), of(c)))
			}
		}
		slices.SortStableFunc(s.Points, func(a, b figure.Point) int { return cmp.Compare(a.X, b.X) })
		f.Series = append(f.Series, s)
	}
	return f
}

// bars is the same with a bar for each number of workers and variant, side by side, so that
// ranges do not hide each other.
func (g *group) bars(name, title, caption, label string, of measure) figure.Figure {
	f := g.byWorkers(name, title, caption, label, of)
	for _, n := range g.workers {
		f.X.Names = append(f.X.Names, fmt.Sprint(n))
	}
	for i, s := range f.Series {
		f.Series[i].Kind = figure.Bars
		for j, p := range s.Points {
			s.Points[j].X = float64(slices.Index(g.workers, int(p.X)))
		}
	}
	return f
}

// point is the median of a list and its range, at x.
func point(x float64, list []bench.Number) figure.Point {
	s := bench.Summarize(list) // of nothing: all NaN
	return figure.Point{X: x, Y: s.Median, Low: s.Low, High: s.High}
}

// repeats says what the points and bars of a figure are.
func (g *group) repeats() string {
	if len(g.e.Seeds) < 2 {
		return aboutRanges(g.e)
	}
	return "Median of " + human.Plural(len(g.e.Seeds), "repeat") + ". Thin line: range."
}

// speedUp is nothing where one number of workers was measured: it is 1 then, or unknown.
func (g *group) speedUp() figure.Figure {
	if len(g.workers) < 2 {
		return figure.Figure{}
	}
	f := g.byWorkers("speed-up", "Speed-up over one worker",
		g.repeats()+" Each repeat is compared with the one-worker run of the same round.", "speed-up, relative to one worker", g.e.SpeedUp)
	most := float64(g.workers[len(g.workers)-1])
	top := most
	if cores := g.e.Machine.Cores; cores >= 1 && float64(cores) < most && g.cases[0].Config.GPU == "" {
		top = float64(cores)
		f.Caption += fmt.Sprintf(" The ideal line is flat beyond %s, all that the machine has.", human.Plural(cores, "core"))
	}
	ideal := figure.Series{Name: "ideal", Kind: figure.Ideal, Color: len(modes)}
	for _, n := range slices.Compact([]float64{1, top, most}) {
		ideal.Points = append(ideal.Points, figure.Point{X: n, Y: min(n, top)})
	}
	f.Series = append([]figure.Series{ideal}, f.Series...)
	return f
}
