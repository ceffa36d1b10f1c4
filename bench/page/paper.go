package page

import (
	"fmt"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// reproduction adds what the publication says beside what was measured here, with a
// verdict on each statement.
func (p *Page) reproduction(e *bench.Experiment) {
	p.Title = "Reproducing the Hogwild! paper"
	if rows := e.TutorialTable(); rows != nil {
		p.Title = "Reproducing a tutorial's synchronous SGD"
		p.verdicts(e, "")
		p.section(Section{Title: "Accuracy", Text: tutorialSource, Figures: shown(accuracies(e)), Table: &Table{Heads: bench.TutorialHeads, Rows: rows}})
	} else {
		p.fact("paper", bench.PaperSource)
		p.verdicts(e, bench.AboutFindings)
		p.section(Section{Title: "Figure 2 of the paper", Text: e.AboutTable(), Table: &Table{Heads: bench.PublishedHeads, Rows: e.PublishedTable()}})
		p.section(Section{Title: "Speed-up against workers", Text: aboutCurves, Figures: speedUps(e)})
		p.section(Section{Title: "Slow gradients", Text: aboutDelays, Figures: shown(delays(e))})
		p.section(Section{Title: "Model averaging", Text: aboutAverages, Figures: averages(e)})
	}
	if strings.Contains(e.Verdicts(), string(bench.Unjudged)) {
		p.Title += ": a smoke test, whose figures mean nothing"
	}
	p.section(Section{Title: "All runs", Text: aboutRanges(e), Table: allRuns(e)})
}

const (
	tutorialSource = "The tutorial reports 87, 92 and 93% after epochs 1, 2 and 3. It does not give its initial weights."
	aboutCurves    = "Speed-up over the serial version (Hogwild! with one worker), as in figures 3 and 4 of the paper. The paper's curves were digitized from its vector figures."
	aboutDelays    = "As in figure 5c of the paper, a fixed delay is added to each gradient. In the paper, round robin catches up at long delays. Runs with shorter delays train on more examples, so that all take about as long."
	aboutAverages  = "As in figure 5b of the paper, 1, 3 and 10 workers each train a model, and the mean of the models is evaluated. The paper averages once, at the end. hogwild averages after each epoch, and each worker trains on its share of the data. " +
		"The paper plots the error on the training set. hogwild plots the training loss of each pass, computed just before each update."
)

// verdicts is each statement of the publication with its figures and ours.
func (p *Page) verdicts(e *bench.Experiment, about string) {
	if rows := e.FindingRows(); len(rows) > 0 {
		p.section(Section{Title: "Claims and measurements", Text: strings.TrimSpace("Verdicts: " + e.Verdicts() + ". " + about), Table: &Table{Heads: bench.FindingHeads, Rows: rows}})
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
			"Marks: measured, medians of "+human.Plural(len(e.Seeds), "repeat")+" with their range, relative to the serial run of the same round. Plain curves: the paper.",
			"workers (paper: threads)", "speed-up, relative to serial")
		f.Y.Zero = true
		most := float64(r.Most) // the paper's curves go on to 10 threads
		f.Series = []figure.Series{{Name: "ideal", Kind: figure.Ideal, Color: len(modes), Points: []figure.Point{{X: 1, Y: 1}, {X: most, Y: most}}}}
		for _, m := range methods {
			f.Series = append(f.Series,
				figure.Series{Name: m.name + ", paper", Kind: figure.Curve, Color: color(m.mode), Points: indexed(s.SpeedUp[m.mode][:min(r.Most, len(s.SpeedUp[m.mode]))])},
				figure.Series{Name: m.name + ", measured", Color: color(m.mode), Points: ours(r, func(n int) *bench.Measured { return r.Of(m.mode, n) })})
		}
		f.Series = append(f.Series, figure.Series{Name: "merged, measured", Color: color("atomic"), Points: ours(r, r.Merged)})
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
		if finite(y) {
			points = append(points, figure.Point{X: float64(i + 1), Y: y})
		}
	}
	return points
}

// delays is the speed-up by how long a gradient takes longer.
func delays(e *bench.Experiment) figure.Figure {
	groups, seconds := e.DelayGroups()
	f := chart("", "slow-gradients", "Speed-up with slow gradients", "", "delay per gradient, s", "speed-up, relative to serial")
	f.X.Log, f.Y.Zero = true, true
	most := 0
	for _, m := range methods {
		theirs := figure.Series{Name: m.name + ", paper", Kind: figure.Curve, Color: color(m.mode)}
		for i, x := range bench.PublishedDelays {
			theirs.Points = append(theirs.Points, figure.Point{X: x, Y: bench.PublishedByDelay[m.mode][i]})
		}
		here := figure.Series{Name: m.name + ", measured", Color: color(m.mode)}
		for i, g := range groups {
			if r := e.PaperRuns(g); r != nil {
				most = r.Most
				here.Points = append(here.Points, point(seconds[i], r.SpeedUp(r.Of(m.mode, r.Most))))
			}
		}
		if len(here.Points) > 0 {
			f.Series = append(f.Series, theirs, here)
		}
	}
	f.Caption = fmt.Sprintf("Marks: measured with %s. Plain curves: the paper, 10 threads.", human.Plural(most, "worker"))
	if len(groups) == 0 {
		f.Series = nil
	}
	return f
}

// averages is the training loss by passes, and the paper's error.
func averages(e *bench.Experiment) []figure.Figure {
	by, hogwild, passes := e.Averages()
	if by[1] == nil {
		return nil
	}
	here := chart("", "averages-here", "Model averaging, measured",
		fmt.Sprintf("First repeat, %d passes per worker. The Hogwild! workers share each pass.", passes),
		"passes over the data, per worker", trainLoss.label)
	theirs := chart("", "averages-paper", "Model averaging, paper", "Figure 5b, digitized.",
		"passes over the data, per thread", "training error")
	here.X.Zero, theirs.X.Zero = true, true
	for i, n := range []int{1, 3, 10} {
		theirs.Series = append(theirs.Series, figure.Series{Name: human.Plural(n, "thread"), Kind: figure.Curve, Color: i, Points: indexed(bench.PublishedAverage[n])})
		if c := by[n]; c != nil {
			here.Series = append(here.Series, figure.Series{Name: human.Plural(n, "worker"), Color: i, Points: byPass(c, n)})
		}
	}
	if hogwild != nil {
		here.Series = append(here.Series, figure.Series{Name: "Hogwild!, " + human.Plural(hogwild.Workers, "worker"), Color: 3, Points: byPass(hogwild, 1)})
	}
	return shown(here, theirs)
}

// byPass is the training loss at the end of each pass, which takes so many epochs.
func byPass(c *bench.Measured, epochs int) (points []figure.Point) {
	if len(c.Histories) == 0 {
		return nil
	}
	for i, h := range c.Histories[0] {
		if (i+1)%epochs == 0 {
			points = append(points, figure.Point{X: float64((i + 1) / epochs), Y: h.TrainLoss})
		}
	}
	return points
}

// accuracies is the tutorial's test accuracy by epoch, and ours.
func accuracies(e *bench.Experiment) figure.Figure {
	f := chart("", "accuracy-by-epoch", "Test accuracy after each epoch",
		"Medians of "+human.Plural(len(e.Seeds), "repeat")+" and their range.", "epoch", "test accuracy, %")
	theirs := figure.Series{Name: "sync, tutorial", Kind: figure.Curve, Color: color("sync")}
	for i, x := range bench.PublishedTutorial {
		theirs.Points = append(theirs.Points, figure.Point{X: float64(i + 1), Y: 100 * x})
	}
	f.Series = append(f.Series, theirs)
	for _, c := range e.Cases {
		s := figure.Series{Name: c.Mode + ", measured", Color: color(c.Mode)}
		for i, a := range c.AccuracyByEpoch() {
			s.Points = append(s.Points, figure.Point{X: float64(i + 1), Y: 100 * a.Median, Low: 100 * a.Low, High: 100 * a.High})
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// allRuns is a line for each case.
func allRuns(e *bench.Experiment) *Table {
	return table(pointers(e.Cases), caseName, caseWorkers,
		lists("examples/s", human.Rate, rate),
		lists("training, s", human.Short, seconds),
		lists(trainLoss.head, trainLoss.text, trainLoss.end),
		lists(testLoss.head, testLoss.text, testLoss.end),
		caseColumn{"accuracy or RMSE", func(c *bench.Measured) string {
			if quality := spreadText(c.TestAccuracy, human.Accuracy); quality != absent {
				return quality
			}
			return spreadText(c.TestRMSE, human.Loss)
		}},
		lists("staleness, mean", human.Short, meanStaleness),
		lists("conflicts", human.Share, conflicts),
		lists("lost updates", human.Share, lostUpdates))
}
