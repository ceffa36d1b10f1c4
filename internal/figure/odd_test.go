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
		0, 0, 1, 1, 2, -1, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64,
		math.SmallestNonzeroFloat64, 1e-300, 1e300, 1e15, 97, 97.0000001,
	}))
}

func oddText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "loss", "time, s", "a\xff\x00b\ufffe\ue001", strings.Repeat("long ", 60), strings.Repeat("W", 900)}))
}

func oddAxis(t *rapid.T, name string) Axis {
	return Axis{
		Label: oddText().Draw(t, name), Log: rapid.Bool().Draw(t, name+" log"), Zero: rapid.Bool().Draw(t, name+" zero"),
		Names: rapid.SliceOfN(oddText(), 0, rapid.SampledFrom([]int{0, 0, 3, 30}).Draw(t, name+" names")).Draw(t, name+" name"),
	}
}

func oddSeries() *rapid.Generator[Series] {
	return rapid.Custom(func(t *rapid.T) Series {
		point := rapid.Custom(func(t *rapid.T) Point {
			return Point{X: oddNumber().Draw(t, "x"), Y: oddNumber().Draw(t, "y"), Low: oddNumber().Draw(t, "low"), High: oddNumber().Draw(t, "high")}
		})
		return Series{
			Name: oddText().Draw(t, "name"), Kind: Kind(rapid.IntRange(0, 5).Draw(t, "kind")),
			Points: rapid.SliceOfN(point, 0, 12).Draw(t, "points"), Color: rapid.IntRange(-3, 20).Draw(t, "color"),
		}
	})
}

// TestOddFigures draws what nobody should ask for: every figure is read by a reader of XML,
// and nothing in it is outside of it.
func TestOddFigures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &Figure{
			Title: oddText().Draw(t, "title"), X: oddAxis(t, "x"), Y: oddAxis(t, "y"),
			Series: rapid.SliceOfN(oddSeries(), 0, 5).Draw(t, "series"),
		}
		_, all := parsed(t, f)
		wide, high := number(t, all[0].attr["width"]), number(t, all[0].attr["height"])
		if wide != figureWidth || high > 1000 {
			t.Fatalf("%v by %v", wide, high)
		}
		for _, e := range all {
			switch {
			case e.name == "path":
				for _, c := range corners(t, e) {
					inside(t, c[0], c[1], wide, high)
				}
			case e.name == "text" && !e.turned:
				x, y := number(t, e.attr["x"]), -number(t, e.attr["y"])
				font := face(textSize)
				w := font.Width(e.text).Points() // not narrower than it is drawn, but for the title
				inside(t, x, y, wide, high)
				switch e.attr["text-anchor"] {
				case "start":
					inside(t, x+w, y, wide, high)
				case "end":
					inside(t, x-w*tickSize/textSize, y, wide, high)
				}
			}
		}
	})
}

func inside(t *rapid.T, x, y, wide, high float64) {
	t.Helper()
	if !(x >= 0 && x <= wide && y >= 0 && y <= high) { // NaN is outside too
		t.Fatalf("(%v, %v) is outside of %v by %v", x, y, wide, high)
	}
}

func TestOddPNG(t *testing.T) {
	for _, f := range []*Figure{
		{},
		{Title: strings.Repeat("long ", 300), Series: []Series{{Name: "s", Points: []Point{{X: 1, Y: 1}}}}},
		{X: Axis{Names: make([]string, 3000)}, Series: []Series{{Kind: Bars, Points: []Point{{X: 7, Y: -1e300}}}, {Kind: Curve, Points: []Point{{X: 1, Y: math.NaN()}}}}},
	} {
		var b bytes.Buffer
		if err := f.PNG(&b); err != nil || b.Len() < 1000 {
			t.Errorf("%d bytes, %v", b.Len(), err)
		}
	}
}
