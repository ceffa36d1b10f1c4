package page

import (
	"math"

	"hogwild/hogwild/rundir"
	"hogwild/internal/figure"
)

// track is how one run went, as a figure shows it.
type track struct {
	name   string
	color  int
	epochs []rundir.EpochResult
}

// score is what tells how well a model does after an epoch. Its value is NaN where the
// model has no such score.
type score struct {
	name, title, label string
	of                 func(rundir.EpochResult) float64
}

// axis is what a score is drawn against.
type axis struct {
	name, title, label string
	of                 func(rundir.EpochResult) float64
}

var (
	testLoss  = score{"loss", "Test loss", "test loss, mean of an example", func(e rundir.EpochResult) float64 { return e.TestLoss }}
	trainLoss = score{"train-loss", "Training loss", "training loss, mean of an example", func(e rundir.EpochResult) float64 { return e.TrainLoss }}

	quality = []score{
		{"accuracy", "Test accuracy", "test accuracy, % of the examples", func(e rundir.EpochResult) float64 { return 100 * value(e.TestAccuracy) }},
		{"rmse", "Test RMSE", "test RMSE, in units of the target", func(e rundir.EpochResult) float64 { return value(e.TestRMSE) }},
		{"r2", "Test R²", "test R², share of the variance", func(e rundir.EpochResult) float64 { return value(e.TestR2) }},
	}

	againstTime     = axis{"time", "training time", "training time, s", func(e rundir.EpochResult) float64 { return e.Seconds }}
	againstExamples = axis{"examples", "examples", "examples trained", func(e rundir.EpochResult) float64 { return float64(e.Examples) }}
)

func value(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

// curve is a score of each track against time or examples; the name and the title may be
// those of a part of an experiment.
func curve(s score, a axis, part, caption string, tracks []track) figure.Figure {
	f := figure.Figure{
		Name:  anchor(part+" "+s.name) + "-against-" + a.name,
		Title: within(s.title+" against "+a.title, part), Caption: caption,
		X: figure.Axis{Label: a.label, Log: apart(a, tracks), Zero: true},
		Y: figure.Axis{Label: s.label},
	}
	for _, t := range tracks {
		line := figure.Series{Name: t.name, Color: t.color, Kind: figure.Line}
		for _, e := range t.epochs {
			line.Points = append(line.Points, figure.Point{X: a.of(e), Y: s.of(e)})
		}
		if len(line.Points) > 20 {
			line.Kind = figure.Curve
		}
		f.Series = append(f.Series, line)
	}
	f.Y.Log = s.name != "accuracy" && s.name != "r2" && decades(f) >= 1.5
	f.X.Zero = !f.X.Log
	return f
}

// within is a title and the part of the experiment that it is of.
func within(title, part string) string {
	if part == "" {
		return title
	}
	return title + ", " + part
}

// apart says whether the tracks end so far from each other that only a logarithmic axis
// shows them all.
func apart(a axis, tracks []track) bool {
	low, high := math.Inf(1), 0.0
	for _, t := range tracks {
		if n := len(t.epochs); n > 0 {
			low, high = min(low, a.of(t.epochs[n-1])), max(high, a.of(t.epochs[n-1]))
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
		var series []figure.Series
		measured := false
		for _, s := range f.Series {
			if hasPoint(f, s) {
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

func hasPoint(f figure.Figure, s figure.Series) bool {
	for _, p := range s.Points {
		if finite(p.X) && finite(p.Y) && (!f.X.Log || p.X > 0) && (!f.Y.Log || p.Y > 0) {
			return true
		}
	}
	return false
}
