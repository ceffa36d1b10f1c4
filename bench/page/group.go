package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// group is the cases of an experiment that are compared: they learn the same from the
// same. A variant is what they have in common that differ in the number of workers only:
// a mode, and what else was set. It has one colour on the whole page.
type group struct {
	e        *bench.Experiment
	name     string
	cases    []*bench.Measured
	fields   []string // flags that differ among the cases
	variants []string // in the order of the cases
	workers  []int    // ascending
	colors   painter
}

// groups is the groups of an experiment, in the order of their first cases.
func groups(e *bench.Experiment) []*group {
	var all []*group
	colors := painter{}
	for i := range e.Cases {
		c := &e.Cases[i]
		at := slices.IndexFunc(all, func(g *group) bool { return g.name == c.Group })
		if at < 0 {
			at = len(all)
			all = append(all, &group{e: e, name: c.Group, colors: colors})
		}
		all[at].cases = append(all[at].cases, c)
	}
	anchors := map[string]bool{}
	for i, g := range all {
		g.sort()
		if a := anchor(g.name); a == "" || anchors[a] {
			g.name = strings.TrimSpace(fmt.Sprintf("%s (%d)", g.name, i+1))
		}
		anchors[anchor(g.name)] = true
	}
	if len(all) == 1 {
		all[0].name = "" // nothing to be told from
	}
	return all
}

// sort finds out what differs among the cases.
func (g *group) sort() {
	g.fields = varying(g.cases)
	for _, c := range g.cases {
		if v := g.variant(c); !slices.Contains(g.variants, v) {
			g.variants = append(g.variants, v)
		}
		if !slices.Contains(g.workers, c.Workers) {
			g.workers = append(g.workers, c.Workers)
		}
	}
	slices.Sort(g.workers)
}

// modes in the order of their colours, which they have on every page.
var modes = []string{"async", "atomic", "locked", "ordered", "sync", "delayed"}

// painter is the colour of each name on a page.
type painter map[string]int

// of gives a mode, such as sync or delayed:8, its own colour, and any other name the first that is left.
func (p painter) of(name string) int {
	if at, ok := p[name]; ok {
		return at
	}
	mode, _, _ := strings.Cut(name, ":")
	taken := slices.Collect(maps.Values(p))
	at := slices.Index(modes, mode)
	if at < 0 || slices.Contains(taken, at) {
		for at = 0; slices.Contains(taken, at); {
			at++
		}
	}
	p[name] = at
	return at
}

// varying is the flags whose values differ among cases, in the order in which they come.
func varying(cases []*bench.Measured) (flags []string) {
	for _, c := range cases {
		for _, s := range c.Settings {
			differs := func(o *bench.Measured) bool { return valueOf(o, s.Flag) != valueOf(c, s.Flag) }
			if s.Flag != "seed" && !slices.Contains(flags, s.Flag) && slices.ContainsFunc(cases, differs) {
				flags = append(flags, s.Flag)
			}
		}
	}
	return flags
}

// valueOf is the value of a flag in a case: as it was given, else as the run had it.
func valueOf(c *bench.Measured, flag string) string {
	if v := setting(c.Settings, flag); v != "" {
		return v
	}
	return setting(bench.Settings(c.Config), flag)
}

// variant is the name of a case without its number of workers.
func (g *group) variant(c *bench.Measured) string { return g.without(c, "workers") }

// without names a case by what differs among the cases but for one flag, as far as it sets that; if it sets nothing, by
// its mode.
func (g *group) without(c *bench.Measured, flag string) string {
	var words []string
	for _, f := range g.fields {
		switch v := setting(c.Settings, f); {
		case f == flag || f == "mode" || v == "":
		case v == "true":
			words = append(words, f)
		default:
			words = append(words, f+" "+v)
		}
	}
	if len(words) == 0 || flag != "mode" && slices.Contains(g.fields, "mode") {
		words = append([]string{c.Mode}, words...)
	}
	return strings.Join(words, ", ")
}

// title is a title of a section of the group.
func (g *group) title(s string) string {
	if g.name == "" {
		return s
	}
	return g.name + ": " + strings.ToLower(s[:1]) + s[1:]
}

// panel is the cases that one figure compares, each with its name in the legend.
type panel struct {
	part  string // of the group
	cases []entry
}

type entry struct {
	name  string
	color int
	*bench.Measured
}

// tellApart is how many series of one figure can be told apart.
const tellApart = 8

// panel is the cases of one figure that can be read: of one mode all its numbers of workers, of several modes those
// with as many workers as the machine has cores for.
func (g *group) panel() panel {
	p := panel{part: g.name}
	n := g.workers[0]
	for _, w := range g.workers {
		if w <= g.e.Machine.Cores {
			n = w
		}
	}
	several := len(g.variants) > 1
	if several && len(g.workers) > 1 {
		p.part = strings.TrimPrefix(g.name+", "+human.Plural(n, "worker"), ", ")
	}
	for _, c := range g.cases {
		v := g.variant(c)
		switch {
		case !several:
			p.cases = append(p.cases, entry{human.Plural(c.Workers, "worker"), slices.Index(g.workers, c.Workers), c})
		case c.Workers == n:
			p.cases = append(p.cases, entry{v, g.colors.of(v), c})
		}
	}
	return p
}

// rates is the learning rates that the cases tried, with their losses.
func (g *group) rates() (s Section) {
	with := slices.DeleteFunc(slices.Clone(g.cases), func(c *bench.Measured) bool { return c.Search == nil })
	if len(with) == 0 {
		return s
	}
	var columns []bench.Column
	what, format := "Loss of %s at the end of the last epoch", human.Loss
	if bench.Clocked(g.e) != nil {
		what, format = "Virtual time to the target loss of %s, longer by their ratio where a run ended above it",
			human.Short
	}
	first := with[0].Search
	for i, lr := range first.Rates {
		columns = append(columns, human.Col(human.Plain(lr), func(c *bench.Measured) string {
			if m := c.Search.Mean(i); human.Finite(m) {
				return format(m)
			}
			return "failed"
		}))
	}
	columns = append(columns, human.Col("best", func(c *bench.Measured) string { return human.Plain(c.Search.LR) }))
	rows := "rows held out of the training set"
	if first.Set != "validation" {
		rows = "training rows"
	}
	return Section{Title: g.title("Learning rates tried"), Table: bench.Table(with, columns...),
		Text: fmt.Sprintf(what+", mean of %s; failed: one diverged or failed. "+
			"All cases try the same rates, until none is best at the lowest or highest.", rows,
			human.Plural(len(first.Seeds), "run"))}
}

// aboutRanges says what the cells of a table of repeats are.
func aboutRanges(e *bench.Experiment) string {
	if len(e.Seeds) < 2 {
		return "One run per case."
	}
	return "Medians of " + human.Plural(len(e.Seeds), "repeat") + ", with their range."
}

// how says what the table's figures are.
func (g *group) how() string {
	text := aboutRanges(g.e)
	if slices.ContainsFunc(g.cases, func(c *bench.Measured) bool { return g.e.Rival(c) != nil }) {
		text += fmt.Sprintf(" \"vs %s\": %s", g.cases[0].Mode, bench.AboutVersus)
	}
	return text
}

func pointers(cases []bench.Measured) (all []*bench.Measured) {
	for i := range cases {
		all = append(all, &cases[i])
	}
	return all
}

// more adds what else was measured.
func (p *Page) more(title string, cases []*bench.Measured) {
	p.section(Section{Title: title,
		Table: bench.Table(cases, slices.Concat(bench.DetailColumns, bench.NodeColumns)...)})
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

// setting is the value of one setting; "" if a configuration has none of that name.
func setting(all []bench.Setting, flag string) string {
	for _, s := range all {
		if s.Flag == flag {
			return s.Value
		}
	}
	return ""
}

// over gives a figure of what was measured over a setting a line for each name of the cases.
func over(f *figure.Figure, cases []*bench.Measured, colors painter, of measure, x func(*bench.Measured) float64,
	name func(*bench.Measured) string) {
	for _, c := range cases {
		at := slices.IndexFunc(f.Series, func(s figure.Series) bool { return s.Name == name(c) })
		if at < 0 {
			at = len(f.Series)
			f.Series = append(f.Series, figure.Series{Name: name(c), Color: colors.of(name(c))})
		}
		f.Series[at].Points = append(f.Series[at].Points, point(x(c), of(c)))
	}
	for _, s := range f.Series {
		slices.SortStableFunc(s.Points, func(a, b figure.Point) int { return cmp.Compare(a.X, b.X) })
	}
}

const aboutPoints = "Medians of the repeats. Thin line: range."

const aboutMedians = "Medians of the repeats at the end of each epoch."

// measure is what was measured of a case, of each repeat.
type measure func(*bench.Measured) []float64

// point is the median of a list and its range, at x.
func point(x float64, list []float64) figure.Point {
	s := bench.Ranked(list) // of nothing: all NaN
	if math.IsInf(s.High, 1) {
		s.Low, s.High = s.Median, s.Median
	}
	return figure.Point{X: x, Y: s.Median, Low: s.Low, High: s.High}
}
