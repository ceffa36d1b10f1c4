package figure

import (
	"math"
	"slices"
)

// spot is a point by its places on the axes; low and high are NaN without a range.
type spot struct {
	Point
	x, y, low, high float64
}

// ok reports whether the point can be drawn.
func (p spot) ok() bool { return !math.IsNaN(p.x) && !math.IsNaN(p.y) }

// ranged reports whether the point has a range.
func (p spot) ranged() bool { return p.ok() && p.low < p.high }

// drawn is a series as it is drawn.
type drawn struct {
	*Series
	look
	points []spot
	beside float64 // how far a line is drawn off its places: see dodge
}

// prepare finds the places and looks of all series.
func (l *layout) prepare() []*drawn {
	var all []*drawn
	used := map[int]int{}
	for i := range l.Series {
		s := &l.Series[i]
		c := int(uint(s.Color) % uint(len(light))) // after the last one comes the first one again
		d := &drawn{Series: s, look: lookOf(c, used[c])}
		if s.Kind != Ideal {
			used[c]++
		}
		for _, p := range s.Points {
			d.points = append(d.points, l.spot(p))
		}
		all = append(all, d)
	}
	return all
}

// spot finds the places of a point. A range ends at the foot of a logarithmic axis if it
// ends at or below 0.
func (l *layout) spot(p Point) spot {
	s := spot{Point: p, x: l.X.place(p.X), y: l.Y.place(p.Y), low: math.NaN(), high: math.NaN()}
	if p.Low == p.High || !(p.Low <= p.Y && p.Y <= p.High) {
		return s
	}
	s.low, s.high = l.Y.place(p.Low), l.Y.place(p.High)
	if l.Y.Log && p.Low <= 0 {
		s.low = math.Inf(-1)
	}
	return s
}

// dodge sets lines a few pixels apart whose ranges would hide each other.
func (l *layout) dodge() {
	const apart, most = 4, 16 // pixels, from one to the next and of all
	lines := slices.DeleteFunc(slices.Clone(l.drawn), func(d *drawn) bool {
		return d.Kind != Line || !slices.ContainsFunc(d.points, spot.ranged)
	})
	n := float64(len(lines))
	for i, d := range lines {
		d.beside = (float64(i) - (n-1)/2) * min(apart, most/n)
	}
}

// runs are the parts of a series between points that cannot be drawn.
func (d *drawn) runs() [][]spot {
	var runs [][]spot
	gap := true
	for _, p := range d.points {
		if !p.ok() {
			gap = true
			continue
		}
		if gap {
			runs = append(runs, nil)
			gap = false
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], p)
	}
	return runs
}
