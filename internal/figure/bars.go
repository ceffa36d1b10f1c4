package figure

import (
	"math"
)

// drawBars draws one row of bars, the i-th of those that stand side by side.
func (l *layout) drawBars(p pen, d *drawn, i int) {
	scale := (l.plot.Max.X - l.plot.Min.X) / (l.x.hi - l.x.lo)
	slot := 2 * d.extent * scale * 0.8
	if slot > 160 {
		slot = 160 // a single bar is no wall
	}
	wide := slot / float64(l.bars())
	foot := l.atY(l.y.lo)
	if !l.Y.log() {
		foot = l.atY(0)
	}
	for _, s := range d.points {
		if !s.ok() {
			continue
		}
		from := l.atX(s.x) - slot/2 + float64(i)*wide
		gap := min(1, wide/5)
		d.bar(p, xy{from, foot}, xy{from + max(wide-gap, 0.5), l.atY(s.y)})
		l.drawRange(p, ink, from+(wide-gap)/2, s)
	}
}

// bar draws one bar between two corners.
func (d *drawn) bar(p pen, a, b xy) {
	if !d.hollow {
		box(p, d.hue, a, b)
		return
	}
	box(p, d.tint, a, b)
	p.line(d.hue, rangeLine, nil, a, xy{a.X, b.Y}, b, xy{b.X, a.Y})
}

// drawSteps draws a histogram: its outline, and what is below it lightly filled.
func (l *layout) drawSteps(p pen, d *drawn) {
	if len(d.points) == 0 {
		return
	}
	foot := l.atY(l.y.lo)
	if !l.Y.log() {
		foot = l.atY(0)
	}
	outline := []xy{{l.atX(d.points[0].x), foot}}
	for i, s := range d.points {
		next := s.x + d.extent
		if i+1 < len(d.points) {
			next = d.points[i+1].x
		}
		y := l.atY(s.y)
		outline = append(outline, xy{l.atX(s.x), y}, xy{l.atX(next), y})
	}
	outline = append(outline, xy{outline[len(outline)-1].X, foot})
	outline = thin(outline)
	p.area(d.tint, outline...)
	p.line(d.hue, dataLine*0.75, d.dash, outline...)
}

// box fills a rectangle.
func box(p pen, r role, a, b xy) {
	p.area(r, a, xy{a.X, b.Y}, b, xy{b.X, a.Y})
}

// marks is the number of shapes of marks.
const marks = 8

// mark draws one of the shapes: disc, square, triangle, diamond, triangle on its tip, plus,
// cross and ring.
func mark(p pen, r role, shape int, at xy) {
	around := func(size float64, from float64, n int) []xy {
		corners := make([]xy, n)
		for i := range corners {
			sin, cos := math.Sincos((from + 360*float64(i)/float64(n)) * math.Pi / 180)
			corners[i] = xy{at.X + size*cos, at.Y + size*sin}
		}
		return corners
	}
	switch shape {
	case 0, 7:
		p.disc(r, at, shape == 7)
	case 1:
		p.area(r, around(radius*1.3, 45, 4)...)
	case 2:
		p.area(r, around(radius*1.35, 90, 3)...)
	case 3:
		p.area(r, around(radius*1.35, 0, 4)...)
	case 4:
		p.area(r, around(radius*1.35, 270, 3)...)
	default:
		c := around(radius*1.3, 45*float64(shape-5), 4)
		p.line(r, dataLine, nil, c[0], c[2])
		p.line(r, dataLine, nil, c[1], c[3])
	}
}
