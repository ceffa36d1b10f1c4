package figure

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
)

// Widths of lines.
const (
	thinLine  = 0.8
	rangeLine = 1.3
	dataLine  = 1.8
	radius    = 3.3
	manyMarks = 60 // from here on only marks that stand apart are drawn
)

// draw draws what is behind first: grid, comparisons, areas, lines, text.
func (l *layout) draw(p *pen) {
	l.drawGrid(p)
	bar := 0
	for _, kinds := range [][]Kind{{Ideal}, {Bars, Steps}, {Curve}, {Line}} {
		for _, d := range l.drawn {
			switch {
			case d.Kind == Bars && kinds[0] == Bars:
				l.drawBars(p, d, bar)
				bar++
			case d.Kind == Steps && kinds[0] == Bars:
				l.drawSteps(p, d)
			case d.Kind == kinds[0]:
				l.drawLine(p, d)
			}
		}
	}
	l.drawAxis(p)
	l.drawText(p)
	l.drawLegend(p)
	if l.empty {
		p.text(vg.Point{X: (l.plot.Min.X + l.plot.Max.X) / 2, Y: (l.plot.Min.Y + l.plot.Max.Y) / 2}, middle, dim, textSize, "no data")
	}
}

// drawGrid draws a thin line at each label of y; where x has labels, the axis has ticks.
func (l *layout) drawGrid(p *pen) {
	for _, t := range l.yTicks {
		y := l.atY(t.place)
		p.line(grid, thinLine, nil, vg.Point{X: l.plot.Min.X, Y: y}, vg.Point{X: l.plot.Max.X, Y: y})
		p.text(vg.Point{X: l.plot.Min.X - tickLength - 1, Y: y - tickSize*0.35}, stop, dim, tickSize, t.label)
	}
	for _, t := range l.Y.minor(l.y) {
		y := l.atY(t.place)
		p.line(dim, thinLine/2, nil, vg.Point{X: l.plot.Min.X, Y: y}, vg.Point{X: l.plot.Min.X + tickLength/2, Y: y})
	}
}

// drawAxis draws the foot of the plot, or the line of 0 if that is within it, and the
// ticks of x.
func (l *layout) drawAxis(p *pen) {
	foot := l.plot.Min.Y
	if !l.Y.log() && l.y.has(0) {
		y := l.atY(0)
		p.line(dim, thinLine, nil, vg.Point{X: l.plot.Min.X, Y: y}, vg.Point{X: l.plot.Max.X, Y: y})
	} else {
		p.line(dim, thinLine, nil, l.plot.Min, vg.Point{X: l.plot.Max.X, Y: foot})
	}
	if len(l.X.Names) == 0 && !l.empty {
		for _, t := range l.X.minor(l.x) {
			p.line(dim, thinLine/2, nil, vg.Point{X: l.atX(t.place), Y: foot}, vg.Point{X: l.atX(t.place), Y: foot - tickLength/2})
		}
	}
	for _, t := range l.xTicks {
		x, y := l.atX(t.place), foot-tickLength-tickSize
		switch {
		case l.names.slanted:
			p.slanted(vg.Point{X: x + 3, Y: foot - tickLength - tickSize*0.7}, dim, tickSize, t.label)
			continue
		case l.names.lines == 0:
			p.line(dim, thinLine, nil, vg.Point{X: x, Y: foot}, vg.Point{X: x, Y: foot - tickLength})
		}
		for i, line := range strings.Split(t.label, "\n") {
			p.text(vg.Point{X: x, Y: y - vg.Length(i)*tickSize*1.1}, middle, dim, tickSize, line)
		}
	}
}

// drawText writes the title and what the axes are: y's above it, where it can be read
// without turning the head.
func (l *layout) drawText(p *pen) {
	y := l.height - edge
	for _, line := range l.title {
		y -= titleHeight
		p.text(vg.Point{X: edge, Y: y + 5}, start, ink, titleSize, line)
	}
	y = l.plot.Max.Y + 10 + vg.Length(len(l.yLabel)-1)*lineHeight
	for _, line := range l.yLabel {
		p.text(vg.Point{X: edge, Y: y}, start, ink, textSize, line)
		y -= lineHeight
	}
	y = l.plot.Min.Y - tickLength - l.names.height - 4
	for _, line := range l.xLabel {
		y -= lineHeight
		p.text(vg.Point{X: (l.plot.Min.X + l.plot.Max.X) / 2, Y: y + 3}, middle, ink, textSize, line)
	}
}

// drawLegend draws a sample of each series and its name.
func (l *layout) drawLegend(p *pen) {
	y := edge + vg.Length(len(l.legend))*(lineHeight+2)
	for _, row := range l.legend {
		y -= lineHeight + 2
		for _, e := range row {
			e.sample(p, vg.Point{X: e.at, Y: y + 8})
			p.text(vg.Point{X: e.at + keyWidth + 6, Y: y + 8 - textSize*0.35}, start, ink, textSize, e.name)
		}
	}
}

// sample is a series in the legend, from its left.
func (d *drawn) sample(p *pen, at vg.Point) {
	to := vg.Point{X: at.X + keyWidth, Y: at.Y}
	switch d.Kind {
	case Bars:
		d.bar(p, vg.Point{X: at.X + 8, Y: at.Y - 5}, vg.Point{X: to.X - 4, Y: at.Y + 5})
	case Steps:
		a, b := vg.Point{X: at.X + 4, Y: at.Y - 5}, vg.Point{X: to.X, Y: at.Y + 4}
		box(p, d.tint, a, b)
		p.line(d.hue, dataLine, d.dash, vg.Point{X: a.X, Y: b.Y}, b)
	case Ideal:
		p.line(dim, thinLine, idealDash, at, to)
	default:
		p.line(d.hue, dataLine, d.dash, at, to)
		if d.Kind == Line {
			mark(p, d.hue, d.mark, vg.Point{X: at.X + keyWidth/2, Y: at.Y})
		}
	}
}

// idealDash is the dash of what is only there to compare with.
var idealDash = []vg.Length{4, 3}

// drawLine draws a line, its ranges and its marks.
func (l *layout) drawLine(p *pen, d *drawn) {
	for _, run := range d.runs() {
		if d.Kind == Curve && slices.ContainsFunc(run, spot.ranged) {
			l.drawBand(p, d, run)
		}
		points := make([]vg.Point, len(run))
		for i, s := range run {
			points[i] = l.at(s)
			points[i].X += d.beside
		}
		switch line := thin(points); {
		case len(run) == 1 && d.Kind == Curve:
			mark(p, d.hue, 0, points[0])
		case d.Kind == Ideal:
			p.line(dim, thinLine, idealDash, line...)
		case len(run) > 1:
			p.line(d.hue, dataLine, d.dash, line...)
		}
		if d.Kind == Line {
			l.drawMarks(p, d, run, points)
		}
	}
}

// drawMarks marks the points of a line and their ranges.
func (l *layout) drawMarks(p *pen, d *drawn, run []spot, points []vg.Point) {
	least := 0.0
	if len(points) > manyMarks {
		least = 5 * radius
	}
	last := math.Inf(-1)
	for i, at := range points {
		if math.Abs(float64(at.X)-last) < least {
			continue
		}
		last = float64(at.X)
		l.drawRange(p, d.hue, at.X, run[i])
		mark(p, d.hue, d.mark, at)
	}
}

// drawRange draws the range of a point as an upright line.
func (l *layout) drawRange(p *pen, r role, x vg.Length, s spot) {
	if s.ranged() {
		p.line(r, rangeLine, nil, vg.Point{X: x, Y: l.atY(s.low)}, vg.Point{X: x, Y: l.atY(s.high)})
	}
}

// drawBand fills the ranges of a curve.
func (l *layout) drawBand(p *pen, d *drawn, run []spot) {
	var low, high []vg.Point
	for _, s := range run {
		a, b := s.y, s.y
		if s.ranged() {
			a, b = s.low, s.high
		}
		low = append(low, vg.Point{X: l.atX(s.x), Y: l.atY(a)})
		high = append(high, vg.Point{X: l.atX(s.x), Y: l.atY(b)})
	}
	low, high = thin(low), thin(high)
	for i := range low {
		high = append(high, low[len(low)-1-i])
	}
	p.area(d.tint, high...)
}
