package bench

import (
	"fmt"
	"math"

	"hogwild/internal/human"
)

// Column is a column of a table whose rows are cases: of the tables on the terminal, and of those in the report.
type Column = human.Column[*Measured]

// lists is a column of medians and their ranges.
func lists(head string, text func(float64) string, of func(*Measured) []Number) Column {
	return human.Col(head, func(c *Measured) string { return Summarize(of(c)).Text(text) })
}

// medians is a column of medians alone.
func medians(head string, text func(float64) string, of func(*Measured) []Number) Column {
	return human.Col(head, func(c *Measured) string { return median(of(c), text) })
}

// Table is a table of cases, by their names; nil if there is nothing else to say of them.
func Table(cases []*Measured, columns ...Column) *human.Table {
	name := human.Col("case", func(c *Measured) string { return c.Name })
	t := human.TableOf(cases, append([]Column{name}, columns...)...)
	if t != nil && len(t.Heads) == 1 {
		return nil
	}
	return t
}

// Columns of several tables.
var (
	LRColumn   = lists("LR", human.Plain, func(c *Measured) []Number { return c.LRUsed })
	LossColumn = lists("test loss", human.Loss, func(c *Measured) []Number { return c.TestLoss })
	RateColumn = human.Col("examples/s", func(c *Measured) string {
		switch s := Summarize(c.ExamplesPerSecond); {
		case s.N > 0:
			return s.rate()
		case c.runs() > 0:
			return "failed"
		}
		return ""
	})
	ScoreColumns = []Column{
		medians("accuracy", human.Accuracy, func(c *Measured) []Number { return c.TestAccuracy }),
		medians("RMSE", human.Loss, func(c *Measured) []Number { return c.TestRMSE }),
		medians("R²", human.Loss, func(c *Measured) []Number { return c.TestR2 }),
	}
)

// LossColumns are how soon the cases of a group reach the target, and where they end.
func (e *Experiment) LossColumns(cases []*Measured) []Column {
	columns, verdicts := []Column{LRColumn}, e.Versus(cases)
	if target := cases[0].Reached.Target; target > 0 {
		columns = append(columns,
			timeColumn(target, func(c *Measured) []Number { return c.SecondsToTarget }),
			against("vs ", cases, verdicts, func(v *Verdicts) string { return v.Time }),
			medians("epochs", human.Short, func(c *Measured) []Number { return c.Late(c.EpochsToTarget) }))
	}
	columns = append(append(columns, LossColumn,
		against("loss vs ", cases, verdicts, func(v *Verdicts) string { return v.Loss })), ScoreColumns...)
	for i, f := range cases[0].Further {
		if f.Target > 0 {
			columns = append(columns,
				timeColumn(f.Target, func(c *Measured) []Number { return c.Further[i].SecondsToTarget }))
		}
	}
	return columns
}

// timeColumn is how long runs took to a target, those that missed it longer than all others.
func timeColumn(target Number, seconds func(*Measured) []Number) Column {
	return human.Col(fmt.Sprintf("time to %.4g", target), func(c *Measured) string {
		switch s, there := Ranked(c.Late(seconds(c))), Summarize(seconds(c)).N; {
		case s.N == 0:
			return ""
		case there == 0:
			return "not reached"
		case math.IsInf(s.Median, 1):
			return fmt.Sprintf("not reached (%d of %d did)", there, s.N)
		case there < s.N:
			return fmt.Sprintf("%s, %d of %d", shortTime(s.Median), there, s.N)
		default:
			return s.time()
		}
	})
}

// against is a column of verdicts.
func against(head string, cases []*Measured, verdicts map[*Measured]*Verdicts, of func(*Verdicts) string) Column {
	return human.Col(head+cases[0].Mode, func(c *Measured) string { return of(verdicts[c]) })
}

// SpeedColumns are how fast the cases of a group are, and what it does to updates.
func (e *Experiment) SpeedColumns(cases []*Measured) []Column {
	return []Column{
		human.Col("workers", func(c *Measured) string { return fmt.Sprint(c.Workers) }),
		RateColumn,
		against("vs ", cases, e.Versus(cases), func(v *Verdicts) string { return v.Speed }),
		human.Col("speed-up", func(c *Measured) string {
			if anyNodes(cases) && e.baseline(c) == c {
				return ""
			}
			return Summarize(e.SpeedUp(c)).Text(human.Factor)
		}),
		medians("staleness", func(x float64) string { return fmt.Sprintf("%.3g", x) },
			func(c *Measured) []Number { return c.StalenessMean }),
		human.Col("lost updates", func(c *Measured) string {
			if Summarize(c.LostUpdates).Median == 0 && Summarize(c.LostBelow).N > 0 {
				return "< " + median(c.LostBelow, human.Share)
			}
			return median(c.LostUpdates, human.Share)
		}),
	}
}

// NodeColumns are what nodes spent on speaking with each other.
var NodeColumns = []Column{
	human.Col("nodes", func(c *Measured) string {
		if c.Nodes == 0 {
			return ""
		}
		return fmt.Sprint(c.Nodes)
	}),
	human.Col("rounds", (*Measured).Rounds),
	lists("taken", human.Short, func(c *Measured) []Number { return c.NodeRounds }),
	lists("bytes a round", func(x float64) string { return human.Bytes(int64(x)) }, (*Measured).RoundBytes),
	lists("in sums, s", human.Short, func(c *Measured) []Number { return c.SumSeconds }),
	lists("waited, s", human.Short, func(c *Measured) []Number { return c.WaitSeconds }),
	lists("communication", human.Share, (*Measured).Communication),
	lists("waiting", human.Share, (*Measured).Waiting),
}

// DetailColumns are what else was measured.
var DetailColumns = []Column{
	lists("train loss", human.Loss, func(c *Measured) []Number { return c.TrainLoss }),
	lists("training, s", human.Short, func(c *Measured) []Number { return c.Seconds }),
	lists("start-up, s", human.Short, func(c *Measured) []Number { return c.StartupSeconds }),
	lists("staleness, p99", human.Short, func(c *Measured) []Number { return c.StalenessP99 }),
	lists("conflicts", human.Share, func(c *Measured) []Number { return c.Conflicts }),
	lists("wait, s", human.Short, func(c *Measured) []Number {
		if Summarize(c.BarrierWait).High == 0 { // of no worker
			return nil
		}
		return c.BarrierWait
	}),
}
