package cpu

import (
	"hogwild/hogwild/model"
)

// project takes the step of a point of a simplex: a times its gradient, and back onto
// the simplex. What is added to the weights is the difference, so that it may race with
// others, be added atomically, or come late, as any update. A point that lost an update
// leaves the simplex by that much, until the next step at it.
func (d *cpu) project(p *model.Part, a float32) {
	n := len(p.G)
	if len(d.point) < 3*n {
		d.point = make([]float32, 3*n)
	}
	x, was := d.point[:n], d.point[n:2*n]
	copy(was, d.own.view()[p.Offset:])
	for c, g := range p.G {
		x[c] = was[c] + a*g
	}
	model.Project(x, d.point[2*n:])
	for c := range x {
		x[c] -= was[c]
	}
	d.own.add(p.Offset, 1, x)
}
