package bench

import (
	"fmt"
	"math"

	"hogwild/internal/human"
)

// Column is a column of a table whose rows are cases: of the tables on the terminal, and of those in the report.
type Column = human.Column[*Measured]

// column is the medians of a figure and their ranges.
func (f *Figure) column() Column {
	return human.Col(f.Head, func(c *Measured) string { return Summarize(f.Of(c)).Text(f.Text) })
}

// medians is the medians alone.
func (f *Figure) medians() Column {
	return human.Col(f.Head, func(c *Measured) string { return median(f.Of(c), f.Text) })
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
	LRColumn   = LRUsed.column()
	LossColumn = TestLoss.column()
	RateColumn = human.Col(Rate.Head, func(c *Measured) string {
		switch s := Summarize(Rate.Of(c)); {
		case s.N > 0:
			return s.rate()
		case c.runs() > 0:
			return "failed"
		}
		return ""
	})
	ScoreColumns = []Column{TestAccuracy.medians(), TestRMSE.medians(), TestR2.medians()}
)

// LossColumns are how soon the cases of a group reach the target, and where they end.
func (e *Experiment) LossColumns(cases []*Measured) []Column {
	columns, verdicts := []Column{LRColumn}, e.Versus(cases)
	if target := cases[0].Target(); target > 0 {
		columns = append(columns, timeColumn(target, 0),
			against("vs ", cases, verdicts, func(v *Verdicts) string { return v.Time }), EpochsToTarget.medians())
	}
	columns = append(append(columns, LossColumn,
		against("loss vs ", cases, verdicts, func(v *Verdicts) string { return v.Loss })), ScoreColumns...)
	for i, target := range cases[0].Targets {
		if i > 0 && target > 0 {
			columns = append(columns, timeColumn(float64(target), i))
		}
	}
	return columns
}

// timeColumn is how long runs took to a target, those that missed it longer than all others.
func timeColumn(target float64, i int) Column {
	return human.Col(fmt.Sprintf("time to %.4g", target), func(c *Measured) string {
		seconds := secondsTo(i).Of(c)
		switch s, there := Ranked(seconds), Summarize(seconds).N; {
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
		Staleness.medians(),
		human.Col(LostUpdates.Head, func(c *Measured) string {
			below := LostBelow.Of(c)
			if Summarize(LostUpdates.Of(c)).Median == 0 && Summarize(below).N > 0 {
				return "< " + median(below, human.Share)
			}
			return median(LostUpdates.Of(c), human.Share)
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
	NodeRounds.column(), RoundBytes.column(), SumSeconds.column(), WaitSeconds.column(), Communication.column(),
	Waiting.column(),
}

// DetailColumns are what else was measured.
var DetailColumns = []Column{
	TrainLoss.column(), Seconds.column(), Startup.column(), StalenessP99.column(), Conflicts.column(),
	human.Col(BarrierWait.Head, func(c *Measured) string {
		s := Summarize(BarrierWait.Of(c))
		if s.High == 0 { // of no worker
			return ""
		}
		return s.Text(human.Short)
	}),
}
