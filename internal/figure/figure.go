// Package figure draws curves, bars and ranges as SVG, which follows the reader's light
// or dark theme, and as PNG. It knows nothing of learning.
package figure

import (
	"bytes"
	"io"

	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a diagram: its axes are labelled, with units, and its series are told apart
// by colour, dash and mark.
type Figure struct {
	Name    string // of its file and anchor: loss-against-time
	Title   string // drawn above the diagram
	Caption string // what to see in it, and how it was measured; plain text, which a page shows below it: it is not drawn
	X, Y    Axis
	Series  []Series
}

// Axis is one axis of a figure.
type Axis struct {
	Label string   // with the unit: "training time, s"
	Log   bool     // logarithmic; what is not positive is left out
	Zero  bool     // the axis begins at 0
	Names []string // of the places 0, 1, 2 ..., for bars
}

// Series is one curve, row of bars or band of a figure.
type Series struct {
	Name   string // in the legend; "" leaves it out there
	Kind   Kind
	Points []Point
	Color  int // index into the palette: the same thing has the same colour in all figures
}

// Point is a place, and the range of the repeats that it is the median of. Low and High
// are equal to Y, or both 0, where there is no range.
type Point struct{ X, Y, Low, High float64 }

// Kind is how a series is drawn.
type Kind int

// The kinds of series.
const (
	Line  Kind = iota // points joined, each with its mark and range
	Curve             // points joined, without marks: for many points
	Ideal             // a thin dashed line, drawn first
	Bars              // a bar from 0 at each X, side by side with those of other series
	Steps             // a histogram: constant from each X to the next
)

// SVG writes the figure as one svg element, which can stand in a page or alone as a file.
// It takes the page's font and ink, and is as wide as its place, to 640 pixels.
func (f *Figure) SVG(w io.Writer) error {
	l := f.layout()
	c := vgsvg.New(l.width, l.height)
	l.draw(&pen{Canvas: c, themed: true})
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err := w.Write(f.themed(b.Bytes(), l))
	return err
}

// PNG writes the figure in its light colours, 1,200 pixels wide.
func (f *Figure) PNG(w io.Writer) error {
	l := f.layout()
	c := vgimg.NewWith(vgimg.UseWH(l.width, l.height), vgimg.UseDPI(dotsPerInch))
	l.draw(&pen{Canvas: c})
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}
