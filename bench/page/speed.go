package page

import (
	"cmp"
	"fmt"
	"slices"

	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// byWorkers is a figure of a value of each case over the number of workers, a line for each
// variant.
func (g *group) byWorkers(f figure.Figure, list func(*bench.Measured) []bench.Number) figure.Figure {
	f.Name = anchor(g.part(f.Name))
	f.X = figure.Axis{Label: "worker processes"}
	for _, v := range g.variants {
		s := figure.Series{Name: v, Color: g.colors[v]}
		for _, c := range g.cases {
			if g.variant(c) == v {
				s.Points = append(s.Points, point(float64(c.Workers), list(c)))
			}
		}
		slices.SortStableFunc(s.Points, func(a, b figure.Point) int { return cmp.Compare(a.X, b.X) })
		f.Series = append(f.Series, s)
	}
	return f
}

// bars is the same with a bar for each number of workers and variant, side by side, so that
// ranges do not hide each other.
func (g *group) bars(f figure.Figure, list func(*bench.Measured) []bench.Number) figure.Figure {
	f = g.byWorkers(f, list)
	f.X = figure.Axis{Label: "worker processes", Names: g.counted()}
	f.Y.Zero, f.Y.Log = true, false
	for i, s := range f.Series {
		f.Series[i].Kind = figure.Bars
		for j, p := range s.Points {
			s.Points[j].X = g.place(int(p.X))
		}
	}
	return f
}

// point is the median of a list and its range, at x.
func point(x float64, list []bench.Number) figure.Point {
	s := bench.Summarize(list)
	if s.N == 0 {
		return figure.Point{X: x, Y: nan, Low: nan, High: nan}
	}
	return figure.Point{X: x, Y: s.Median, Low: s.Low, High: s.High}
}

// speed is how fast the cases are, and how much faster with more workers.
func (g *group) speed() []figure.Figure {
	return shown(g.speedUp(), g.bars(figure.Figure{
		Name: "rate", Title: within("Examples a second", g.name), Caption: g.repeats(),
		Y: figure.Axis{Label: "examples trained, 1/s", Zero: true},
	}, func(c *bench.Measured) []bench.Number { return c.ExamplesPerSecond }))
}

// repeats says what the points and bars of a figure are.
func (g *group) repeats() string {
	if len(g.e.Seeds) < 2 {
		return "One run each."
	}
	return "Median of " + human.Plural(len(g.e.Seeds), "repeat") + "; a thin line is the range."
}

// speedUp is nothing where one number of workers was measured: it is 1 then, or unknown.
func (g *group) speedUp() figure.Figure {
	if len(g.workers) < 2 {
		return figure.Figure{}
	}
	f := g.byWorkers(figure.Figure{
		Name: "speed-up", Title: within("Speed-up over one worker", g.name),
		Caption: g.repeats() + " Each repeat is compared with the run of one worker in the same turn.",
		Y:       figure.Axis{Label: "speed-up, times one worker", Zero: true},
	}, g.e.SpeedUp)
	most := float64(g.workers[len(g.workers)-1])
	top := most
	if cores := g.e.Machine.Cores; cores >= 1 && float64(cores) < most && g.cases[0].Config.GPU == "" {
		top = float64(cores)
		f.Caption += fmt.Sprintf(" The ideal ends at %s: there are no more.", human.Plural(cores, "core"))
	}
	ideal := figure.Series{Name: "ideal", Kind: figure.Ideal, Color: len(modes)}
	for _, n := range slices.Compact([]float64{1, top, most}) {
		ideal.Points = append(ideal.Points, figure.Point{X: n, Y: min(n, top)})
	}
	f.Series = append([]figure.Series{ideal}, f.Series...)
	return f
}
