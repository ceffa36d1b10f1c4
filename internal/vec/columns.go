package vec

import "slices"

// Columns is what there is in the columns of dense rows. The bits are the same on all processors.
type Columns struct {
	Rows              int
	From, Least, Most []float32 // From is the first row: differences are taken from it
	Sum, Squares      []float64 // of the differences
}

// NewColumns returns the columns of no rows; the first one is to be this.
func NewColumns(first []float32) *Columns {
	d, wide := len(first), padded(len(first))
	edges, sums := make([]float32, 3*wide), make([]float64, 2*wide)
	for i := range 3 {
		copy(edges[i*wide:], first)
	}
	return &Columns{From: edges[:d], Least: edges[wide:][:d], Most: edges[2*wide:][:d], Sum: sums[:d],
		Squares: sums[wide:][:d]}
}

// padded returns the room of d numbers in whole vectors of any processor.
func padded(d int) int { return (d + 15) &^ 15 }

// Add takes more rows in.
func (c *Columns) Add(x []float32) {
	d := len(c.From)
	rows := len(x) / d
	c.Rows += rows
	if x = x[:rows*d]; use[LoopColumns] == Plain || rows == 0 {
		c.addGo(x)
	} else {
		c.addFast(x, rows, d)
	}
}

func (c *Columns) addGo(x []float32) {
	for d := len(c.From); len(x) > 0; x = x[d:] {
		for j, v := range x[:d] {
			if v < c.Least[j] {
				c.Least[j] = v
			}
			if v > c.Most[j] {
				c.Most[j] = v
			}
			over := float64(v) - float64(c.From[j])
			c.Sum[j] += over
			c.Squares[j] += float64(over * over) // a conversion keeps the product from being fused with the sum
		}
	}
}

// Scaling brings the columns of dense rows to a scale of their own. The bits are the same on all processors.
type Scaling struct {
	mul, add []float64
	Seen     []int32 // values of each column that were not 0 then
}

// NewScaling returns the scaling that makes x mul x + add.
func NewScaling(mul, add []float64) *Scaling {
	d, wide := len(mul), padded(len(mul))
	return &Scaling{slices.Grow(mul, wide-d), slices.Grow(add, wide-d), make([]int32, d, wide)}
}

// Apply scales rows in place.
func (s *Scaling) Apply(x []float32) {
	d := len(s.Seen)
	rows := len(x) / d
	if x = x[:rows*d]; use[LoopColumns] == Plain || rows == 0 {
		s.applyGo(x)
	} else {
		s.applyFast(x, rows, d)
	}
}

func (s *Scaling) applyGo(x []float32) {
	for d := len(s.Seen); len(x) > 0; x = x[d:] {
		for j, v := range x[:d] {
			x[j] = float32(float64(float64(v)*s.mul[j]) + s.add[j])
			if x[j] != 0 {
				s.Seen[j]++
			}
		}
	}
}
