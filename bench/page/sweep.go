package page

import (
	"fmt"
	"math"
	"slices"

	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// wild is how many times the median loss a case ends at that is not drawn: no axis shows it and the others too.
const wild = 100

// tenfold are rates and penalties: what is tried of them differs by factors.
var tenfold = []string{"lr", "lr-min", "l1", "l2", "bias-step", "outer-lr", "target-gap"}

// lossBy is the test loss of cases over one field, a line for each name.
func (g *group) lossBy(field, caption string, cases []*bench.Measured,
	name func(*bench.Measured) string) figure.Figure {
	label := "--" + field
	switch field {
	case "workers":
		label = "worker processes"
	case "lr":
		label = "learning rate, --lr"
	}
	f := chart(g.name, "loss by "+field, "Test loss by "+field, caption, label,
		"test loss at the end, mean per example")
	x := func(c *bench.Measured) float64 { return number(valueOf(c, field)) }
	over(&f, cases, painter{}, bench.TestLoss.Of, x, name)
	low, high, zero := math.Inf(1), 0.0, false
	for _, c := range cases {
		if v := x(c); v == 0 {
			zero = true
		} else {
			low = min(low, v)
		}
		high = max(high, x(c))
	}
	tried := slices.Contains(tenfold, field) // by factors, whether 0 is among them or not
	f.X.Log = low > 0 && high >= low && (high >= 20*low && !zero || tried && (zero || high >= 5*low))
	if f.X.Log && zero {
		f.X.Least = low
	}
	f.Y.Log = decades(f) >= 1.5
	return f
}

// swept is the test loss over each field of numbers that was swept, a line for each choice of the others: of more than
// can be told apart those with the least losses.
func (g *group) swept() (all []figure.Figure) {
	var losses []float64
	for _, c := range g.cases {
		losses = append(losses, bench.Summarize(bench.TestLoss.Of(c)).Median)
	}
	most, caption := wild*bench.Summarize(losses).Median, aboutPoints
	cases := slices.DeleteFunc(bench.ByLoss(g.cases),
		func(c *bench.Measured) bool { return bench.Summarize(bench.TestLoss.Of(c)).High > most })
	if out := len(g.cases) - len(cases); out > 0 {
		caption += fmt.Sprintf(" Not shown: %s with a loss beyond %d times the median (diverged runs).",
			human.Plural(out, "case"), wild)
	}
	for _, field := range g.fields {
		if slices.ContainsFunc(g.cases,
			func(c *bench.Measured) bool { return !human.Finite(number(valueOf(c, field))) }) {
			continue
		}
		name := func(c *bench.Measured) string { return g.without(c, field) }
		var names []string
		for _, c := range cases {
			if n := name(c); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		if len(names) == len(cases) {
			continue // a point each: nothing goes along this field
		}
		about := caption
		if n := len(names); n > tellApart {
			names = names[:tellApart]
			about += fmt.Sprintf(" Shows the %d lines with the lowest losses, of %d.", tellApart, n)
		}
		all = append(all, g.lossBy(field, about, slices.DeleteFunc(slices.Clone(cases), func(c *bench.Measured) bool {
			return !slices.Contains(names, name(c))
		}), name))
	}
	return all
}

// leading is how the cases learned that ended with the least test loss: as many as curves
// can be told apart, and none that ended so far from the best that it would press the others
// together.
func (g *group) leading() []figure.Figure {
	p := panel{part: g.name}
	cases := bench.ByLoss(g.cases)
	end := func(c *bench.Measured) float64 { return bench.Summarize(bench.TestLoss.Of(c)).Median }
	for i, c := range cases[:min(len(cases), tellApart)] {
		if i > 0 && !(end(c) <= 20*end(cases[0])) {
			break
		}
		p.cases = append(p.cases, entry{c.Name, i, c})
	}
	caption := aboutMedians
	if few, all := len(p.cases), len(cases); few < all {
		caption += fmt.Sprintf(" Shows the %d cases with the lowest test loss, of %d.", few, all)
	}
	return learned(p, caption)
}
