package page

import (
	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// asynchrony is how stale updates were, how many met others or were lost, how long
// workers waited, and how fast each of them was.
func (g *group) asynchrony() []figure.Figure {
	p := g.most()
	all := []figure.Figure{staleness(p)}
	for _, f := range []struct {
		name, title, label, about string
		list                      func(*bench.Measured) []bench.Number
	}{
		{"lost", "Lost updates", "updates lost, % of coordinates written", "Sampled: another wrote between a load and its store.", func(c *bench.Measured) []bench.Number { return percent(c.LostUpdates) }},
		{"conflicts", "Conflicts", "coordinates in conflict, %", "Sampled: another changed them between a step's read and its write.", func(c *bench.Measured) []bench.Number { return percent(c.Conflicts) }},
		{"waiting", "Waiting for others", "waiting of all workers together, s", "At a barrier, and for the next epoch.", func(c *bench.Measured) []bench.Number { return c.BarrierWait }},
	} {
		drawn := g.bars(figure.Figure{
			Name: f.name, Title: within(f.title, g.name), Y: figure.Axis{Label: f.label, Zero: true},
			Caption: f.about + " " + g.repeats(),
		}, f.list)
		if someAbove(drawn) {
			all = append(all, drawn)
		}
	}
	return shown(append(all, ranks(p))...)
}

// percent is shares in percent.
func percent(shares []bench.Number) (all []bench.Number) {
	for _, x := range shares {
		all = append(all, 100*x)
	}
	return all
}

// someAbove says whether any value of a figure is above 0: else there is nothing to see.
func someAbove(f figure.Figure) bool {
	for _, s := range f.Series {
		for _, p := range s.Points {
			if p.Y > 0 {
				return true
			}
		}
	}
	return false
}

// staleness is the histograms of a panel's cases.
func staleness(p panel) figure.Figure {
	f := histogram(p.part)
	for _, c := range p.cases {
		f.Series = append(f.Series, figure.Series{
			Name: c.name, Color: c.color, Kind: figure.Steps, Points: octaves(c.Staleness),
		})
	}
	return f
}

func histogram(part string) figure.Figure {
	return figure.Figure{
		Name: anchor(part + " staleness"), Title: within("Staleness of updates", part),
		Caption: "Updates by others between a step's read of the weights and its write, of all samples: " +
			"0 (drawn at ½), 1, 2 to 3, 4 to 7 and so on.",
		X: figure.Axis{Label: "updates by others", Log: true},
		Y: figure.Axis{Label: "share of the samples, %", Zero: true},
	}
}

// octaves is a histogram with a step for 0 and one for each power of two: of finer
// buckets, which do not have the same widths, shares would not compare.
func octaves(samples [][2]uint64) (steps []figure.Point) {
	var counts []float64
	total := 0.0
	for _, s := range samples {
		at := 0
		for x := s[0]; x > 0; x >>= 1 {
			at++
		}
		for len(counts) <= at {
			counts = append(counts, 0)
		}
		counts[at] += float64(s[1])
		total += float64(s[1])
	}
	if total == 0 {
		return nil
	}
	x := 0.5
	for _, n := range append(counts, 0) { // the 0 ends the last step
		steps = append(steps, figure.Point{X: x, Y: 100 * n / total})
		x *= 2
	}
	return steps
}

// ranks is how fast each worker was.
func ranks(p panel) figure.Figure {
	f := figure.Figure{
		Name: anchor(p.part + " workers"), Title: within("Speed of each worker", p.part),
		Caption: "Over the time that each trained; median and range of the repeats.",
		X:       figure.Axis{Label: "rank of the worker", Names: []string{}},
		Y:       figure.Axis{Label: "examples trained, 1/s", Zero: true},
	}
	for _, c := range p.cases {
		s := figure.Series{Name: c.name, Color: c.color, Kind: figure.Bars}
		for rank := range c.Workers {
			s.Points = append(s.Points, point(float64(rank), ofRank(c.WorkerRate, rank)))
			if rank == len(f.X.Names) {
				f.X.Names = append(f.X.Names, human.Count(int64(rank)))
			}
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// ofRank is the rates of one worker in all repeats.
func ofRank(rates [][]bench.Number, rank int) (all []bench.Number) {
	for _, r := range rates {
		if rank < len(r) {
			all = append(all, r[rank])
		}
	}
	return all
}
