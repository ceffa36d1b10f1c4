package figure

import (
	"math"
	"slices"

	"hogwild/internal/human"
)

// Sizes, in pixels of an SVG that is drawn as wide as it says. Everything grows and shrinks
// with it, so that a narrow page decides how large text must be.
const (
	figureWidth = 480
	plotHeight  = 225
	edge        = 4
	lineHeight  = 17
	titleHeight = 21
	titleLength = 55 // in letters: a line of them
	tickLength  = 4
	keyWidth    = 26 // of a legend's sample
)

// xy is a place in the figure, from its lower left corner.
type xy struct{ X, Y float64 }

// layout is a figure whose sizes are known.
type layout struct {
	*Figure
	width, height float64
	x, y          span
	xTicks        []tick
	yTicks        []tick
	plot          struct{ Min, Max xy }
	drawn         []*drawn
	title         []string
	legend        [][]entry
}

// entry is a series in the legend.
type entry struct {
	*drawn
	name string
	at   float64 // from the left
}

// layout gives everything its place, from the outside to the inside: what is next to the plot says
// how wide it is, and that which names fit below it.
func (f *Figure) layout() *layout {
	l := &layout{Figure: f, width: figureWidth}
	l.drawn = l.prepare()
	l.spans()
	for _, line := range human.Wrap(plain(f.Title), titleLength) {
		l.title = append(l.title, shorten(line, titleSize, l.width-2*edge))
	}

	l.yTicks = l.Y.ticks(l.y, 5)
	wide := 0.0
	for _, t := range l.yTicks {
		wide = max(wide, width(t.label, tickSize))
	}
	l.plot.Min.X, l.plot.Max.X = edge+tickLength+wide, l.width-12
	l.fitX()
	l.dodge()
	l.legend = l.rows()

	y := float64(edge)
	y += float64(len(l.legend)) * (lineHeight + 2)
	y += lineHeight + tickSize + tickLength + 6
	l.plot.Min.Y, l.plot.Max.Y = y, y+plotHeight
	y = l.plot.Max.Y + lineHeight + 8
	l.height = math.Ceil(y + float64(len(l.title))*titleHeight + edge)
	return l
}

// spans sets what the axes show.
func (l *layout) spans() {
	x, y := nothing, nothing
	for _, d := range l.drawn {
		for _, p := range d.points {
			if p.ok() {
				x, y = x.with(p.x), y.with(p.y).with(p.low).with(p.high)
			}
		}
	}
	l.x, l.y = l.X.room(x, l.X.Zero, 0.03), l.Y.room(y, l.Y.Zero, 0.05)
}

// fitX chooses the marks of the x axis: the values themselves where they are a few whole
// numbers, else as many round numbers as fit.
func (l *layout) fitX() {
	if ticks := l.counts(); len(ticks) > 1 && l.fits(ticks) {
		l.xTicks = ticks
	} else {
		for n := 8; n >= 1; n-- {
			if l.xTicks = l.X.ticks(l.x, n); l.fits(l.xTicks) {
				break
			}
		}
	}
	l.standOut()
}

// standOut makes room next to the plot for labels of x that stand out of it.
func (l *layout) standOut() {
	var left, right float64
	for _, t := range l.xTicks {
		x, half := l.atX(t.place), width(t.label, tickSize)/2
		left, right = max(left, edge-(x-half)), max(right, x+half-(l.width-edge))
	}
	l.plot.Min.X += left
	l.plot.Max.X -= right
}

// counts is a tick for each value of x, if these are a few whole numbers.
func (l *layout) counts() []tick {
	var values []float64
	for _, d := range l.drawn {
		for _, p := range d.points {
			if v := p.X; p.ok() && !slices.Contains(values, v) {
				if v != math.Trunc(v) || math.Abs(v) >= 1e4 || len(values) == 8 {
					return nil
				}
				values = append(values, v)
			}
		}
	}
	return l.X.label(values, 1)
}

// fits reports whether labels fit next to each other.
func (l *layout) fits(ticks []tick) bool {
	for i, a := range ticks {
		for _, b := range ticks[:i] {
			gap := l.atX(a.place) - l.atX(b.place)
			if math.Abs(gap) < (width(a.label, tickSize)+width(b.label, tickSize))/2+8 {
				return false
			}
		}
	}
	return true
}

// atX is where a place of the x axis is in the figure.
func (l *layout) atX(place float64) float64 {
	return l.plot.Min.X + (place-l.x.lo)/(l.x.hi-l.x.lo)*(l.plot.Max.X-l.plot.Min.X)
}

// atY is where a place of the y axis is in the figure; what is below all others, as
// nothing is on a logarithmic axis, is at its foot.
func (l *layout) atY(place float64) float64 {
	at := l.plot.Min.Y + (place-l.y.lo)/(l.y.hi-l.y.lo)*(l.plot.Max.Y-l.plot.Min.Y)
	return max(at, l.plot.Min.Y)
}

func (l *layout) at(p spot) xy { return xy{l.atX(p.x), l.atY(p.y)} }

// rows breaks the legend into lines.
func (l *layout) rows() [][]entry {
	var rows [][]entry
	from := l.plot.Min.X
	if from > l.width/4 {
		from = edge
	}
	x := from
	for _, d := range l.drawn {
		if d.Name == "" {
			continue
		}
		name := shorten(plain(d.Name), textSize, l.width-edge-from-keyWidth-6)
		next := x + keyWidth + 6 + width(name, textSize)
		if len(rows) == 0 || next > l.width-edge {
			rows, next = append(rows, nil), next-x+from
			x = from
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], entry{d, name, x})
		x = next + 18
	}
	return rows
}
