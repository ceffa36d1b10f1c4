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

func rate(c *bench.Measured) []bench.Number            { return c.ExamplesPerSecond }
func seconds(c *bench.Measured) []bench.Number         { return c.Seconds }
func secondsToTarget(c *bench.Measured) []bench.Number { return c.SecondsToTarget }
func epochsToTarget(c *bench.Measured) []bench.Number  { return c.EpochsToTarget }
func meanStaleness(c *bench.Measured) []bench.Number   { return c.StalenessMean }
func conflicts(c *bench.Measured) []bench.Number       { return c.Conflicts }
func lostUpdates(c *bench.Measured) []bench.Number     { return c.LostUpdates }

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
	caseName    = caseColumn{"case", func(c *bench.Measured) string { return c.Name }}
	caseWorkers = caseColumn{"workers", func(c *bench.Measured) string { return fmt.Sprint(c.Workers) }}
)

// table is all cases of the group, a line each: what was learned, how fast, and how soon.
func (g *group) table() *Table {
	rival := g.cases[0].Mode
	columns := []caseColumn{caseName}
	for _, s := range scores {
		columns = append(columns, lists(s.head, s.text, s.end))
	}
	return table(g.cases, append(columns,
		lists("examples/s", human.Rate, rate),
		lists("speed-up", human.Factor, g.e.SpeedUp),
		caseColumn{"speed vs " + rival, g.against(rate)},
		caseColumn{"time (s) to loss " + human.Loss(g.target()), func(c *bench.Measured) string { return toTarget(c, c.SecondsToTarget, human.Short) }},
		caseColumn{"time vs " + rival, g.against(secondsToTarget)},
		lists("epochs to target", human.Short, epochsToTarget),
		caseColumn{"failed", failed},
	)...)
}

// details is what else was measured of the cases.
func (g *group) details() *Table {
	return table(g.cases, caseName, caseWorkers,
		lists(trainLoss.head, trainLoss.text, trainLoss.end),
		lists("training, s", human.Short, seconds),
		lists("start-up, s", human.Short, func(c *bench.Measured) []bench.Number { return c.StartupSeconds }),
		lists("staleness, mean", human.Short, meanStaleness),
		lists("staleness, p99", human.Short, func(c *bench.Measured) []bench.Number { return c.StalenessP99 }),
		lists("conflicts", human.Share, conflicts),
		lists("lost updates", human.Share, lostUpdates),
		lists("wait, s", human.Short, waited),
		caseColumn{"nodes", func(c *bench.Measured) string {
			if c.Nodes == 0 {
				return absent
			}
			return fmt.Sprint(c.Nodes)
		}},
		caseColumn{"rounds", func(c *bench.Measured) string { return cmp.Or(c.Rounds(), absent) }},
		lists("rounds taken", human.Short, func(c *bench.Measured) []bench.Number { return c.NodeRounds }),
		lists("bytes a node a round", human.Short, (*bench.Measured).RoundBytes),
		lists("in sums, s", human.Short, func(c *bench.Measured) []bench.Number { return c.SumSeconds }),
		lists("waited for nodes, s", human.Short, func(c *bench.Measured) []bench.Number { return c.WaitSeconds }),
		lists("communication", human.Share, (*bench.Measured).Communication),
		lists("waiting for nodes", human.Share, (*bench.Measured).Waiting),
		caseColumn{"of limit", func(c *bench.Measured) string { return shareOf(g.e, c) }},
	)
}

// against is how a list of a case compares with that of the first mode with as many
// workers.
func (g *group) against(list measure) func(*bench.Measured) string {
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

// shareOf is what a case reaches of the limit that it is nearest to.
func shareOf(e *bench.Experiment, c *bench.Measured) string {
	s, ok := e.Share(c)
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
		text += fmt.Sprintf(" \"vs %[1]s\" is the ratio to %[1]s with as many workers. Undecided: the ranges overlap. Equal: all repeats of both lie within 5%%.", g.cases[0].Mode)
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
