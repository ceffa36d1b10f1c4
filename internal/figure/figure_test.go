package figure

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// element is an element of an SVG, in the order of the file.
type element struct {
	name, text string
	attr       map[string]string
}

// parsed is a figure's SVG, read back by a strict reader of XML.
func parsed(t rapid.TB, f *Figure) (svg string, all []element) {
	t.Helper()
	var b bytes.Buffer
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	svg = b.String()
	d := xml.NewDecoder(strings.NewReader(svg))
	var open []int
	for {
		token, err := d.Token()
		if err == io.EOF {
			return svg, all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			open = append(open, len(all))
			all = append(all, e)
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(token)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// corners are the numbers of a path; y grows upwards, as values do.
func corners(t rapid.TB, e element) (xy [][2]float64) {
	t.Helper()
	for _, m := range regexp.MustCompile(`[ML]([^,]*),([^MLAZ]*)`).FindAllStringSubmatch(e.attr["d"], -1) {
		xy = append(xy, [2]float64{number(t, m[1]), -number(t, m[2])})
	}
	return xy
}

func number(t rapid.TB, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// paths returns the paths whose style holds a text.
func paths(all []element, style string) (found []element) {
	for _, e := range all {
		if e.name == "path" && strings.Contains(e.attr["style"], style) {
			found = append(found, e)
		}
	}
	return found
}

// scaleOf is the map from values to pixels that a reader of the figure makes: through the
// first and the last label and where they stand. The ticks and lines of the grid are drawn
// just before their labels.
func scaleOf(t *testing.T, all []element, anchor string, axis int, log bool) func(float64) float64 {
	t.Helper()
	var values, places []float64
	for i, e := range all {
		v, err := strconv.ParseFloat(strings.ReplaceAll(e.text, "\u00a0k", "e3"), 64)
		if e.name != "text" || err != nil || e.attr["text-anchor"] != anchor {
			continue
		}
		values = append(values, v)
		places = append(places, corners(t, all[i-1])[0][axis])
	}
	n := len(values) - 1
	if n < 1 {
		t.Fatalf("%d labels are numbers", n+1)
	}
	u := func(v float64) float64 { return v }
	if log {
		u = math.Log10
	}
	return func(v float64) float64 {
		return places[0] + (u(v)-u(values[0]))/(u(values[n])-u(values[0]))*(places[n]-places[0])
	}
}

// TestPointsStandWhereTheLabelsSay reads the drawn line by the labels of the axes.
func TestPointsStandWhereTheLabelsSay(t *testing.T) {
	for name, c := range map[string]struct {
		x, y   Axis
		points []Point
	}{
		"linear": {Axis{Label: "x"}, Axis{Label: "y"},
			[]Point{{X: -1.3, Y: 0.21}, {X: 0.4, Y: 7}, {X: 9.6, Y: 3.3}}},
		"from 0": {Axis{Label: "t, s", Zero: true}, Axis{Label: "y", Zero: true},
			[]Point{{X: 2, Y: 31000}, {X: 5.5, Y: 45500}, {X: 6.25, Y: 46000}}},
		"log": {Axis{Label: "x", Log: true}, Axis{Label: "y", Log: true},
			[]Point{{X: 0.7, Y: 3}, {X: 20, Y: 0.004}, {X: 3e4, Y: 77}}},
		"one decade": {Axis{Label: "x", Log: true}, Axis{Label: "y", Log: true},
			[]Point{{X: 1, Y: 1}, {X: 2, Y: 1.9}, {X: 8, Y: 6.5}}},
		"thin decade": {Axis{Label: "x", Log: true}, Axis{Label: "y", Log: true},
			[]Point{{X: 1.1, Y: 5}, {X: 1.2, Y: 5.9}, {X: 1.9, Y: 8.5}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &Figure{Title: name, X: c.x, Y: c.y, Series: []Series{{Name: "line", Kind: Curve, Points: c.points}}}
			_, all := parsed(t, f)
			x, y := scaleOf(t, all, "middle", 0, c.x.Log), scaleOf(t, all, "end", 1, c.y.Log)
			line := corners(t, paths(all, "stroke:var(--s0")[0])
			if len(line) != len(c.points) {
				t.Fatalf("%d points drawn, want %d", len(line), len(c.points))
			}
			for i, p := range c.points {
				if dx, dy := line[i][0]-x(p.X), line[i][1]-y(p.Y); math.Abs(dx) > 0.05 || math.Abs(dy) > 0.05 {
					t.Errorf("(%v, %v) is drawn %.2f, %.2f beside its place", p.X, p.Y, dx, dy)
				}
			}
		})
	}
}

// TestRangesStandBesideEachOther: lines with ranges at one place are drawn to both sides of
// it, as far apart as can be seen and less than the next place is; the tick stays there.
func TestRangesStandBesideEachOther(t *testing.T) {
	three := func(color int) Series {
		s := Series{Name: strconv.Itoa(color), Color: color}
		for _, x := range []float64{1, 2, 4} {
			s.Points = append(s.Points, Point{X: x, Y: x, Low: 0.9 * x, High: 1.1 * x})
		}
		return s
	}
	f := &Figure{X: Axis{Label: "workers"}, Y: Axis{Label: "speed-up", Log: true},
		Series: []Series{three(0), three(1), three(2)}}
	_, all := parsed(t, f)
	x := scaleOf(t, all, "middle", 0, false)
	ranges := paths(all, "stroke-width:1.3")
	if len(ranges) != 9 {
		t.Fatalf("%d ranges, want 9", len(ranges))
	}
	if n := len(paths(all, "stroke-width:1.2")); n != 18 {
		t.Errorf("%d ends of ranges, want 18", n)
	}
	for i, e := range ranges {
		want := []float64{-4, 0, 4}[i/3]
		if got := corners(t, e)[0][0] - x([]float64{1, 2, 4}[i%3]); math.Abs(got-want) > 0.05 {
			t.Errorf("range %d is %.2f pixels beside its place, want %v", i, got, want)
		}
	}
	f.Series = f.Series[:1]
	_, all = parsed(t, f)
	if got := corners(t, paths(all, "stroke-width:1.3")[0])[0][0] - scaleOf(t, all, "middle", 0,
		false)(1); math.Abs(got) > 0.05 {
		t.Errorf("a range alone is %.2f pixels beside its place", got)
	}
}

func TestSVGSaysWhatIsWhat(t *testing.T) {
	f := &Figure{
		Title: `Loss <& "time"`, Caption: "Median of 5.",
		X: Axis{Label: "training time, s"}, Y: Axis{Label: "test loss, nats"},
		Series: []Series{
			{Name: "async & <b>", Points: []Point{{X: 1, Y: 1, Low: 0.9, High: 1.2}, {X: 2, Y: 0.5}}},
			{Name: "#5878e2 style=\"fill:#F16E01\"", Points: []Point{{X: 1, Y: 2}, {X: 2, Y: 0.7}}, Color: 3},
			{Name: "ideal", Kind: Ideal, Points: []Point{{X: 1, Y: 1}, {X: 2, Y: 0.1}}},
			{Name: "", Kind: Curve, Points: []Point{{X: 1, Y: 3}, {X: 2, Y: 1}}, Color: 9},
		},
	}
	svg, all := parsed(t, f)
	texts := map[string]bool{}
	for _, e := range all {
		texts[e.text] = true
		style := regexp.MustCompile(`var\(--s[0-7],#[0-9a-f]{6}\)`).ReplaceAllString(e.attr["style"], "")
		if e.name != "style" && strings.Contains(style, "#") {
			t.Errorf("%s has a colour of its own: %s", e.name, style)
		}
	}
	for _, want := range []string{f.Title, f.X.Label, f.Y.Label, f.Series[0].Name, f.Series[1].Name, "ideal"} {
		if !texts[want] {
			t.Errorf("%q is not in the figure", want)
		}
	}
	root := all[0]
	if root.name != "svg" || root.attr["role"] != "img" || root.attr["aria-label"] != f.Title ||
		root.attr["viewBox"] == "" {
		t.Errorf("the root is %v", root)
	}
	if !strings.HasPrefix(svg, "<svg ") {
		t.Errorf("it begins with %.40q", svg)
	}
	if strings.Count(svg, "://") != 1 || strings.Contains(svg, "href") || strings.Contains(svg, "url(") ||
		strings.Contains(svg, "@import") {
		t.Error("it asks for something from outside")
	}
}

// TestManyPointsAreThinned: the file stays small, and the highest and the lowest stay.
func TestManyPointsAreThinned(t *testing.T) {
	var points []Point
	for i := range 10_000 {
		points = append(points, Point{X: float64(i), Y: 50 + 10*math.Sin(float64(i*i))})
	}
	points[4321].Y, points[8765].Y = 100, 7
	svg, all := parsed(t,
		&Figure{X: Axis{Label: "x"}, Y: Axis{Label: "y"}, Series: []Series{{Kind: Curve, Points: points}}})
	if len(svg) > 120_000 {
		t.Errorf("%d bytes", len(svg))
	}
	y := scaleOf(t, all, "end", 1, false)
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range corners(t, paths(all, "stroke:var(--s0")[0]) {
		low, high = min(low, c[1]), max(high, c[1])
	}
	if math.Abs(high-y(100)) > 0.05 || math.Abs(low-y(7)) > 0.05 {
		t.Errorf("drawn from %v to %v, want %v to %v", low, high, y(7), y(100))
	}
}

// TestNoData has nothing to draw but the axes.
func TestNoData(t *testing.T) {
	for _, f := range []*Figure{
		{X: Axis{Label: "x"}, Series: []Series{{Kind: Curve}}},
		{X: Axis{Label: "x"}, Y: Axis{Log: true},
			Series: []Series{{Name: "s",
				Points: []Point{{X: 1, Y: -1}, {X: math.NaN(), Y: 1}, {X: 2, Y: math.Inf(1)}}}}},
	} {
		// the legend
		if svg, all := parsed(t, f); !strings.Contains(svg, ">x</text>") ||
			len(paths(all, "stroke-width:1.8")) > len(f.Series) {
			t.Errorf("a figure of nothing: %s", svg)
		}
	}
}

func TestPNG(t *testing.T) {
	f := &Figure{Title: "Time", X: Axis{Label: "workers"}, Y: Axis{Label: "time, s"},
		Series: []Series{{Name: "", Kind: Curve, Points: []Point{{X: 0, Y: 1}, {X: 1, Y: 1}}}}}
	_, all := parsed(t, f)
	var b bytes.Buffer
	if err := f.PNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	size := img.Bounds().Size()
	if want := int(number(t, all[0].attr["height"])*2.5 + 0.5); size.X != 1200 || size.Y != want {
		t.Errorf("%v pixels, want 1200, %d", size, want)
	}
	colored := 0
	for y := range size.Y {
		for x := range size.X {
			if img.At(x, y) == img.At(0, 0) {
				continue
			}
			if r, g, b, _ := img.At(x, y).RGBA(); r>>8 == 0x58 && g>>8 == 0x78 && b>>8 == 0xe2 {
				colored++
			}
		}
	}
	c := corners(t, paths(all, "stroke:var(--s0")[0])
	// edges are blended with the ground
	if want := (c[1][0] - c[0][0]) * 2.5 * dataLine * 2.5; math.Abs(float64(colored)/want-1) > 0.15 {
		t.Errorf("%d pixels have the colour of the line, want %.0f", colored, want)
	}
	if r, g, b, a := img.At(0, 0).RGBA(); r&g&b&a != 0xFFFF {
		t.Error("the ground is not white")
	}
}
