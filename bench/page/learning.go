package page

import (
	"hogwild/bench"
	"hogwild/hogwild/rundir"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

const medians = "At the end of each epoch: the medians of the repeats' times and scores."

// learning is how the test loss and the other scores went with time and with examples.
func (g *group) learning() (all []figure.Figure) {
	for _, p := range g.panels() {
		all = append(all, curves(p, medians)...)
	}
	return all
}

// curves is a figure for each score that the cases of a panel have, against time and
// against examples.
func curves(p panel, caption string) (all []figure.Figure) {
	var tracks []track
	for _, c := range p.cases {
		tracks = append(tracks, track{c.name, c.color, median(c.Measured)})
	}
	for _, s := range append([]score{testLoss}, quality...) {
		for _, a := range []axis{againstTime, againstExamples} {
			all = append(all, curve(s, a, p.part, caption, tracks))
		}
	}
	return shown(all...)
}

// median is the medians of a case's repeats at the end of each epoch that most of them
// came to. One repeat of each case would not do: with other seeds other rows are held out,
// and their losses do not compare.
func median(c *bench.Measured) (epochs []rundir.EpochResult) {
	for i := 0; ; i++ {
		var at []rundir.EpochResult
		for _, h := range c.Histories {
			if i < len(h) {
				at = append(at, h[i])
			}
		}
		if len(at) == 0 || 2*len(at) < len(c.Histories) {
			return epochs
		}
		of := func(value func(rundir.EpochResult) float64) float64 {
			var list []bench.Number
			for _, e := range at {
				list = append(list, bench.Number(value(e)))
			}
			return bench.Summarize(list).Median
		}
		e := rundir.EpochResult{
			Epoch: at[0].Epoch, Seconds: of(againstTime.of), Examples: int64(of(againstExamples.of)),
			TrainLoss: of(trainLoss.of), TestLoss: of(testLoss.of),
		}
		accuracy, rmse, r2 := of(quality[0].of)/100, of(quality[1].of), of(quality[2].of)
		e.TestAccuracy, e.TestRMSE, e.TestR2 = &accuracy, &rmse, &r2
		epochs = append(epochs, e)
	}
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

// toTarget is the time and the epochs to the target, bars for each number of workers.
func (g *group) toTarget() []figure.Figure {
	loss := g.target()
	if !finite(loss) {
		return nil
	}
	caption := g.repeats() + " A case that did not get there has no bar."
	to := " to a test loss of " + human.Loss(loss)
	return shown(
		g.bars(figure.Figure{
			Name: "time-to-target", Title: within("Training time"+to, g.name), Caption: caption,
			Y: figure.Axis{Label: "training time to the target, s"},
		}, func(c *bench.Measured) []bench.Number { return c.SecondsToTarget }),
		g.bars(figure.Figure{
			Name: "epochs-to-target", Title: within("Epochs"+to, g.name), Caption: caption,
			Y: figure.Axis{Label: "epochs to the target"},
		}, func(c *bench.Measured) []bench.Number { return c.EpochsToTarget }),
	)
}
