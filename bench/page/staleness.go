package page

import (
	"hogwild/internal/figure"
)

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
