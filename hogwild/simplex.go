package hogwild

import (
	"strings"

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

// checkSimplex refuses what would leave the simplex: only a step of plain SGD ends with
// a projection. And models of pairs know no l1.
func (c *Config) checkSimplex() error {
	if strings.HasPrefix(c.Model, "cut") || strings.HasPrefix(c.Model, "factor") {
		if c.L1 != 0 {
			return usage("l1 %g: the model %s has none; leave it out, or use l2", c.L1, c.Model)
		}
	}
	if !strings.HasPrefix(c.Model, "cut") || c.Optimizer == "sgd" && !c.averagesGradients() {
		return nil
	}
	if c.averagesGradients() {
		return usage("average gradients: model %s projects after each step of a worker; average weights instead", c.Model)
	}
	return usage("optimizer %s: model %s projects after each step of plain SGD; use sgd", c.Optimizer, c.Model)
}
