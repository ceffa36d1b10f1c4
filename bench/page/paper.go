package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// reproduction adds what the publication says, next to what was measured here, with a verdict on
// each statement.
func (p *Page) reproduction(e *bench.Experiment) {
	if runs := bench.Clocked(e); runs != nil {
		p.asgd(e, runs)
	} else if t := bench.GoalTable(e); t != nil {
		p.verdicts(e, bench.AboutGoals)
		p.section(Section{Title: "Accuracies and times", Table: t})
	} else {
		p.Title = "Reproducing the Hogwild! paper"
		p.fact("paper", bench.PaperSource)
		p.verdicts(e, bench.AboutFindings+" "+aboutAverages)
		p.section(Section{Title: "Figure 2 of the paper", Text: e.AboutTable(),
			Table: &human.Table{Heads: bench.PublishedHeads, Rows: e.PublishedTable()}})
		p.section(Section{Title: "Speed-up against workers", Text: aboutCurves, Figures: speedUps(e)})
		p.section(Section{Title: "Slow gradients", Text: aboutDelays, Table: delays(e)})
	}
	if strings.Contains(e.Verdicts(), string(bench.Unjudged)) {
		p.Title += ": a smoke test, whose figures mean nothing"
	}
	cases := pointers(e.Cases)
	p.section(Section{Title: "All runs", Text: aboutRanges(e),
		Table: bench.Table(cases, bench.LRColumn, bench.LossColumn,
			// of one kind of set the one, of others the other
			human.Col("accuracy or RMSE", func(c *bench.Measured) string {
				return cmp.Or(bench.ScoreColumns[0].Cell(c), bench.ScoreColumns[1].Cell(c))
			}), bench.RateColumn)})
	p.more("More figures of each case", cases)
}

const (
	aboutCurves = "Speed-up over the serial version (Hogwild! with one worker), as in figures 3 and 4 of the " +
		"paper. The paper's curves were digitized from its vector figures."
	aboutDelays = "Speed-up over the serial version with a fixed delay added to each gradient, as in figure 5c of " +
		"the paper, where round robin catches up at long delays. Runs with shorter delays train on more examples, so " +
		"that all take about as long."
	aboutAverages = "Model averaging (figure 5b): the paper averages once, at the end; hogwild averages after each " +
		"epoch, and each worker trains on its share of the data."
)

// asgd is how rules for late gradients compare.
func (p *Page) asgd(e *bench.Experiment, runs []*bench.ClockRuns) {
	p.Title = "Rules for late gradients"
	p.verdicts(e, bench.AboutAsgd)
	heads, rows := bench.AsgdGrid(e)
	p.section(Section{Title: "Rules by speeds", Table: &human.Table{Heads: heads, Rows: rows},
		Text: "How many times sooner than plain asynchronous SGD a rule reaches the loss: medians of the repeats."})
	p.section(Section{Title: "Virtual time to the loss", Text: aboutRanges(e),
		Table: &human.Table{Heads: bench.AsgdHeads, Rows: bench.AsgdTable(e)}})
	var figures []figure.Figure
	for _, r := range runs {
		drawn := panel{part: r.Group}
		for i, c := range r.Cases[:min(tellApart, len(r.Cases))] {
			drawn.cases = append(drawn.cases, entry{setting(c.Settings, "rule"), i, c})
		}
		figures = append(figures, shown(curve(judgedLoss, overVirtualTime, drawn, aboutMedians+
			" Runs end at the target."))...)
	}
	p.section(Section{Title: "Loss over virtual time", Figures: figures})
}

// verdicts is each statement of the publication with its figures and ours.
func (p *Page) verdicts(e *bench.Experiment, about string) {
	if rows := e.FindingRows(); len(rows) > 0 {
		p.section(Section{Title: "Claims and measurements",
			Text:  strings.TrimSpace("Verdicts: " + e.Verdicts() + ". " + about),
			Table: &human.Table{Heads: bench.FindingHeads, Rows: rows}})
	}
}

// methods are the paper's, in its order, with the colours of our modes.
var methods = []struct{ mode, name string }{{"async", "Hogwild!"}, {"locked", "AIG"}, {"ordered", "RR"}}

func color(mode string) int { return slices.Index(modes, mode) }

// speedUps is a figure for each set: ours over theirs.
func speedUps(e *bench.Experiment) (all []figure.Figure) {
	for _, s := range bench.PublishedSets {
		r := e.PaperRuns(s.Name)
		if r == nil {
			continue
		}
		f := chart("", "speed-up-"+s.Name, "Speed-up on "+s.Name,
			"Marks: measured, medians of "+human.Plural(len(e.Seeds), "repeat")+
				" with their range, relative to the serial run of the same round. Plain curves: the paper.",
			"workers (paper: threads)", "speed-up, relative to serial")
		f.Y.Zero = true
		most := float64(r.Most) // the paper's curves go on to 10 threads
		f.Series = []figure.Series{{Name: "ideal", Kind: figure.Ideal, Color: len(modes),
			Points: []figure.Point{{X: 1, Y: 1}, {X: most, Y: most}}}}
		for _, m := range methods {
			f.Series = append(f.Series,
				figure.Series{Name: m.name + ", paper", Kind: figure.Curve, Color: color(m.mode),
					Points: indexed(s.SpeedUp[m.mode][:min(r.Most, len(s.SpeedUp[m.mode]))])},
				figure.Series{Name: m.name + ", measured", Color: color(m.mode),
					Points: ours(r, func(n int) *bench.Measured { return r.Of(m.mode, n) })})
		}
		f.Series = append(f.Series, figure.Series{Name: "merged, measured", Color: color("atomic"),
			Points: ours(r, r.Merged)})
		all = append(all, f)
	}
	return shown(all...)
}

// ours is the speed-up of the case for each number of workers.
func ours(r *bench.PaperRuns, of func(workers int) *bench.Measured) (points []figure.Point) {
	for _, n := range r.Workers() {
		if c := of(n); c != nil {
			points = append(points, point(float64(n), r.SpeedUp(c)))
		}
	}
	return points
}

// indexed is a list of values at 1, 2 and so on, less those that are not there.
func indexed(list []float64) (points []figure.Point) {
	for i, y := range list {
		if human.Finite(y) {
			points = append(points, figure.Point{X: float64(i + 1), Y: y})
		}
	}
	return points
}

// delays is the speed-up by how much longer a gradient takes: the paper's and ours.
func delays(e *bench.Experiment) *human.Table {
	t := &human.Table{Heads: []string{"delay, s", "source", "workers"}}
	for _, m := range methods {
		t.Heads = append(t.Heads, m.name)
	}
	groups, seconds := e.DelayGroups()
	for i, g := range groups {
		if r := e.PaperRuns(g); r != nil {
			row := []string{fmt.Sprint(seconds[i]), "measured", fmt.Sprint(r.Most)}
			for _, m := range methods {
				row = append(row, bench.Summarize(r.SpeedUp(r.Of(m.mode, r.Most))).Text(human.Factor))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if t.Rows == nil {
		return nil
	}
	for i, x := range bench.PublishedDelays {
		row := []string{fmt.Sprint(x), "paper", "10"}
		for _, m := range methods {
			row = append(row, human.Factor(bench.PublishedByDelay[m.mode][i]))
		}
		t.Rows = append(t.Rows, row)
	}
	slices.SortStableFunc(t.Rows, func(a, b []string) int { return cmp.Compare(number(a[0]), number(b[0])) })
	return t
}
