package page

import (
	"fmt"

	"hogwild/hogwild/rundir"
	"hogwild/internal/figure"
)

// learned is how the losses and the other scores of runs went, and the learning rate.
func learned(all []*run) (figures []figure.Figure) {
	var tracks []track
	for _, r := range all {
		tracks = append(tracks, track{r.name, r.color, r.Epochs})
	}
	for _, a := range []axis{againstTime, againstExamples} {
		if len(all) == 1 {
			figures = append(figures, losses(all[0], a))
			continue
		}
		for _, s := range []score{testLoss, trainLoss} {
			figures = append(figures, curve(s, a, "", epochEnds, tracks))
		}
	}
	if len(all) == 1 {
		tracks[0].name = "" // nothing to be told from
	}
	for _, s := range quality {
		for _, a := range []axis{againstTime, againstExamples} {
			figures = append(figures, curve(s, a, "", epochEnds, tracks))
		}
	}
	return shown(append(figures, rateOfLearning(tracks))...)
}

const epochEnds = "At the end of each epoch."

// losses is both losses of one run.
func losses(r *run, a axis) figure.Figure {
	f := curve(testLoss, a, "", "", []track{{"test", 0, r.Epochs}})
	train := curve(trainLoss, a, "", "", []track{{"training", 1, r.Epochs}})
	f.Title = "Loss against " + a.title
	f.Y.Label = "loss, mean of an example"
	f.Series = append(f.Series, train.Series...)
	f.Y.Log = decades(f) >= 1.5
	f.Caption = epochEnds + " An example's training loss is the one just before it was learned from."
	return f
}

// rateOfLearning is the learning rate at the end of each epoch.
func rateOfLearning(tracks []track) figure.Figure {
	f := figure.Figure{
		Name: "learning-rate", Title: "Learning rate", Caption: "At the end of each epoch.",
		X: figure.Axis{Label: "epoch"}, Y: figure.Axis{Label: "learning rate, step on the mean gradient", Zero: true},
	}
	for _, t := range tracks {
		s := figure.Series{Name: t.name, Color: t.color}
		for _, e := range t.epochs {
			s.Points = append(s.Points, figure.Point{X: float64(e.Epoch), Y: e.LR})
		}
		f.Series = append(f.Series, s)
	}
	if decades(f) >= 1.5 {
		f.Y.Log, f.Y.Zero = true, false
	}
	return f
}

// rates is how fast runs went over time, of one run each worker too. A single moment says
// nothing of that.
func rates(all []*run) (figures []figure.Figure) {
	if moments(all) > 1 {
		figures = append(figures, wholes(all))
	}
	if len(all) == 1 && moments(all) > 1 {
		figures = append(figures, eachWorker(all[0]))
	}
	if len(all) == 1 {
		figures = append(figures, together(all[0]))
	}
	return shown(figures...)
}

// wholes is the rate of each run.
func wholes(all []*run) figure.Figure {
	f := perSecond("rate-against-time", "Examples a second against time", "All workers together, over the second before.")
	for _, r := range all {
		s := figure.Series{Name: r.name, Color: r.color, Kind: figure.Curve}
		if len(all) == 1 {
			s.Name = ""
		}
		for _, at := range r.Seconds {
			s.Points = append(s.Points, figure.Point{X: at.Seconds, Y: at.Rate})
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// moments is how many moments there are of the run that has the most.
func moments(all []*run) (most int) {
	for _, r := range all {
		most = max(most, len(r.Seconds))
	}
	return most
}

func perSecond(name, title, caption string) figure.Figure {
	return figure.Figure{
		Name: name, Title: title, Caption: caption,
		X: figure.Axis{Label: "training time, s", Zero: true},
		Y: figure.Axis{Label: "examples trained, 1/s", Zero: true},
	}
}

// eachWorker is the rate of each worker; of many the slowest, the mean and the fastest.
func eachWorker(r *run) figure.Figure {
	f := perSecond("workers-against-time", "Speed of each worker against time", "Over the second before.")
	if len(r.now().Workers) > tellApart {
		f.Title = "Speed of the workers against time"
		f.Series = extremes(r.Seconds)
		return f
	}
	for _, at := range r.Seconds {
		for _, w := range at.Workers {
			for len(f.Series) <= w.Rank {
				n := len(f.Series)
				f.Series = append(f.Series, figure.Series{Name: fmt.Sprintf("worker %d", n), Color: n, Kind: figure.Curve})
			}
			s := &f.Series[w.Rank]
			s.Points = append(s.Points, figure.Point{X: at.Seconds, Y: w.Rate})
		}
	}
	return f
}

func extremes(seconds []rundir.Status) []figure.Series {
	all := []figure.Series{
		{Name: "slowest worker", Color: 0, Kind: figure.Curve},
		{Name: "mean", Color: 1, Kind: figure.Curve},
		{Name: "fastest worker", Color: 2, Kind: figure.Curve},
	}
	for _, at := range seconds {
		if len(at.Workers) == 0 {
			continue
		}
		low, sum, high := at.Workers[0].Rate, 0.0, 0.0
		for _, w := range at.Workers {
			low, sum, high = min(low, w.Rate), sum+w.Rate, max(high, w.Rate)
		}
		for i, y := range []float64{low, sum / float64(len(at.Workers)), high} {
			all[i].Points = append(all[i].Points, figure.Point{X: at.Seconds, Y: y})
		}
	}
	return all
}

// together is how fast each worker was over the whole run.
func together(r *run) figure.Figure {
	list := r.now().Workers
	if r.Result != nil && len(r.Result.PerWorker) > 0 {
		list = r.Result.PerWorker
	}
	f := figure.Figure{
		Name: "workers", Title: "Speed of each worker", Caption: "Over the whole run.",
		X: figure.Axis{Label: "rank of the worker"}, Y: figure.Axis{Label: "examples trained, 1/s", Zero: true},
		Series: []figure.Series{{Kind: figure.Bars}},
	}
	seconds := max(r.last().Seconds, r.now().Seconds)
	for _, w := range list {
		if len(list) <= 4*tellApart {
			f.X.Names = append(f.X.Names, fmt.Sprint(w.Rank))
		}
		f.Series[0].Points = append(f.Series[0].Points, figure.Point{X: float64(w.Rank), Y: float64(w.Examples) / seconds})
	}
	return f
}

// asynchronyOf is how stale the updates of runs were, in all and over time.
func asynchronyOf(all []*run) []figure.Figure {
	steps := histogram("")
	course := perSecond("staleness-against-time", "Staleness against time", "Mean of the samples so far.")
	course.Y = figure.Axis{Label: "updates by others, mean", Zero: true}
	for _, r := range all {
		name := r.name
		if len(all) == 1 {
			name = ""
		}
		if r.Result != nil && r.Result.Instruments != nil {
			steps.Series = append(steps.Series, figure.Series{
				Name: name, Color: r.color, Kind: figure.Steps, Points: octaves(r.Result.StalenessHistogram),
			})
		}
		course.Series = append(course.Series, figure.Series{Name: name, Color: r.color, Kind: figure.Curve, Points: stale(r.Seconds)})
	}
	if !someAbove(course) || moments(all) < 2 {
		return shown(steps)
	}
	return shown(steps, course)
}

// stale is the mean staleness of all workers at each moment.
func stale(seconds []rundir.Status) (points []figure.Point) {
	for _, at := range seconds {
		samples, sum := 0.0, 0.0
		for _, w := range at.Workers {
			if w.Instruments != nil {
				samples += float64(w.StalenessSamples)
				sum += float64(w.StalenessSamples) * w.StalenessMean
			}
		}
		points = append(points, figure.Point{X: at.Seconds, Y: sum / samples})
	}
	return points
}
