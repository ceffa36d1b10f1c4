package figure

import (
	"math"
	"strings"
)

// nameRows is how the names of places stand below an axis: in a line or two, or slanted.
type nameRows struct {
	lines   int
	slanted bool
	height  float64
}

// nameTicks is a tick for each name in a span, or for every second, third ... if there are
// more than fit.
func (a *Axis) nameTicks(s span, most, longest float64) []tick {
	every := max(1, int(math.Ceil((s.hi-s.lo)/most)))
	var ticks []tick
	for i := 0; i < len(a.Names); i += every {
		ticks = append(ticks, tick{float64(i), contract(plain(a.Names[i]), tickSize, longest)})
	}
	return ticks
}

// fitNames writes the names in one line if each has room, in two if it can be broken, else
// slanted.
func (l *layout) fitNames() (nameRows, []tick) {
	slot := (l.plot.Max.X-l.plot.Min.X)/(l.x.hi-l.x.lo) - 6
	if len(l.X.Names) <= 40 {
		for lines := 1; lines <= 2; lines++ {
			if ticks := l.brokenNames(slot, lines); ticks != nil {
				return nameRows{lines: lines, height: tickSize * float64(lines) * 1.1}, ticks
			}
		}
	}
	l.plot.Min.X = max(l.plot.Min.X, longestName/2) // the first ones stand out on the left
	sin, cos := math.Sincos(slant * math.Pi / 180)
	ticks := l.X.nameTicks(l.x, (l.plot.Max.X-l.plot.Min.X)*sin/(tickSize*1.2), longestName)
	height := float64(0)
	for i, t := range ticks {
		room := (l.atX(t.place) - 2) / cos
		ticks[i].label = contract(t.label, tickSize, room)
		height = max(height, width(ticks[i].label, tickSize)*sin+tickSize*cos)
	}
	return nameRows{slanted: true, height: height}, ticks
}

// brokenNames is the names in at most so many lines, nil if one is too wide.
func (l *layout) brokenNames(room float64, lines int) []tick {
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
