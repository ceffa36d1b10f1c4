package figure

import (
	"image/color"
	"io"

	"git.sr.ht/~sbinet/gg"
)

// scale is how many pixels of a PNG are one of an SVG.
const scale = 2.5

// PNG writes the figure in its light colours, 1,200 pixels wide.
func (f *Figure) PNG(w io.Writer) error {
	l := f.layout()
	p := pixels{gg.NewContext(int(l.width*scale+0.5), int(l.height*scale+0.5)), l.height}
	p.SetColor(color.White)
	p.Clear()
	p.SetLineCapButt()
	l.draw(p)
	return p.EncodePNG(w)
}

// pixels is a figure as an image, whose y grows downwards.
type pixels struct {
	*gg.Context
	height float64
}

func (p pixels) at(a xy) (x, y float64) { return a.X * scale, (p.height - a.Y) * scale }

func (p pixels) line(r role, width float64, dash []float64, points ...xy) {
	p.path(points)
	var scaled []float64
	for _, d := range dash {
		scaled = append(scaled, d*scale)
	}
	p.SetDash(scaled...)
	p.SetLineWidth(width * scale)
	p.SetColor(r.paint())
	p.Stroke()
}

func (p pixels) area(r role, points ...xy) {
	p.path(points)
	p.SetColor(r.paint())
	p.Fill()
}

func (p pixels) text(at xy, a anchor, r role, size float64, text string) {
	x, y := p.at(at)
	p.SetFontFace(face(size * scale))
	p.SetColor(r.paint())
	p.DrawString(text, x-measured(text, size)*scale*float64(a)/2, y)
}

func (p pixels) hover(xy, string) {}

func (p pixels) path(points []xy) {
	for _, at := range points {
		p.LineTo(p.at(at)) // the first begins the path
	}
}

// paint is a role's colour on white.
func (r role) paint() color.Color {
	index, opacity := r.color()
	if index < 0 {
		return rgb("#111111", opacity)
	}
	return rgb(light[index], opacity)
}
