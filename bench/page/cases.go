package page

import (
	"fmt"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/internal/human"
)

// rates is the learning rates that the cases tried, with their losses.
func (g *group) rates() (s Section) {
	with := slices.DeleteFunc(slices.Clone(g.cases), func(c *bench.Measured) bool { return c.Search == nil })
	if len(with) == 0 {
		return s
	}
	var columns []bench.Column
	first := with[0].Search
	for i, lr := range first.Rates {
		columns = append(columns, human.Col(human.Plain(lr), func(c *bench.Measured) string {
			if m := c.Search.Mean(i); human.Finite(m) {
				return human.Loss(m)
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
		Text: fmt.Sprintf("Loss of %s at the end of the last epoch, mean of %s; failed: one diverged or failed. "+
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
	text := strings.TrimSpace(g.e.BestText(g.cases) + " " + aboutRanges(g.e))
	if slices.ContainsFunc(g.cases, func(c *bench.Measured) bool { return g.e.Rival(c) != nil }) {
		text += fmt.Sprintf(" \"vs %s\": %s", g.cases[0].Mode, bench.AboutVersus)
	}
	return text
}
