package page

import (
	"math"
	"slices"
	"strings"

	"hogwild/bench"
	"hogwild/hogwild/rundir"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// quantity is a number of an epoch: NaN where the model has no such score.
type quantity struct {
	name, label string
	of          func(rundir.EpochResult) float64
}

// The losses and scores that are drawn, on the set by which epochs are judged. R² goes as RMSE does.
var (
	judgedLoss = quantity{"loss", "loss, mean per example",
		func(e rundir.EpochResult) float64 { return e.Judged().Loss }}
	trainLoss = quantity{"training loss", "training loss, mean per example",
		func(e rundir.EpochResult) float64 { return e.TrainLoss }}
	scores = []quantity{
		{"accuracy", "accuracy, %", func(e rundir.EpochResult) float64 { return 100 * value(e.Judged().Accuracy) }},
		{"RMSE", "RMSE, in units of the target", func(e rundir.EpochResult) float64 { return value(e.Judged().RMSE) }},
	}
)

// What they are drawn against.
var (
	overEpochs = quantity{"epochs", "epoch", func(e rundir.EpochResult) float64 { return float64(e.Epoch) }}
	overTime   = quantity{"time", "training time, s", func(e rundir.EpochResult) float64 { return e.Seconds }}

	overVirtualTime = quantity{"virtual time", "virtual time", bench.OnClock}
)

// learned is how the cases of a panel learned: their losses, over epochs too where there are several to compare, and
// the first score that they have.
func learned(p panel, caption string) (all []figure.Figure) {
	if len(p.cases) == 1 {
		all = append(all, losses(p, caption))
	} else if all = shown(curve(judgedLoss, overEpochs, p, caption),
		curve(judgedLoss, p.time(), p, caption)); len(all) == 0 {
		// nothing else was evaluated
		all = append(all, curve(trainLoss, overEpochs, p, caption), curve(trainLoss, p.time(), p, caption))
	}
	for _, s := range scores {
		if f := shown(curve(s, p.time(), p, caption)); len(f) > 0 {
			return shown(append(all, f[0])...)
		}
	}
	return shown(all...)
}

// losses is both losses of a single case.
func losses(p panel, caption string) figure.Figure {
	f, train := curve(judgedLoss, p.time(), p, caption), curve(trainLoss, p.time(), p, "").Series[0]
	f.Series[0].Name, f.Series[0].Color = p.set(), 0
	train.Name, train.Color = "training", 1
	f.Title, f.Series = "Loss", append(f.Series, train)
	f.Y.Log = decades(f) >= 1.5
	f.Caption += " Training loss: mean over the epoch, computed just before each update."
	return f
}

// curve is a score of each case of a panel.
func curve(s, against quantity, p panel, caption string) figure.Figure {
	title := strings.TrimSpace(p.set() + " " + s.name)
	if s.name == trainLoss.name {
		title = s.name
	}
	title = strings.ToUpper(title[:1]) + title[1:] + " over " + against.name
	f := chart(p.part, s.name+" against "+against.name, title, caption, against.label, s.label)
	first, last := math.Inf(1), 0.0 // of the times at which cases end: a linear axis does not show ends far apart
	for _, c := range p.cases {
		line := figure.Series{Name: c.name, Color: c.color}
		x, y := medians(c.Measured, against.of), medians(c.Measured, s.of)
		for i := range x {
			line.Points = append(line.Points, figure.Point{X: x[i], Y: y[i]})
		}
		if n := len(x); n > 0 {
			first, last = min(first, x[n-1]), max(last, x[n-1])
		}
		if len(x) > 20 {
			line.Kind = figure.Curve
		}
		f.Series = append(f.Series, line)
	}
	f.Y.Log = s.name != "accuracy" && decades(f) >= 1.5
	f.X.Log = against.name != overEpochs.name && first > 0 && last >= 10*first
	f.X.Zero = !f.X.Log
	return f
}

// time returns a panel's quantity of time: virtual where all its cases are simulated.
func (p panel) time() quantity {
	for _, c := range p.cases {
		for _, r := range c.Runs {
			if slices.ContainsFunc(r.History, func(e rundir.EpochResult) bool { return bench.OnClock(e) == 0 }) {
				return overTime
			}
		}
	}
	return overVirtualTime
}

// set is the rows by which the epochs of a panel are judged.
func (p panel) set() string {
	var sets []string
	for _, c := range p.cases {
		for _, r := range c.Runs {
			for _, e := range r.History {
				if set := e.Judged().Set; !slices.Contains(sets, set) {
					sets = append(sets, set)
				}
			}
		}
	}
	return strings.Join(sets, " or ")
}

// medians is the medians of a case's repeats at the end of each epoch that most of them
// came to. One repeat of each case would not do: with other seeds other rows are held out,
// and their losses do not compare.
func medians(c *bench.Measured, of func(rundir.EpochResult) float64) (all []float64) {
	for i := 0; ; i++ {
		var repeats []float64
		for _, r := range c.Runs {
			if i < len(r.History) {
				repeats = append(repeats, of(r.History[i]))
			}
		}
		if len(repeats) == 0 || 2*len(repeats) < len(c.Runs) {
			return all
		}
		all = append(all, bench.Summarize(repeats).Median)
	}
}

// chart is a figure of a part of the page, "" for all of it, that has no series yet.
func chart(part, name, title, caption, x, y string) figure.Figure {
	if part != "" {
		name, title = part+" "+name, title+", "+part
	}
	return figure.Figure{Name: anchor(name), Title: title, Caption: caption, X: figure.Axis{Label: x},
		Y: figure.Axis{Label: y}}
}

// decades is over how many powers of ten the values of a figure range, and the ends of their
// ranges; 0 if not all values are positive.
func decades(f figure.Figure) float64 {
	low, high := math.Inf(1), 0.0
	for _, s := range f.Series {
		for _, p := range s.Points {
			if human.Finite(p.Y) {
				low, high = min(low, p.Y), max(high, p.Y, p.High)
			}
		}
	}
	if low <= 0 || high <= low {
		return 0
	}
	return math.Log10(high / low)
}

// shown keeps the series that have a point to show, and of the figures those that have
// such a series besides an ideal.
func shown(all ...figure.Figure) (kept []figure.Figure) {
	for _, f := range all {
		visible := func(p figure.Point) bool {
			return human.Finite(p.X) && human.Finite(p.Y) && (!f.X.Log || p.X > 0 || p.X == 0 && f.X.Least > 0) &&
				(!f.Y.Log || p.Y > 0)
		}
		f.Series = slices.DeleteFunc(f.Series,
			func(s figure.Series) bool { return !slices.ContainsFunc(s.Points, visible) })
		if slices.ContainsFunc(f.Series, func(s figure.Series) bool { return s.Kind != figure.Ideal }) {
			kept = append(kept, f)
		}
	}
	return kept
}
