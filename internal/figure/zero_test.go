package figure

import (
	"math"
	"testing"
)

// TestZeroOnALogAxis: 0 is drawn left of all other values with a label of its own, and the others where they are
// without it, a decade equally wide everywhere.
func TestZeroOnALogAxis(t *testing.T) {
	f := Figure{X: Axis{Label: "l2", Log: true, Least: 1e-6}, Y: Axis{Label: "loss"}, Series: []Series{{Points: []Point{
		{X: 0, Y: 1}, {X: 1e-6, Y: 2}, {X: 1e-5, Y: 3}, {X: 1e-3, Y: 4}}}}}
	l := f.layout()
	var at []float64
	for _, p := range l.drawn[0].points {
		at = append(at, l.atX(p.x))
	}
	decade := at[2] - at[1]
	if !(decade > 0) || math.Abs(at[1]-at[0]-decade) > 1e-9 || math.Abs(at[3]-at[2]-2*decade) > 1e-9 {
		t.Errorf("the points are at %v", at)
	}
	zeros := 0
	for _, tick := range l.xTicks {
		switch {
		case tick.label == "0":
			zeros++
			if math.Abs(l.atX(tick.place)-at[0]) > 1e-9 {
				t.Errorf("0 is marked at %v, and drawn at %v", l.atX(tick.place), at[0])
			}
		case l.atX(tick.place) < at[1]-2:
			t.Errorf("%s is marked left of the least value", tick.label)
		}
	}
	if zeros != 1 {
		t.Errorf("0 is marked %d times: %+v", zeros, l.xTicks)
	}
}
