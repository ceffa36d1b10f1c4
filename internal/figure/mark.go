package figure

import "math"

// marks are the shapes of marks: disc, square, triangle, diamond, triangle on its tip.
var marks = []struct {
	size, from float64 // in radii; the angle of the first corner
	corners    int
}{{1, 0, 16}, {1.3, 45, 4}, {1.35, 90, 3}, {1.35, 0, 4}, {1.35, 270, 3}}

// mark draws one of the shapes.
func mark(p pen, r role, shape int, at xy) {
	m := marks[shape]
	corners := make([]xy, m.corners)
	for i := range corners {
		sin, cos := math.Sincos((m.from + 360*float64(i)/float64(m.corners)) * math.Pi / 180)
		corners[i] = xy{at.X + m.size*radius*cos, at.Y + m.size*radius*sin}
	}
	p.area(r, corners...)
}
