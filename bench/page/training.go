package page

import (
	"fmt"
	"slices"

	"hogwild/bench"
	"hogwild/hogwild/rundir"
	"hogwild/internal/figure"
)

// panelOf is runs as cases of one repeat each: they have figures that experiments have too.
func panelOf(all []*run) (p panel) {
	for _, r := range all {
		c := &bench.Measured{Histories: [][]rundir.EpochResult{r.Epochs}, Workers: len(r.workers())}
		if r.Result != nil && r.Result.Instruments != nil {
			c.Staleness = r.Result.StalenessHistogram
		}
		p.cases = append(p.cases, entry{r.legend, r.color, c})
	}
	return p
}

const epochEnds = "At the end of each epoch."

// learned is how the losses and the other scores of runs went, and a learning rate that changed.
func learned(p panel) (figures []figure.Figure) {
	if len(p.cases) == 1 {
		figures = append(figures, losses(p))
	} else {
		figures = curves(p, epochEnds, testLoss, validationLoss, trainLoss)
	}
	figures = append(figures, curves(p, epochEnds, append(slices.Clone(drawn[1:]), validationScores...)...)...)
	rate := curve(score{name: "learning-rate", title: "Learning rate", label: "learning rate", of: func(e rundir.EpochResult) float64 { return e.LR }}, p, epochEnds)
	if rate.Y.Zero = !rate.Y.Log; slices.ContainsFunc(rate.Series, changes) {
		figures = append(figures, rate)
	}
	return shown(figures...)
}

// changes tells whether a curve is not flat.
func changes(s figure.Series) bool {
	return slices.ContainsFunc(s.Points, func(p figure.Point) bool { return p.Y != s.Points[0].Y })
}

// losses is both losses of one run. Of the test and the validation loss it has one at each
// epoch; the other is not shown.
func losses(p panel) figure.Figure {
	f, train, validation := curve(testLoss, p, ""), curve(trainLoss, p, "").Series[0], curve(validationLoss, p, "").Series[0]
	f.Series[0].Name, f.Series[0].Color = "test", 0
	validation.Name, validation.Color = "validation", 0
	train.Name, train.Color = "training", 1
	f.Title, f.Y.Label = "Loss", "loss, mean per example"
	f.Series = append(f.Series, validation, train)
	f.Y.Log = decades(f) >= 1.5
	f.Caption = epochEnds + " Training loss: mean over the epoch, computed just before each update."
	return f
}

// rates is how fast runs went over time, of one run each worker too. A single moment says
// nothing of that.
func rates(all []*run) []figure.Figure {
	if !severalMoments(all) {
		return nil
	}
	const label = "throughput, examples/s"
	whole := overTime("rate", "Throughput", "All workers, smoothed over about two seconds.", label)
	for _, r := range all {
		whole.Series = append(whole.Series, moments(r.legend, r.color, r.Seconds, func(at rundir.Status) float64 { return at.Rate }))
	}
	if len(all) != 1 {
		return shown(whole)
	}
	workers := overTime("workers", "Throughput per worker", "Smoothed over about two seconds.", label)
	workers.Series = eachWorker(all[0].Seconds)
	return shown(whole, workers)
}

// severalMoments says whether a run has more than one moment.
func severalMoments(all []*run) bool {
	return slices.ContainsFunc(all, func(r *run) bool { return len(r.Seconds) > 1 })
}

func overTime(name, title, caption, label string) figure.Figure {
	f := chart("", name+" against time", title, caption, "training time, s", label)
	f.X.Zero, f.Y.Zero = true, true
	return f
}

// moments is a curve of a value at each moment.
func moments(name string, color int, all []rundir.Status, of func(rundir.Status) float64) figure.Series {
	s := figure.Series{Name: name, Color: color, Kind: figure.Curve}
	for _, at := range all {
		s.Points = append(s.Points, figure.Point{X: at.Seconds, Y: of(at)})
	}
	return s
}

// eachWorker is the rate of each worker; of many the slowest, the mean and the fastest.
func eachWorker(seconds []rundir.Status) (all []figure.Series) {
	most := 0
	for _, at := range seconds {
		for _, w := range at.Workers {
			most = max(most, w.Rank+1)
		}
	}
	if most > tellApart {
		return extremes(seconds)
	}
	for rank := range most {
		all = append(all, moments(fmt.Sprintf("worker %d", rank), rank, seconds, func(at rundir.Status) float64 {
			for _, w := range at.Workers {
				if w.Rank == rank {
					return w.Rate
				}
			}
			return nan // it has not joined yet, or has left
		}))
	}
	return all
}

func extremes(seconds []rundir.Status) (all []figure.Series) {
	for i, e := range []struct {
		name string
		of   func([]float64) float64
	}{{"slowest worker", slices.Min[[]float64]}, {"mean", mean}, {"fastest worker", slices.Max[[]float64]}} {
		all = append(all, moments(e.name, i, seconds, func(at rundir.Status) float64 {
			var rates []float64
			for _, w := range at.Workers {
				rates = append(rates, w.Rate)
			}
			if rates == nil {
				return nan
			}
			return e.of(rates)
		}))
	}
	return all
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}
