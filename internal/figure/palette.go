package figure

import (
	"image/color"
	"strconv"

	"gonum.org/v1/plot/vg"
)

// The palette, for a white page and for a nearly black one. Each colour has a contrast of
// 3:1 or more with its page, and each two are apart for readers with protanopia,
// deuteranopia and tritanopia too: they were searched for with simulated sight, and a test
// holds what was found.
var (
	light = [8]string{"#5878e2", "#c98104", "#185005", "#944078", "#169eb5", "#d45572", "#53287d", "#736907"}
	dark  = [8]string{"#7da6fe", "#e19209", "#9ee5a6", "#bf5798", "#2cdcff", "#d05628", "#7f6bdc", "#fec933"}
)

// role is what a stroke, an area or a text is for, from which its colour follows: a page
// decides on the colours of its theme after the figure is drawn.
type role uint8

const (
	ink  role      = iota + 1 // text
	dim                       // axes, ticks and what is only there to compare with
	grid                      // thin lines behind the data
	hue                       // hue + i: series of colour i
	tint = hue + 8            // tint + i: an area in this colour through which the grid is seen
	end  = tint + 8
)

// Opacities, of 255.
const (
	dimness  = 176
	gridness = 44
	tintness = 60
)

// sentinel is the colour by which a role is found again in a drawing.
func (r role) sentinel() color.Color { return color.NRGBA{R: 0xF1, G: 0x6E, B: byte(r), A: 255} }

// paint is a role's colour on white.
func (r role) paint() color.Color {
	switch {
	case r >= tint:
		return rgb(light[r-tint], tintness)
	case r >= hue:
		return rgb(light[r-hue], 255)
	case r == grid:
		return color.NRGBA{A: gridness}
	case r == dim:
		return color.NRGBA{A: dimness}
	}
	return color.NRGBA{R: 0x11, G: 0x11, B: 0x11, A: 255}
}

// rgb reads a colour such as #5878e2.
func rgb(hex string, alpha byte) color.NRGBA {
	n, _ := strconv.ParseUint(hex[1:], 16, 24)
	return color.NRGBA{R: byte(n >> 16), G: byte(n >> 8), B: byte(n), A: alpha}
}

// look is how a series is told apart.
type look struct {
	hue, tint role
	dash      []vg.Length
	mark      int  // shape of its marks
	hollow    bool // bars are outlined
}

// dashes are the patterns of lines; the first is solid.
var dashes = [][]vg.Length{nil, {7, 2.5}, {2, 2}, {8, 2, 2, 2}}

// wheel is the colour of an index: after the last one comes the first one again.
func wheel(c int) int { return ((c % len(light)) + len(light)) % len(light) }

// lookOf is the look of a series whose colour is used for the n-th time in a figure: the
// first time it follows from the colour alone, so that it is the same in all figures.
func lookOf(c, n int) look {
	return look{hue: hue + role(c), tint: tint + role(c), dash: dashes[(c+n)%len(dashes)], mark: (c + 3*n) % marks, hollow: n%2 == 1}
}
