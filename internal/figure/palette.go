package figure

import (
	"image/color"
	"strconv"
)

// The palette, for a white page and for a nearly black one. Each colour has a contrast of
// 3:1 or more with its page, and each two are apart for readers with protanopia,
// deuteranopia and tritanopia too: they were searched for with simulated sight, and a test
// holds what was found.
var (
	light = [8]string{"#5878e2", "#c98104", "#185005", "#944078", "#169eb5", "#d45572", "#53287d", "#736907"}
	dark  = [8]string{"#7da6fe", "#e19209", "#9ee5a6", "#bf5798", "#2cdcff", "#d05628", "#7f6bdc", "#fec933"}
)

// role is what a stroke, an area or a text is for, from which its colour follows.
type role uint8

const (
	ink  role = iota // text
	dim              // axes, ticks and what is only there to compare with
	grid             // thin lines behind the data
	hue              // hue + i: series of colour i
)

// color is a role's index into the palette, -1 for ink, and its opacity of 255.
func (r role) color() (index int, opacity byte) {
	switch {
	case r >= hue:
		return int(r - hue), 255
	case r == grid:
		return -1, 44
	case r == dim:
		return -1, 176
	}
	return -1, 255
}

// rgb reads a colour such as #5878e2.
func rgb(hex string, alpha byte) color.NRGBA {
	n, _ := strconv.ParseUint(hex[1:], 16, 24)
	return color.NRGBA{R: byte(n >> 16), G: byte(n >> 8), B: byte(n), A: alpha}
}

// look is how a series is told apart.
type look struct {
	hue  role
	dash []float64
	mark int // shape of its marks
}

// dashes are the patterns of lines; the first is solid.
var dashes = [][]float64{nil, {7, 2.5}, {2, 2}, {8, 2, 2, 2}}

// lookOf is the look of a series whose colour is used for the n-th time in a figure: the
// first time it follows from the colour alone, so that it is the same in all figures.
func lookOf(c, n int) look {
	return look{hue: hue + role(c), dash: dashes[(c+n)%len(dashes)], mark: (c + 3*n) % len(marks)}
}

// marks are the shapes of marks: disc, square, triangle, diamond, triangle on its tip.
var marks = []struct {
	size, from float64 // in radii; the angle of the first corner
	corners    int
}{{1, 0, 16}, {1.3, 45, 4}, {1.35, 90, 3}, {1.35, 0, 4}, {1.35, 270, 3}}
