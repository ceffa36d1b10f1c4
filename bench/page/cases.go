package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/internal/human"
)

// measure is what was measured of a case, of each repeat.
type measure func(*bench.Measured) []bench.Number

func testLoss(c *bench.Measured) []bench.Number { return c.TestLoss }
func rate(c *bench.Measured) []bench.Number     { return c.ExamplesPerSecond }

// waited is how long the workers waited, all together; nothing if none did.
func waited(c *bench.Measured) []bench.Number {
	if bench.Summarize(c.BarrierWait).High == 0 {
		return nil
	}
	return c.BarrierWait
}

type caseColumn = column[*bench.Measured]

// lists is a column of medians and ranges.
func lists(head string, text func(float64) string, of measure) caseColumn {
	return caseColumn{head, func(c *bench.Measured) string { return spreadText(of(c), text) }}
}

var (
	caseName = caseColumn{"case", func(c *bench.Measured) string { return c.Name }}
	caseRate = lists("learning rate", rateText, func(c *bench.Measured) []bench.Number { return c.LRUsed })
)

func rateText(lr float64) string { return fmt.Sprintf("%.4g", lr) }

// caseScores are the columns of what was learned, caseDetails those of what else was measured.
var (
	caseScores = []caseColumn{
		lists("test loss", human.Loss, testLoss),
		lists("accuracy", human.Accuracy, func(c *bench.Measured) []bench.Number { return c.TestAccuracy }),
		lists("RMSE", human.Loss, func(c *bench.Measured) []bench.Number { return c.TestRMSE }),
		lists("R²", human.Loss, func(c *bench.Measured) []bench.Number { return c.TestR2 }),
		lists("examples/s", human.Rate, rate),
	}
	caseDetails = []caseColumn{
		{"workers", func(c *bench.Measured) string { return fmt.Sprint(c.Workers) }},
		lists("train loss", human.Loss, func(c *bench.Measured) []bench.Number { return c.TrainLoss }),
		lists("training, s", human.Short, func(c *bench.Measured) []bench.Number { return c.Seconds }),
		lists("start-up, s", human.Short, func(c *bench.Measured) []bench.Number { return c.StartupSeconds }),
		lists("staleness, mean", human.Short, func(c *bench.Measured) []bench.Number { return c.StalenessMean }),
		lists("staleness, p99", human.Short, func(c *bench.Measured) []bench.Number { return c.StalenessP99 }),
		lists("conflicts", human.Share, func(c *bench.Measured) []bench.Number { return c.Conflicts }),
		lists("lost updates", human.Share, func(c *bench.Measured) []bench.Number { return c.LostUpdates }),
		lists("lost at most", human.Share, func(c *bench.Measured) []bench.Number { return c.LostBelow }),
		lists("wait, s", human.Short, waited),
		{"nodes", func(c *bench.Measured) string {
			if c.Nodes == 0 {
				return absent
			}
			return fmt.Sprint(c.Nodes)
		}},
		{"rounds", func(c *bench.Measured) string { return cmp.Or(c.Rounds(), absent) }},
		lists("rounds taken", human.Short, func(c *bench.Measured) []bench.Number { return c.NodeRounds }),
		lists("bytes a node a round", human.Short, (*bench.Measured).RoundBytes),
		lists("in sums, s", human.Short, func(c *bench.Measured) []bench.Number { return c.SumSeconds }),
		lists("waited for nodes, s", human.Short, func(c *bench.Measured) []bench.Number { return c.WaitSeconds }),
		lists("communication", human.Share, (*bench.Measured).Communication),
		lists("waiting for nodes", human.Share, (*bench.Measured).Waiting),
	}
)

// table is all cases of the group, a line each: what was learned, how fast, and how soon.
func (g *group) table() *Table {
	rival := g.cases[0].Mode
	speeds, times := g.e.Versus(g.cases)
	versus := func(of map[*bench.Measured]string) func(*bench.Measured) string {
		return func(c *bench.Measured) string { return cmp.Or(of[c], absent) }
	}
	return table(g.cases, slices.Concat([]caseColumn{caseName, caseRate}, caseScores, []caseColumn{
		lists("speed-up", human.Factor, g.e.SpeedUp),
		{"speed vs " + rival, versus(speeds)},
		{"time (s) to loss " + human.Loss(g.target()), func(c *bench.Measured) string { return toTarget(c, c.Reached) }},
		{"time vs " + rival, versus(times)},
		lists("epochs to target", human.Short, func(c *bench.Measured) []bench.Number { return c.EpochsToTarget }),
		{"failed", failed},
	})...)
}

// rates is the learning rates that the cases tried, with their losses.
func (g *group) rates() (s Section) {
	with := slices.DeleteFunc(slices.Clone(g.cases), func(c *bench.Measured) bool { return c.Search == nil })
	if len(with) == 0 {
		return s
	}
	columns := []caseColumn{caseName}
	first := with[0].Search
	for i, lr := range first.Rates {
		columns = append(columns, caseColumn{rateText(lr), func(c *bench.Measured) string {
			if m := c.Search.Mean(i); finite(m) {
				return human.Loss(m)
			}
			return "failed"
		}})
	}
	columns = append(columns, caseColumn{"best", func(c *bench.Measured) string { return rateText(c.Search.LR) }})
	rows := "rows held out of the training set"
	if first.Set != "validation" {
		rows = "training rows"
	}
	return Section{Title: g.title("Learning rates tried"), Table: table(with, columns...), Text: fmt.Sprintf("Loss of %s at the end of the last epoch, mean of %s; failed: one diverged or failed. "+
		"All cases try the same rates, until none is best at the lowest or highest.", rows, human.Plural(len(first.Seeds), "run"))}
}

// details is what else was measured of the cases, first how soon they came to further targets.
func (g *group) details() *Table {
	columns := []caseColumn{caseName}
	for i, f := range g.cases[0].Further {
		columns = append(columns, caseColumn{"time (s) to loss " + human.Loss(float64(f.Target)), func(c *bench.Measured) string { return toTarget(c, c.Further[i]) }})
	}
	return table(g.cases, slices.Concat(columns, caseDetails, []caseColumn{{"of limit", g.ofLimit}})...)
}

// toTarget is how long runs took that reached the target, and how many did if not all.
func toTarget(c *bench.Measured, r bench.Reached) string {
	took := spreadText(r.SecondsToTarget, human.Short)
	ended, there := bench.Summarize(c.TestLoss).N, bench.Summarize(r.SecondsToTarget).N
	switch {
	case !finite(float64(r.Target)) || r.Target == 0 || there >= ended:
		return took
	case there == 0:
		return "not reached"
	}
	return fmt.Sprintf("%s, %d of %d", took, there, ended)
}

// ofLimit is what a case reaches of the limit that it is nearest to.
func (g *group) ofLimit(c *bench.Measured) string {
	s, ok := g.e.Share(c)
	if !ok {
		return absent
	}
	return human.Share(s.Share) + " of " + s.Limit
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

// target is the test loss to which the group's times are taken; NaN if there is none.
func (g *group) target() float64 {
	for _, c := range g.cases {
		if t := float64(c.Target); finite(t) && t != 0 {
			return t
		}
	}
	return nan
}
