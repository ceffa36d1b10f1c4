package page

import (
	"hogwild/bench"
	"hogwild/internal/figure"
	"hogwild/internal/human"
)

// asynchrony is how stale updates were, how many met others or were lost, how long
// workers waited, and how fast each of them was, with the most workers.
func (g *group) asynchrony() []figure.Figure {
	panels := g.panels()
	most := panels[len(panels)-1]
	all := []figure.Figure{staleness(most)}
	for _, f := range []figure.Figure{
		g.bars("lost", "Lost updates", "Share of sampled writes that overwrote another worker's update. "+g.repeats(),
			"lost updates, % of coordinates", percent(lostUpdates)),
		g.bars("conflicts", "Conflicts", "Share of sampled coordinates that another worker changed between a step's read and its write. "+g.repeats(),
			"conflicts, % of coordinates", percent(conflicts)),
		g.bars("waiting", "Wait", "Time at barriers and at epoch boundaries. "+g.repeats(),
			"wait, summed over workers, s", waited),
	} {
		if someAbove(f) {
			all = append(all, f)
		}
	}
	return shown(append(all, ranks(most, "Over each worker's training time: median and range of the repeats."))...)
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
	const about = "Updates by other workers between a step's read of the weights and its write. " +
		"Buckets: 0 (drawn at ½), 1, 2 to 3, 4 to 7 and so on."
	f := chart(p.part, "staleness", "Staleness of updates", about, "staleness, updates", "samples, %")
	f.X.Log, f.Y.Zero = true, true
	for _, c := range p.cases {
		f.Series = append(f.Series, figure.Series{Name: c.name, Color: c.color, Kind: figure.Steps, Points: octaves(c.Staleness)})
	}
	return f
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
func ranks(p panel, caption string) figure.Figure {
	f := chart(p.part, "workers", "Throughput per worker", caption, "worker rank", "throughput, examples/s")
	f.Y.Zero = true
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
	if len(f.X.Names) > 4*tellApart {
		f.X.Names = nil // an axis of numbers has room for as many
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
