package figure

import (
	"image/color"
	"math"
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// Sizes of text.
const (
	titleSize = 15
	textSize  = 12.5
	tickSize  = 12
)

// sans is the font by which text is measured, and with which PNGs are written. It is read
// when it is needed first: a worker process never does.
var sans = sync.OnceValue(func() *opentype.Font {
	f, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(err) // the font is part of the program
	}
	return f
})

func face(size vg.Length) font.Face {
	return font.Face{Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Face: sans()}
}

// width is how much room a line of text takes: a reader's own font may be wider, as DejaVu
// Sans is by a seventh.
func width(text string, size vg.Length) vg.Length {
	f := face(size)
	return f.Width(text) * 1.15
}

// anchor is the part of a text that stands at its place.
type anchor int

const (
	start anchor = iota
	middle
	stop
)

// The characters that tell the SVG of a text's anchor stand before it; see themed. They
// are not in any text, since plain takes them away.
const firstAnchor = '\uE000'

// pen draws on a canvas of SVG, whose colours follow later and whose text knows its
// anchor, or on one of pixels.
type pen struct {
	vg.Canvas
	themed bool
}

func (p *pen) color(r role) color.Color {
	if p.themed {
		return r.sentinel()
	}
	return r.paint()
}

// text writes a line whose baseline begins, has its middle or ends at a place.
func (p *pen) text(at vg.Point, a anchor, r role, size vg.Length, text string) {
	if text == "" {
		return
	}
	p.SetColor(p.color(r))
	f := face(size)
	if p.themed {
		text = string(firstAnchor+rune(a)) + text
	} else {
		at.X -= f.Width(text) * vg.Length(a) / 2
	}
	p.FillString(f, at, text)
}

// slanted writes a line that rises to its end at a place.
func (p *pen) slanted(at vg.Point, r role, size vg.Length, text string) {
	p.Push()
	p.Translate(at)
	p.Rotate(slant * math.Pi / 180)
	p.text(vg.Point{}, stop, r, size, text)
	p.Pop()
}

// line strokes a path, dashed or not.
func (p *pen) line(r role, width vg.Length, dash []vg.Length, points ...vg.Point) {
	p.SetColor(p.color(r))
	p.SetLineWidth(width)
	p.SetLineDash(dash, 0)
	p.Stroke(path(points))
}

// area fills a polygon.
func (p *pen) area(r role, points ...vg.Point) {
	p.SetColor(p.color(r))
	shape := path(points)
	shape.Close()
	p.Fill(shape)
}

func path(points []vg.Point) vg.Path {
	shape := make(vg.Path, 0, len(points)+1)
	for i, at := range points {
		if i == 0 {
			shape.Move(at)
		} else {
			shape.Line(at)
		}
	}
	return shape
}

// plain is text as a line of what can be seen, and of what XML allows.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case unicode.In(r, unicode.Co, unicode.Cs) || r&0xFFFE == 0xFFFE || 0xFDD0 <= r && r <= 0xFDEF:
			return unicode.ReplacementChar
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// shorten cuts a text to a width, and shows that it did.
func shorten(text string, size, room vg.Length) string {
	if width(text, size) <= room {
		return text
	}
	runes := []rune(text)
	if len(runes) > 500 {
		runes = runes[:500] // wider than any figure: measure no more
	}
	for len(runes) > 0 && width(string(runes)+"…", size) > room {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ") + "…"
}

// contract cuts a text in its middle, since names often differ in their ends.
func contract(text string, size, room vg.Length) string {
	if width(text, size) <= room {
		return text
	}
	runes := []rune(text)
	short := "…"
	for n := 1; 2*n < len(runes); n++ {
		next := string(runes[:n]) + "…" + string(runes[len(runes)-n:])
		if width(next, size) > room {
			break
		}
		short = next
	}
	return short
}

// wrap breaks a text at its spaces into at most n lines; the last is shortened.
func wrap(text string, size, room vg.Length, n int) []string {
	var lines []string
	rest := strings.Fields(text)
	for len(rest) > 0 && len(lines) < n-1 {
		k := 1
		for k < len(rest) && width(strings.Join(rest[:k+1], " "), size) <= room {
			k++
		}
		lines = append(lines, shorten(strings.Join(rest[:k], " "), size, room))
		rest = rest[k:]
	}
	if len(rest) > 0 {
		lines = append(lines, shorten(strings.Join(rest, " "), size, room))
	}
	return lines
}
