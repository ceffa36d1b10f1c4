// Package figure draws lines and ranges as SVG, which follows the reader's light
// or dark theme, and as PNG. It knows nothing of learning.
//
//	svg.go         a figure as SVG
//	png.go         as PNG
//	draw.go        what is drawn
//	layout.go      where
//	series.go      the points of a series
//	figure.go      Figure
//	text.go        sizes of texts
//	palette.go     colours and marks
//	axis.go        axes
package figure

// Figure is a diagram: its axes are labelled, with units, and its series are told apart
// by colour, dash and mark.
type Figure struct {
	Name  string // of its file and anchor: loss-against-time
	Title string // drawn above the diagram
	// what to see in it, and how it was measured; plain text, which a page shows below it: it is not drawn
	Caption string
	X, Y    Axis
	Series  []Series
}

// Axis is one axis of a figure.
type Axis struct {
	Label string // with the unit: "training time, s"
	Log   bool   // logarithmic; what is not positive is left out
	// Least is the least value of a logarithmic axis that has a place for 0 too, left of it; 0: it has none.
	Least float64
	Zero  bool // the axis begins at 0
}

// Series is one line of a figure.
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
	Marks             // points that are not joined: too few to show how it went between them
)
