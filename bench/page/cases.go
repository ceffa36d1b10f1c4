package page

import (
	"fmt"
	"slices"

	"hogwild/bench"
	"hogwild/internal/human"
)

// column is a column of the table of cases.
type column struct {
	head string
	cell func(*bench.Measured) string
}

// table is all cases of the group, a line each.
func (g *group) table() *Table {
	t := &Table{Heads: []string{"case"}}
	for _, c := range g.cases {
		t.Rows = append(t.Rows, []string{c.Name})
	}
	for _, column := range g.columns() {
		t.add(column.head, func(i int) string { return column.cell(g.cases[i]) })
	}
	return t
}

// columns is all that the table may have: of a bench the speed comes first, of a sweep what
// was learned.
func (g *group) columns() []column {
	all := []column{{"workers", func(c *bench.Measured) string { return fmt.Sprint(c.Workers) }}}
	if g.e.Kind == "sweep" {
		all = append(append(all, qualities()...), g.speeds()...)
	} else {
		all = append(append(all, g.speeds()...), qualities()...)
	}
	return append(all, []column{
		lists("staleness, mean", human.Short, func(c *bench.Measured) []bench.Number { return c.StalenessMean }),
		lists("staleness, p99", human.Short, func(c *bench.Measured) []bench.Number { return c.StalenessP99 }),
		lists("in conflict", human.Share, func(c *bench.Measured) []bench.Number { return c.Conflicts }),
		lists("lost updates", human.Share, func(c *bench.Measured) []bench.Number { return c.LostUpdates }),
		lists("waiting, s", human.Short, waited),
		lists("start-up, s", human.Short, func(c *bench.Measured) []bench.Number { return c.StartupSeconds }),
		{"of the machine's best", func(c *bench.Measured) string { return shareOf(g.e, c) }},
		{"failed", failed},
	}...)
}

func lists(head string, text func(float64) string, list func(*bench.Measured) []bench.Number) column {
	return column{head, func(c *bench.Measured) string { return spreadText(list(c), text) }}
}

func (g *group) speeds() []column {
	rate := func(c *bench.Measured) []bench.Number { return c.ExamplesPerSecond }
	seconds := func(c *bench.Measured) []bench.Number { return c.SecondsToTarget }
	first := g.cases[0].Mode
	return []column{
		lists("examples/s", human.Rate, rate),
		lists("speed-up", human.Factor, g.e.SpeedUp),
		{"speed against " + first, g.against(rate)},
		{"s to loss " + human.Loss(g.target()), func(c *bench.Measured) string { return toTarget(c, c.SecondsToTarget, human.Short) }},
		{"time against " + first, g.against(seconds)},
		lists("epochs to it", human.Short, func(c *bench.Measured) []bench.Number { return c.EpochsToTarget }),
		lists("training, s", human.Short, func(c *bench.Measured) []bench.Number { return c.Seconds }),
	}
}

func qualities() []column {
	return []column{
		lists("test loss", human.Loss, func(c *bench.Measured) []bench.Number { return c.TestLoss }),
		lists("accuracy", human.Accuracy, func(c *bench.Measured) []bench.Number { return c.TestAccuracy }),
		lists("RMSE", human.Loss, func(c *bench.Measured) []bench.Number { return c.TestRMSE }),
		lists("R²", human.Loss, func(c *bench.Measured) []bench.Number { return c.TestR2 }),
		lists("train loss", human.Loss, func(c *bench.Measured) []bench.Number { return c.TrainLoss }),
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

// waited is how long the workers waited, all together; nothing if none did.
func waited(c *bench.Measured) []bench.Number {
	if bench.Summarize(c.BarrierWait).High == 0 {
		return nil
	}
	return c.BarrierWait
}

// toTarget is a list that runs have which reached the target, and how many did if not all.
func toTarget(c *bench.Measured, list []bench.Number, text func(float64) string) string {
	ended, there := bench.Summarize(c.TestLoss).N, bench.Summarize(list).N
	switch {
	case !finite(float64(c.Target)) || c.Target == 0 || there >= ended:
		return spreadText(list, text)
	case there == 0:
		return "not reached"
	}
	return fmt.Sprintf("%s, %d of %d", spreadText(list, text), there, ended)
}

// shareOf is what a case reaches of the floor that it is nearest to.
func shareOf(e *bench.Experiment, c *bench.Measured) string {
	s, ok := e.Share(c)
	if !ok {
		return absent
	}
	return human.Share(s.Share) + " of " + s.Floor
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
	text := "Medians of " + human.Plural(len(g.e.Seeds), "repeat") + "; the smallest and the largest in brackets."
	if slices.ContainsFunc(g.cases, func(c *bench.Measured) bool { return g.e.Rival(c) != nil }) {
		text += fmt.Sprintf(" Against %s: the factor to its figure with as many workers; equal where the ranges overlap.", g.cases[0].Mode)
	}
	return text
}
