package page

import (
	"slices"

	"hogwild/bench"
	"hogwild/hogwild"
	"hogwild/internal/figure"
)

// learning is how the test loss and the other scores went with time and with examples.
func (g *group) learning() (all []figure.Figure) {
	for _, p := range g.panels() {
		all = append(all, curves(p, "Of each case the repeat whose training took the median time; a mark is the end of an epoch.")...)
	}
	return all
}

// curves is a figure for each score that the cases of a panel have, against time and
// against examples.
func curves(p panel, caption string) (all []figure.Figure) {
	var tracks []track
	for _, c := range p.cases {
		tracks = append(tracks, track{c.name, c.color, median(c.Measured)})
	}
	for _, s := range append([]score{testLoss}, quality...) {
		for _, a := range []axis{againstTime, againstExamples} {
			all = append(all, curve(s, a, p.part, caption, tracks))
		}
	}
	return shown(all...)
}

// median is the history of the repeat whose training took the median time.
func median(c *bench.Measured) []hogwild.EpochResult {
	var all [][]hogwild.EpochResult
	for _, h := range c.Histories {
		if len(h) > 0 {
			all = append(all, h)
		}
	}
	if len(all) == 0 {
		return nil
	}
	end := func(h []hogwild.EpochResult) float64 { return h[len(h)-1].Seconds }
	slices.SortStableFunc(all, func(a, b []hogwild.EpochResult) int {
		switch {
		case end(a) < end(b):
			return -1
		case end(a) > end(b):
			return 1
		}
		return 0
	})
	return all[(len(all)-1)/2]
}

// target is the test loss to which the group's times are taken; NaN if there is none.
func (g *group) target() float64 {
	for _, c := range g.cases {
		if t := float64(c.Target); finite(t) && t != 0 {
			return t
		}
	}
	return nan
}

// toTarget is the time and the epochs to the target, bars for each number of workers.
func (g *group) toTarget() []figure.Figure {
	loss := g.target()
	if !finite(loss) {
		return nil
	}
	repeats := "Median of " + plural(len(g.e.Seeds), "repeat") + "; the lines on the bars are the range. A case that did not get there has no bar."
	to := " to a test loss of " + lossText(loss)
	return shown(
		g.bars(g.byWorkers(figure.Figure{
			Name: "time-to-target", Title: within("Training time"+to, g.name), Caption: repeats,
			Y: figure.Axis{Label: "training time to the target, s"},
		}, func(c *bench.Measured) []bench.Number { return c.SecondsToTarget })),
		g.bars(g.byWorkers(figure.Figure{
			Name: "epochs-to-target", Title: within("Epochs"+to, g.name), Caption: repeats,
			Y: figure.Axis{Label: "epochs to the target"},
		}, func(c *bench.Measured) []bench.Number { return c.EpochsToTarget })),
	)
}
