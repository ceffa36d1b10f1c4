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

// score is what tells how well a model does: after an epoch, and of a case at its end. It
// is NaN where the model has no such score.
type score struct {
	name, title, label string
	of                 func(rundir.EpochResult) float64
	head               string // of its column in a table
	text               func(float64) string
	end                measure
}

var (
	testLoss = score{"loss", "Test loss", "test loss, mean per example", func(e rundir.EpochResult) float64 { return e.TestLoss },
		"test loss", human.Loss, func(c *bench.Measured) []bench.Number { return c.TestLoss }}
	trainLoss = score{"train-loss", "Training loss", "training loss, mean per example", func(e rundir.EpochResult) float64 { return e.TrainLoss },
		"train loss", human.Loss, func(c *bench.Measured) []bench.Number { return c.TrainLoss }}
	accuracy = score{"accuracy", "Test accuracy", "test accuracy, %", func(e rundir.EpochResult) float64 { return 100 * value(e.TestAccuracy) },
		"accuracy", human.Accuracy, func(c *bench.Measured) []bench.Number { return c.TestAccuracy }}
	rmse = score{"rmse", "Test RMSE", "test RMSE, in units of the target", func(e rundir.EpochResult) float64 { return value(e.TestRMSE) },
		"RMSE", human.Loss, func(c *bench.Measured) []bench.Number { return c.TestRMSE }}
	r2     = score{head: "R²", text: human.Loss, end: func(c *bench.Measured) []bench.Number { return c.TestR2 }}
	scores = []score{testLoss, accuracy, rmse, r2} // on the test set
	drawn  = scores[:3]                            // R² goes as RMSE does

	validationLoss = score{"validation-loss", "Validation loss", "validation loss, mean per example",
		func(e rundir.EpochResult) float64 { return value(e.ValidationLoss) }, "validation loss", human.Loss, none}
	validationScores = []score{
		{"validation-accuracy", "Validation accuracy", "validation accuracy, %",
			func(e rundir.EpochResult) float64 { return 100 * value(e.ValidationAccuracy) }, "", human.Accuracy, none},
		{"validation-rmse", "Validation RMSE", "validation RMSE, in units of the target",
			func(e rundir.EpochResult) float64 { return value(e.ValidationRMSE) }, "", human.Loss, none},
	}
)

// none is the measure of scores that experiments do not have.
func none(*bench.Measured) []bench.Number { return nil }

func value(p *float64) float64 {
	if p == nil {
		return nan
	}
	return *p
}

// curves is a figure for each score that the cases of a panel have, against time.
func curves(p panel, caption string, scores ...score) (all []figure.Figure) {
	for _, s := range scores {
		all = append(all, curve(s, p, caption))
	}
	return shown(all...)
}

func atSeconds(e rundir.EpochResult) float64 { return e.Seconds }

// curve is a score of each case of a panel.
func curve(s score, p panel, caption string) figure.Figure {
	f := chart(p.part, s.name+" against time", s.title, caption, "training time, s", s.label)
	f.X.Log = apart(p)
	for _, c := range p.cases {
		line := figure.Series{Name: c.name, Color: c.color}
		x, y := medians(c.Measured, atSeconds), medians(c.Measured, s.of)
		for i := range x {
			line.Points = append(line.Points, figure.Point{X: x[i], Y: y[i]})
		}
		if len(x) > 20 {
			line.Kind = figure.Curve
		}
		f.Series = append(f.Series, line)
	}
	f.Y.Log = !strings.HasSuffix(s.name, "accuracy") && decades(f) >= 1.5
	f.X.Zero = !f.X.Log
	return f
}

// medians is the medians of a case's repeats at the end of each epoch that most of them
// came to. One repeat of each case would not do: with other seeds other rows are held out,
// and their losses do not compare.
func medians(c *bench.Measured, of func(rundir.EpochResult) float64) (all []float64) {
	for i := 0; ; i++ {
		var repeats []bench.Number
		for _, epochs := range c.Histories {
			if i < len(epochs) {
				repeats = append(repeats, bench.Number(of(epochs[i])))
			}
		}
		if len(repeats) == 0 || 2*len(repeats) < len(c.Histories) {
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
	return figure.Figure{Name: anchor(name), Title: title, Caption: caption, X: figure.Axis{Label: x}, Y: figure.Axis{Label: y}}
}

// apart says whether the cases end so far from each other that only a logarithmic axis
// shows them all.
func apart(p panel) bool {
	low, high := math.Inf(1), 0.0
	for _, c := range p.cases {
		if x := medians(c.Measured, atSeconds); len(x) > 0 {
			low, high = min(low, x[len(x)-1]), max(high, x[len(x)-1])
		}
	}
	return low > 0 && high >= 10*low
}

// decades is over how many powers of ten the values of a figure range, and the ends of their
// ranges; 0 if not all values are positive.
func decades(f figure.Figure) float64 {
	low, high := math.Inf(1), 0.0
	for _, s := range f.Series {
		for _, p := range s.Points {
			if finite(p.Y) {
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
			return finite(p.X) && finite(p.Y) && (!f.X.Log || p.X > 0) && (!f.Y.Log || p.Y > 0)
		}
		var series []figure.Series
		measured := false
		for _, s := range f.Series {
			if slices.ContainsFunc(s.Points, visible) {
				series = append(series, s)
				measured = measured || s.Kind != figure.Ideal
			}
		}
		if f.Series = series; measured {
			kept = append(kept, f)
		}
	}
	return kept
}
