package figure

import (
	"cmp"
	"math"
	"slices"
)

// spot is a point by its places on the axes; low and high are NaN without a range.
type spot struct {
	Point
	x, y, low, high float64
}

// ok tells whether the point can be drawn.
func (p spot) ok() bool { return !math.IsNaN(p.x) && !math.IsNaN(p.y) }

// ranged tells whether the point has a range.
func (p spot) ranged() bool { return p.ok() && p.low < p.high }

// drawn is a series as it is drawn.
type drawn struct {
	*Series
	look
	points []spot
	extent float64 // of the slot of bars to both sides, and of the last step to the right
	beside float64 // how far a line is drawn beside its places: see dodge
}

// prepare finds the places and looks of all series.
func (l *layout) prepare() []*drawn {
	var all []*drawn
	used := map[int]int{}
	for i := range l.Series {
		s := &l.Series[i]
		c := wheel(s.Color)
		d := &drawn{Series: s, look: lookOf(c, used[c])}
		if s.Kind != Ideal {
			used[c]++
		}
		for _, p := range s.Points {
			d.points = append(d.points, l.spot(p))
		}
		switch s.Kind {
		case Bars:
			d.extent = 0.5
		case Steps:
			d.sort()
			d.extent = d.lastStep()
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
	if l.Y.log() && p.Low <= 0 {
		s.low = math.Inf(-1)
	}
	return s
}

// sort orders the steps of a histogram, without those that have no place. Where nothing
// was counted, which has none on a logarithmic axis, the step is at its foot.
func (d *drawn) sort() {
	for i, p := range d.points {
		if p.Y == 0 && math.IsNaN(p.y) {
			d.points[i].y = math.Inf(-1)
		}
	}
	d.points = slices.DeleteFunc(d.points, func(p spot) bool { return !p.ok() })
	slices.SortStableFunc(d.points, func(a, b spot) int { return cmp.Compare(a.x, b.x) })
}

// lastStep is the width of a histogram's last step: that of the one before it, and nothing
// if the last only says where the histogram ends.
func (d *drawn) lastStep() float64 {
	n := len(d.points)
	switch {
	case n == 0 || n > 1 && d.points[n-1].Y == 0:
		return 0
	case n == 1:
		return 1
	}
	return d.points[n-1].x - d.points[n-2].x
}

// bars is how many series stand side by side as bars.
func (l *layout) bars() int {
	n := 0
	for _, d := range l.drawn {
		if d.Kind == Bars {
			n++
		}
	}
	return n
}

// dodge sets lines a few pixels apart whose ranges stand at the same places and would hide
// each other, by less than a third of the way to the next place.
func (l *layout) dodge() {
	const apart, most = 4, 16 // pixels, from one to the next and of all
	var lines []*drawn
	var places []float64
	at, shared := map[float64]bool{}, false
	for _, d := range l.drawn {
		if d.Kind != Line || !slices.ContainsFunc(d.points, spot.ranged) {
			continue
		}
		lines = append(lines, d)
		for _, p := range d.points {
			switch {
			case !p.ranged():
			case at[p.x]:
				shared = true
			default:
				at[p.x] = true
				places = append(places, l.atX(p.x))
			}
		}
	}
	if !shared {
		return
	}
	slices.Sort(places)
	n := float64(len(lines))
	step := min(apart, most/n)
	for i := 1; i < len(places); i++ {
		step = min(step, (places[i]-places[i-1])/3/n)
	}
	for i, d := range lines {
		d.beside = (float64(i) - (n-1)/2) * step
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
