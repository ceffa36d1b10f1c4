package data

import (
	"math"
	"math/rand/v2"
)

// Of an image, in pixels.
const (
	digitsSide   = 28
	digitsPixels = digitsSide * digitsSide
)

// How a hand varies. Lengths are in pixels of the 28, unless said.
const (
	glyphWidth   = 14.0
	glyphHeight  = 19.0
	jitter       = 0.055 // of a stroke's points, standard deviation, in digits
	maxTurn      = 0.22  // radians
	maxSlant     = 0.3   // x moved for each y
	maxStretch   = 0.2   // of width and height, each way
	maxShift     = 1.8
	thinnest     = 0.7 // half the width of a line
	thickest     = 1.6
	pieces       = 5 // straight pieces between two points of a stroke
	specks       = 8 // single dirty pixels, at most
	strayStrokes = 0.5
)

// pen draws digits, on every processor the same: products that are summed are converted, so
// that Go rounds each by itself. Where there is an instruction for a product and a sum, as
// on arm64, it would else round both at once. It serves one goroutine.
type pen struct {
	seed   uint64
	source *rand.PCG
	rng    *rand.Rand
	ink    [digitsPixels]float32 // 0 to 1
}

func newPen(seed uint64) *pen {
	p := &pen{seed: seed, source: rand.NewPCG(seed, 0)}
	p.rng = rand.New(p.source)
	return p
}

// within returns a uniform number between -a and a.
func (p *pen) within(a float32) float32 { return float32(a * (2*p.rng.Float32() - 1)) }

// draw writes image number i, showing a digit, to pixels.
func (p *pen) draw(pixels []uint8, digit int, i uint64) {
	p.source.Seed(p.seed, i)
	clear(p.ink[:])
	ways := glyphs[digit]
	place := p.place()
	half := thinnest + float32((thickest-thinnest)*p.rng.Float32())
	for _, s := range ways[p.rng.IntN(len(ways))] {
		p.stroke(s, place, half)
	}
	if p.rng.Float32() < strayStrokes {
		p.stray(half)
	}
	p.develop(pixels)
}

// place draws how a digit lies on the paper: a map from digits to pixels.
func (p *pen) place() func(point) point {
	sin, cos := math.Sincos(float64(p.within(maxTurn)))
	slant := p.within(maxSlant)
	width := glyphWidth * (1 + p.within(maxStretch))
	height := glyphHeight * (1 + p.within(maxStretch))
	dx, dy := digitsSide/2+p.within(maxShift), digitsSide/2+p.within(maxShift)
	return func(a point) point {
		x, y := float32((a.x-.5)*width), float32((a.y-.5)*height)
		x -= float32(slant * y)
		return point{dx + float32(x*float32(cos)) - float32(y*float32(sin)),
			dy + float32(x*float32(sin)) + float32(y*float32(cos))}
	}
}

// stroke draws a smooth line through the points, each moved a little.
func (p *pen) stroke(s stroke, place func(point) point, half float32) {
	var at [16]point
	for i, a := range s {
		a.x += float32(jitter * float32(p.rng.NormFloat64()))
		a.y += float32(jitter * float32(p.rng.NormFloat64()))
		at[i] = place(a)
	}
	last := len(s) - 1
	from := at[0]
	for i := range last {
		before, after := at[max(i-1, 0)], at[min(i+2, last)]
		for k := 1; k <= pieces; k++ {
			to := between(before, at[i], at[i+1], after, float32(k)/pieces)
			p.line(from, to, half)
			from = to
		}
	}
}

// between returns the Catmull-Rom curve from b to c at t, 0 to 1; a and d are the points
// before and after, which set its directions.
func between(a, b, c, d point, t float32) point {
	curve := func(a, b, c, d float32) float32 {
		cubic := float32(3*(b-c)) + d - a
		square := 2*a - float32(5*b) + 4*c - d + float32(t*cubic)
		return b + float32(t/2*(c-a+float32(t*square)))
	}
	return point{curve(a.x, b.x, c.x, d.x), curve(a.y, b.y, c.y, d.y)}
}

// stray draws a short line that belongs to no digit.
func (p *pen) stray(half float32) {
	a := point{float32(digitsSide * p.rng.Float32()), float32(digitsSide * p.rng.Float32())}
	p.line(a, point{a.x + p.within(7), a.y + p.within(7)}, half*.8)
}

// line inks the pixels nearer than half to the line from a to b, with a soft edge
// one pixel wide. Where lines cross the darker ink stays.
func (p *pen) line(a, b point, half float32) {
	reach := half + .5
	x0, x1 := inside(min(a.x, b.x)-reach), inside(max(a.x, b.x)+reach)
	y0, y1 := inside(min(a.y, b.y)-reach), inside(max(a.y, b.y)+reach)
	dx, dy := b.x-a.x, b.y-a.y
	per := 1 / max(float32(dx*dx)+float32(dy*dy), 1e-6)
	for y := y0; y <= y1; y++ {
		for x := x0; x <= x1; x++ {
			px, py := float32(x)-a.x, float32(y)-a.y
			t := min(max((float32(px*dx)+float32(py*dy))*per, 0), 1)
			px, py = px-float32(t*dx), py-float32(t*dy)
			d2 := float32(px*px) + float32(py*py)
			if d2 >= reach*reach {
				continue
			}
			ink := &p.ink[y*digitsSide+x]
			*ink = max(*ink, min(reach-float32(math.Sqrt(float64(d2))), 1))
		}
	}
}

// inside returns the pixel at v, or the nearest on the paper.
func inside(v float32) int { return min(max(int(v+.5), 0), digitsSide-1) }

// develop turns ink into bytes, unevenly, and adds specks.
func (p *pen) develop(pixels []uint8) {
	dark := 255 * (.7 + float32(.3*p.rng.Float32()))
	for i, ink := range p.ink {
		if ink > 0 {
			pixels[i] = uint8(dark * ink * (.75 + .25*p.rng.Float32()))
		}
	}
	for range p.rng.IntN(specks + 1) {
		pixels[p.rng.IntN(digitsPixels)] = uint8(p.rng.IntN(256))
	}
}
