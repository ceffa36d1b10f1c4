package page

import (
	"fmt"
	"slices"

	"hogwild/bench"
)

// column is a column of the table of cases.
type column struct {
	head string
	cell func(*bench.Measured) string
}

// table is all cases of the group, a line each; columns without any figure are left out.
func (g *group) table() *Table {
	t := &Table{Heads: []string{"case"}}
	for _, c := range g.cases {
		t.Rows = append(t.Rows, []string{c.Name})
	}
	for _, column := range g.columns() {
		cells := make([]string, len(g.cases))
		for i, c := range g.cases {
			cells[i] = column.cell(c)
		}
		if !slices.ContainsFunc(cells, func(s string) bool { return s != absent }) {
			continue
		}
		t.Heads = append(t.Heads, column.head)
		for i, cell := range cells {
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	return t
}

func (g *group) columns() []column {
	lists := func(head string, text func(float64) string, list func(*bench.Measured) []bench.Number) column {
		return column{head, func(c *bench.Measured) string { return spreadText(list(c), text) }}
	}
	loss := lossText(g.target())
	return []column{
		{"workers", func(c *bench.Measured) string { return fmt.Sprint(c.Workers) }},
		lists("examples/s", rateText, func(c *bench.Measured) []bench.Number { return c.ExamplesPerSecond }),
		lists("speed-up", shortText, g.e.SpeedUp),
		{"speed against " + g.cases[0].Mode, g.against(func(c *bench.Measured) []bench.Number { return c.ExamplesPerSecond })},
		lists("s to loss "+loss, shortText, func(c *bench.Measured) []bench.Number { return c.SecondsToTarget }),
		{"time against " + g.cases[0].Mode, g.against(func(c *bench.Measured) []bench.Number { return c.SecondsToTarget })},
		lists("epochs to it", shortText, func(c *bench.Measured) []bench.Number { return c.EpochsToTarget }),
		lists("training, s", shortText, func(c *bench.Measured) []bench.Number { return c.Seconds }),
		lists("train loss", lossText, func(c *bench.Measured) []bench.Number { return c.TrainLoss }),
		lists("test loss", lossText, func(c *bench.Measured) []bench.Number { return c.TestLoss }),
		lists("accuracy", accuracyText, func(c *bench.Measured) []bench.Number { return c.TestAccuracy }),
		lists("RMSE", lossText, func(c *bench.Measured) []bench.Number { return c.TestRMSE }),
		lists("R²", lossText, func(c *bench.Measured) []bench.Number { return c.TestR2 }),
		lists("staleness, mean", shortText, func(c *bench.Measured) []bench.Number { return c.StalenessMean }),
		lists("staleness, p99", shortText, func(c *bench.Measured) []bench.Number { return c.StalenessP99 }),
		lists("in conflict", shareText, func(c *bench.Measured) []bench.Number { return c.Conflicts }),
		lists("lost updates", shareText, func(c *bench.Measured) []bench.Number { return c.LostUpdates }),
		lists("waiting", shareText, func(c *bench.Measured) []bench.Number { return fractions(waiting(c)) }),
		lists("start-up, s", shortText, func(c *bench.Measured) []bench.Number { return c.StartupSeconds }),
		{"failed", func(c *bench.Measured) string { return failed(c) }},
	}
}

// against is how a list of a case compares with that of the first mode with as many
// workers.
func (g *group) against(list func(*bench.Measured) []bench.Number) func(*bench.Measured) string {
	return func(c *bench.Measured) string {
		other := g.e.Rival(c)
		if other == nil {
			return absent
		}
		if text := bench.Compare(list(c), list(other)).String(); text != "" {
			return text
		}
		return absent
	}
}

// fractions is percents as shares of 1.
func fractions(percents []bench.Number) (all []bench.Number) {
	for _, x := range percents {
		all = append(all, x/100)
	}
	return all
}

func failed(c *bench.Measured) string {
	n := 0
	for _, why := range c.Failed {
		if why != "" {
			n++
		}
	}
	if n == 0 {
		return absent
	}
	return fmt.Sprintf("%d of %d", n, len(c.Failed))
}

// how says what the table's figures are.
func (g *group) how() string {
	text := "Medians of " + plural(len(g.e.Seeds), "repeat") + "; the smallest and the largest in brackets."
	if slices.ContainsFunc(g.cases, func(c *bench.Measured) bool { return g.e.Rival(c) != nil }) {
		text += fmt.Sprintf(" Against %s: the factor to its figure with as many workers; equal where the ranges overlap.", g.cases[0].Mode)
	}
	return text
}
