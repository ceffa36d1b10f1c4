package figure

import (
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
)

// nameRows is how the names of places stand below an axis: in a line or two, or slanted.
type nameRows struct {
	lines   int
	slanted bool
	height  vg.Length
}

// nameTicks is a tick for each name in a span, or for every second, third ... if there are
// more than fit.
func (a *Axis) nameTicks(s span, most, longest vg.Length) []tick {
	every := max(1, int(math.Ceil((s.hi-s.lo)/float64(most))))
	var ticks []tick
	for i := 0; i < len(a.Names); i += every {
		ticks = append(ticks, tick{float64(i), contract(plain(a.Names[i]), tickSize, longest)})
	}
	return ticks
}

// fitNames writes the names in one line if each has room, in two if it can be broken, else
// slanted.
func (l *layout) fitNames() (nameRows, []tick) {
	slot := (l.plot.Max.X-l.plot.Min.X)/vg.Length(l.x.hi-l.x.lo) - 6
	if len(l.X.Names) <= 40 {
		for lines := 1; lines <= 2; lines++ {
			if ticks := l.brokenNames(slot, lines); ticks != nil {
				return nameRows{lines: lines, height: tickSize * vg.Length(lines) * 1.1}, ticks
			}
		}
	}
	l.plot.Min.X = max(l.plot.Min.X, longestName/2) // the first ones stand out on the left
	sin, cos := math.Sincos(slant * math.Pi / 180)
	ticks := l.X.nameTicks(l.x, (l.plot.Max.X-l.plot.Min.X)*vg.Length(sin)/(tickSize*1.2), longestName)
	height := vg.Length(0)
	for i, t := range ticks {
		room := (l.atX(t.place) - 2) / vg.Length(cos)
		ticks[i].label = contract(t.label, tickSize, room)
		height = max(height, width(ticks[i].label, tickSize)*vg.Length(sin)+tickSize*vg.Length(cos))
	}
	return nameRows{slanted: true, height: height}, ticks
}

// brokenNames is the names in at most so many lines, nil if one is too wide.
func (l *layout) brokenNames(room vg.Length, lines int) []tick {
	var ticks []tick
	for i, name := range l.X.Names {
		rows := wrap(plain(name), tickSize, room, lines)
		if len(rows) > 0 && strings.Join(rows, " ") != plain(name) {
			return nil
		}
		ticks = append(ticks, tick{float64(i), strings.Join(rows, "\n")})
	}
	return ticks
}
