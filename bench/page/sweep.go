package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// final is what a case comes to, for figures over the fields that were swept.
type final struct {
	name, title, label string
	of                 measure
}

// finals are the scores at the end, and the speed.
func finals() (all []final) {
	for _, s := range drawn {
		f := final{s.name, s.title, strings.Replace(s.label, ",", " at the end,", 1), s.end}
		if s.name == "accuracy" {
			f.of = func(c *bench.Measured) (all []bench.Number) {
				for _, x := range s.end(c) {
					all = append(all, 100*x)
				}
				return all
			}
		}
		all = append(all, f)
	}
	return append(all, final{"rate", "Throughput", "throughput, examples/s", rate})
}

// swept is the finals over each field of numbers that was swept, a series for each choice of
// the others. Where these are more than can be told apart, a series is a value of the next
// field, and the rest is held at the values of the best case.
func (g *group) swept() (all []figure.Figure) {
	for i, field := range g.fields {
		if slices.ContainsFunc(g.cases, func(c *bench.Measured) bool { return !finite(number(valueOf(c, field))) }) {
			continue
		}
		by := slices.Delete(slices.Clone(g.fields), i, i+1)
		cases, held := g.cases, ""
		if choices(cases, by) > tellApart {
			by = []string{g.fields[(i+1)%len(g.fields)]}
			cases, held = g.slice(field, by[0])
		}
		if choices(cases, by) == len(cases) {
			continue // a point each: nothing goes along this field
		}
		for _, f := range finals() {
			all = append(all, over(cases, f, field, by, g.name, held))
		}
	}
	return shown(all...)
}

// choice is what a case says itself of some fields, in words; if that is nothing, what it has.
func choice(c *bench.Measured, fields []string) string {
	var said, has []string
	for _, f := range fields {
		if v := setting(c.Settings, f); v != "" {
			said = append(said, f+" "+v)
		}
		has = append(has, f+" "+valueOf(c, f))
	}
	if len(said) == 0 {
		said = has
	}
	return strings.Join(said, ", ")
}

// choices is how many different ones the cases make.
func choices(cases []*bench.Measured, fields []string) int {
	different := map[string]bool{}
	for _, c := range cases {
		different[choice(c, fields)] = true
	}
	return len(different)
}

// number is a value as a number, of a duration its seconds; NaN if it is neither.
func number(value string) float64 {
	if x, err := strconv.ParseFloat(value, 64); err == nil {
		return x
	}
	if d, err := time.ParseDuration(value); err == nil {
		return d.Seconds()
	}
	return nan
}

// slice is the cases that have the best case's values in all fields but two, and these
// values in words.
func (g *group) slice(field, next string) (cases []*bench.Measured, held string) {
	best := bench.ByLoss(g.cases)[0]
	if !finite(bench.Summarize(best.TestLoss).Median) {
		return g.cases, ""
	}
	var words []string
	cases = slices.Clone(g.cases)
	for _, f := range g.fields {
		if f == field || f == next {
			continue
		}
		v := valueOf(best, f)
		words = append(words, f+" "+v)
		cases = slices.DeleteFunc(cases, func(c *bench.Measured) bool { return valueOf(c, f) != v })
	}
	if len(words) > 0 {
		held = " With " + strings.Join(words, ", ") + ", as in the best case."
	}
	return cases, held
}

// over is a figure of what cases come to, over one field, by others.
func over(cases []*bench.Measured, what final, field string, by []string, part, held string) figure.Figure {
	f := chart(part, what.name+" by "+field, what.title+" by "+field, aboutPoints+held, axisOf(field), what.label)
	low, high := math.Inf(1), 0.0
	var names []string
	for _, c := range cases {
		x := number(valueOf(c, field))
		low, high = min(low, x), max(high, x)
		name := choice(c, by)
		at := slices.Index(names, name)
		if at < 0 {
			at = len(names)
			names = append(names, name)
			color := at
			if len(by) == 1 && by[0] == "mode" {
				color = max(0, ofMode(c.Mode))
			}
			f.Series = append(f.Series, figure.Series{Name: name, Color: color})
		}
		f.Series[at].Points = append(f.Series[at].Points, point(x, what.of(c)))
	}
	for _, s := range f.Series {
		slices.SortFunc(s.Points, func(a, b figure.Point) int { return cmp.Compare(a.X, b.X) })
	}
	f.X.Log = low > 0 && (high >= 20*low || field == "lr" && high >= 5*low)
	what.calm(&f)
	f.Y.Log = what.name == "loss" && decades(f) >= 1.5
	return f
}

const aboutPoints = "Median of the repeats. Thin line: range."

// axisOf is a field as the label of an axis.
func axisOf(field string) string {
	switch field {
	case "workers":
		return "worker processes"
	case "lr":
		return "learning rate, --lr"
	case "batch", "global-batch":
		return "--" + field + ", examples per step"
	case "gradient-delay":
		return "--gradient-delay, s"
	case "limit":
		return "--limit, rows"
	case "epochs", "average-every", "in-flight", "merge-every":
		return "--" + field
	}
	return "--" + field
}

// calm leaves out of a figure what is beyond so many times the median of its points, as the
// losses of runs are that diverge, and says so: no axis shows them and the others too.
func (what final) calm(f *figure.Figure) {
	const wild = 100
	var sizes []bench.Number
	for _, s := range f.Series {
		for _, p := range s.Points {
			sizes = append(sizes, bench.Number(math.Abs(p.Y)))
		}
	}
	most := wild * bench.Summarize(sizes).Median
	if what.name == "accuracy" || what.name == "rate" || !(most > 0) {
		return
	}
	out, cut := 0, 0
	for _, s := range f.Series {
		for i, p := range s.Points {
			if math.Abs(p.Y) > most {
				s.Points[i], out = point(p.X, nil), out+1
				continue
			}
			if p.Low < -most || p.High > most {
				s.Points[i].Low, s.Points[i].High, cut = max(p.Low, -most), min(p.High, most), cut+1
			}
		}
	}
	if out > 0 {
		f.Caption += fmt.Sprintf(" Not shown: %s beyond %d times the median (diverged runs).", human.Plural(out, "case"), wild)
	}
	if cut > 0 {
		f.Caption += fmt.Sprintf(" Clipped at %d times the median: %s.", wild, human.Plural(cut, "range"))
	}
}

// leading is how the cases learned that ended with the least test loss: as many as curves
// can be told apart, and none that ended so far from the best that it would press the others
// together.
func (g *group) leading() []figure.Figure {
	p := panel{part: g.name}
	cases := bench.ByLoss(g.cases)
	end := func(c *bench.Measured) float64 { return bench.Summarize(c.TestLoss).Median }
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
	return curves(p, caption, drawn...)
}
