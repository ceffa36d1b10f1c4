package figure

import (
	"math"
	"slices"

	"hogwild/internal/human"
)

// Widths of lines.
const (
	thinLine  = 0.8
	rangeLine = 1.3
	endLine   = 1.2
	rangeEnd  = 2 // pixels to both sides of a range
	dataLine  = 1.8
	radius    = 3.3
)

// pen draws on the text of an SVG, or on pixels.
type pen interface {
	line(r role, width float64, dash []float64, points ...xy)
	area(r role, corners ...xy)
	text(at xy, a anchor, r role, size float64, text string)
	hover(at xy, text string) // shown while a pointer is at the place, where there are pointers
}

// draw draws what is behind first: grid, comparisons, lines, text.
func (l *layout) draw(p pen) {
	l.drawGrid(p)
	for _, kind := range []Kind{Ideal, Curve, Line, Marks} {
		for _, d := range l.drawn {
			if d.Kind == kind {
				l.drawLine(p, d)
			}
		}
	}
	l.drawAxis(p)
	l.drawText(p)
	l.drawLegend(p)
	l.drawHovers(p)
}

// drawGrid draws a thin line at each label of y; where x has labels, the axis has ticks.
func (l *layout) drawGrid(p pen) {
	for _, t := range l.yTicks {
		y := l.atY(t.place)
		p.line(grid, thinLine, nil, xy{l.plot.Min.X, y}, xy{l.plot.Max.X, y})
		p.text(xy{l.plot.Min.X - tickLength - 1, y - tickSize*0.35}, stop, dim, tickSize, t.label)
	}
}

// drawAxis draws the foot of the plot, or the line of 0 if that is within it, and the
// ticks of x.
func (l *layout) drawAxis(p pen) {
	foot := l.plot.Min.Y
	if !l.Y.Log && l.y.has(0) {
		y := l.atY(0)
		p.line(dim, thinLine, nil, xy{l.plot.Min.X, y}, xy{l.plot.Max.X, y})
	} else {
		p.line(dim, thinLine, nil, l.plot.Min, xy{l.plot.Max.X, foot})
	}
	for _, t := range l.xTicks {
		x, y := l.atX(t.place), foot-tickLength-tickSize
		p.line(dim, thinLine, nil, xy{x, foot}, xy{x, foot - tickLength})
		p.text(xy{x, y}, middle, dim, tickSize, t.label)
	}
}

// drawText writes the title and what the axes are: y's above it, where it can be read
// without turning the head.
func (l *layout) drawText(p pen) {
	y := l.height - edge
	for _, line := range l.title {
		y -= titleHeight
		p.text(xy{edge, y + 5}, start, ink, titleSize, line)
	}
	p.text(xy{edge, l.plot.Max.Y + 10}, start, ink, textSize, shorten(plain(l.Y.Label), textSize, l.width-2*edge))
	wide := l.plot.Max.X - l.plot.Min.X
	below := xy{l.plot.Min.X + wide/2, l.plot.Min.Y - tickLength - tickSize - lineHeight - 1}
	p.text(below, middle, ink, textSize, shorten(plain(l.X.Label), textSize, wide))
}

// drawLegend draws a sample of each series and its name.
func (l *layout) drawLegend(p pen) {
	y := edge + float64(len(l.legend))*(lineHeight+2)
	for _, row := range l.legend {
		y -= lineHeight + 2
		for _, e := range row {
			e.sample(p, xy{e.at, y + 8})
			p.text(xy{e.at + keyWidth + 6, y + 8 - textSize*0.35}, start, ink, textSize, e.name)
		}
	}
}

// sample is a series in the legend, from its left.
func (d *drawn) sample(p pen, at xy) {
	to := xy{at.X + keyWidth, at.Y}
	if d.Kind == Ideal {
		p.line(dim, thinLine, idealDash, at, to)
		return
	}
	if d.Kind != Marks {
		p.line(d.hue, dataLine, d.dash, at, to)
	}
	if d.Kind == Line || d.Kind == Marks {
		mark(p, d.hue, d.mark, xy{at.X + keyWidth/2, at.Y})
	}
}

// idealDash is the dash of what is only there to compare with.
var idealDash = []float64{4, 3}

// drawLine draws a line, its ranges and its marks.
func (l *layout) drawLine(p pen, d *drawn) {
	for _, run := range d.runs() {
		points := make([]xy, len(run))
		for i, s := range run {
			points[i] = l.at(s)
			points[i].X += d.beside
		}
		switch line := thin(points); {
		case len(run) == 1 && d.Kind == Curve:
			mark(p, d.hue, 0, points[0])
		case d.Kind == Ideal:
			p.line(dim, thinLine, idealDash, line...)
		case len(run) > 1 && d.Kind != Marks:
			p.line(d.hue, dataLine, d.dash, line...)
		}
		for i, at := range points {
			if d.Kind == Line || d.Kind == Marks {
				l.drawRange(p, d.hue, at.X, run[i])
				mark(p, d.hue, d.mark, at)
			}
		}
	}
}

// drawHovers puts the values of lines and curves at their points.
func (l *layout) drawHovers(p pen) {
	for _, d := range l.drawn {
		if d.Kind == Ideal {
			continue
		}
		last := math.Inf(-1)
		for _, s := range slices.Concat(d.runs()...) {
			at := l.at(s)
			if at.X += d.beside; at.X-last < radius {
				continue
			}
			last = at.X
			text := human.Plain(s.Y) + " at " + human.Plain(s.X)
			if d.Name != "" {
				text = d.Name + ": " + text
			}
			p.hover(at, text)
		}
	}
}

// drawRange draws the range of a point as an upright line, with a bar at both ends: it is not cut off there.
func (l *layout) drawRange(p pen, r role, x float64, s spot) {
	if s.ranged() {
		low, high := l.atY(s.low), l.atY(s.high)
		p.line(r, rangeLine, nil, xy{x, low}, xy{x, high})
		for _, y := range []float64{low, high} {
			p.line(r, endLine, nil, xy{x - rangeEnd, y}, xy{x + rangeEnd, y})
		}
	}
}

// mark draws one of the shapes.
func mark(p pen, r role, shape int, at xy) {
	m := marks[shape]
	corners := make([]xy, m.corners)
	for i := range corners {
		sin, cos := math.Sincos((m.from + 360*float64(i)/float64(m.corners)) * math.Pi / 180)
		corners[i] = xy{at.X + m.size*radius*cos, at.Y + m.size*radius*sin}
	}
	p.area(r, corners...)
}

// thin leaves of the points of a line those that can be seen: of all that follow each other
// in one column of pixels the first, the last, the highest and the lowest.
func thin(points []xy) []xy {
	if len(points) < figureWidth {
		return points
	}
	var kept []xy
	for from := 0; from < len(points); {
		to := from
		low, high := from, from
		for ; to < len(points) && int(points[to].X) == int(points[from].X); to++ {
			if points[to].Y < points[low].Y {
				low = to
			}
			if points[to].Y > points[high].Y {
				high = to
			}
		}
		last := -1
		for _, i := range []int{from, min(low, high), max(low, high), to - 1} {
			if i != last {
				kept = append(kept, points[i])
			}
			last = i
		}
		from = to
	}
	return kept
}
