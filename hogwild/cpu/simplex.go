package cpu

import (
	"hogwild/hogwild/model"
)

// project takes the step of a point of a simplex: a times its gradient, and back onto
// the simplex. What is added to the weights is the difference, so that it may race with
// others, be added atomically, or come late, as any update. A point that lost an update
// leaves the simplex by that much, until the next step at it.
func (d *cpu) project(p *model.Part, a float32) {
	if len(d.point) < 2*len(p.G) {
		d.point = make([]float32, 2*len(p.G))
	}
	was := d.w[p.Offset : p.Offset+len(p.G)]
	x := d.point[:len(p.G)]
	for c, g := range p.G {
		x[c] = was[c] + a*g
	}
	model.Project(x, d.point[len(p.G):])
	for c := range x {
		x[c] -= was[c]
	}
	d.add(p.Offset, 1, x)
}
