package figure

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// oddNumber is a number of any size, and what is none.
func oddNumber() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64Range(-10, 10), rapid.Float64(), rapid.SampledFrom([]float64{
		0, 0, 1, 1, 2, -1, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64,
		-math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1e-300, 1e300, 1e15, 97, 97.0000001,
	}))
}

func oddText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(),
		rapid.SampledFrom([]string{"", "loss", "time, s", "a\xff\x00b\ufffe\ue001", strings.Repeat("long ", 60),
			strings.Repeat("W", 900)}))
}

func oddAxis(t *rapid.T, name string) Axis {
	return Axis{Label: oddText().Draw(t, name), Log: rapid.Bool().Draw(t, name+" log"),
		Zero: rapid.Bool().Draw(t, name+" zero")}
}

func oddSeries() *rapid.Generator[Series] {
	return rapid.Custom(func(t *rapid.T) Series {
		point := rapid.Custom(func(t *rapid.T) Point {
			return Point{X: oddNumber().Draw(t, "x"), Y: oddNumber().Draw(t, "y"), Low: oddNumber().Draw(t, "low"),
				High: oddNumber().Draw(t, "high")}
		})
		return Series{
			Name: oddText().Draw(t, "name"), Kind: Kind(rapid.IntRange(0, 2).Draw(t, "kind")),
			Points: rapid.SliceOfN(point, 0, 12).Draw(t, "points"), Color: rapid.IntRange(-3, 20).Draw(t, "color"),
		}
	})
}

// TestOddFigures draws figures that make no sense: every figure is read by a reader of XML, and
// nothing in it is outside of it.
func TestOddFigures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &Figure{
			Title: oddText().Draw(t, "title"), X: oddAxis(t, "x"), Y: oddAxis(t, "y"),
			Series: rapid.SliceOfN(oddSeries(), 0, 5).Draw(t, "series"),
		}
		allInside(t, f)
	})
}

// TestTinyNumbers has numbers too small for an axis of their own.
func TestTinyNumbers(t *testing.T) {
	for _, y := range []float64{1e-290, -1e-290, 1e-320, -1e-320} {
		allInside(t, &Figure{Series: []Series{{Points: []Point{{X: 1, Y: y}}}}})
	}
}

// allInside checks that nothing in a figure is outside of it.
func allInside(t rapid.TB, f *Figure) {
	t.Helper()
	_, all := parsed(t, f)
	wide, high := number(t, all[0].attr["width"]), number(t, all[0].attr["height"])
	if wide != figureWidth || high > 1000 {
		t.Fatalf("%v by %v", wide, high)
	}
	for _, e := range all {
		switch {
		case e.name == "path":
			for _, c := range corners(t, e) {
				inside(t, c[0], -c[1], wide, high)
			}
		case e.name == "circle":
			inside(t, number(t, e.attr["cx"]), number(t, e.attr["cy"]), wide, high)
		case e.name == "text" && e.attr["transform"] == "":
			x, y := number(t, e.attr["x"]), number(t, e.attr["y"])
			w := measured(e.text, textSize) // not narrower than it is drawn, but for the title
			inside(t, x, y, wide, high)
			switch e.attr["text-anchor"] {
			case "start":
				inside(t, x+w, y, wide, high)
			case "middle":
				inside(t, x+w/2*tickSize/textSize, y, wide, high)
				inside(t, x-w/2*tickSize/textSize, y, wide, high)
			case "end":
				inside(t, x-w*tickSize/textSize, y, wide, high)
			}
		}
	}
}

func inside(t rapid.TB, x, y, wide, high float64) {
	t.Helper()
	if !(x >= 0 && x <= wide && y >= 0 && y <= high) { // NaN is outside too
		t.Fatalf("(%v, %v) is outside of %v by %v", x, y, wide, high)
	}
}

func TestOddPNG(t *testing.T) {
	for _, f := range []*Figure{
		{},
		{Title: strings.Repeat("long ", 300), Series: []Series{{Name: "s", Points: []Point{{X: 1, Y: 1}}}}},
		{Series: []Series{{Points: []Point{{X: 7, Y: -1e300}}}, {Kind: Curve, Points: []Point{{X: 1, Y: math.NaN()}}}}},
	} {
		var b bytes.Buffer
		if err := f.PNG(&b); err != nil || b.Len() < 1000 {
			t.Errorf("%d bytes, %v", b.Len(), err)
		}
	}
}

// TestTwoPoints: a line has two ends, one whose range falls to 0 reaches the foot of a
// logarithmic axis, and another series of the same colour looks different.
func TestTwoPoints(t *testing.T) {
	points := []Point{{X: 1e-320, Y: 1, Low: 0, High: 2}, {X: 1, Y: 0.1}}
	_, all := parsed(t,
		&Figure{X: Axis{Log: true}, Y: Axis{Log: true},
			Series: []Series{{Points: points}, {Color: 8, Points: []Point{{X: 1e-320, Y: 1}, points[1]}}}})
	lines := paths(all, "stroke-width:1.8")
	if len(lines) < 2 || lines[0].attr["d"] != lines[1].attr["d"] || lines[0].attr["style"] == lines[1].attr["style"] {
		t.Fatalf("two series of one colour are %v", lines)
	}
	axis := paths(all, "stroke-opacity:0.69;stroke-width:0.8")[0]
	foot, low := corners(t, axis)[0][1], corners(t, paths(all, "stroke-width:1.3")[0])[0][1]
	if low != foot {
		t.Errorf("the range ends at %v, the axis is at %v", low, foot)
	}
	for _, e := range all {
		if half := float64(len(e.text)) * tickSize / 4; e.attr["text-anchor"] == "middle" &&
			number(t, e.attr["x"]) < half*0.9 {
			t.Errorf("%q begins left of the figure", e.text)
		}
	}
}

func BenchmarkSVG(b *testing.B) {
	var points []Point
	for i := range 2000 {
		points = append(points, Point{X: float64(i), Y: 2 + math.Sin(float64(i))})
	}
	f := &Figure{Title: "Loss", X: Axis{Label: "time, s"}, Y: Axis{Label: "loss"},
		Series: []Series{{Name: "a", Kind: Curve, Points: points}, {Name: "b", Points: points}}}
	for b.Loop() {
		if err := f.SVG(new(bytes.Buffer)); err != nil {
			b.Fatal(err)
		}
	}
}
