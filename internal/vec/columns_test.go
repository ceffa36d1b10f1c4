package vec

import (
	"math"
	"slices"
	"testing"
)

// TestColumns: against float64, and with the bits of plain Go, for rows of any length that come in parts.
func TestColumns(t *testing.T) {
	atLevels(t, func(t *testing.T) {
		for d := 1; d < 71; d++ {
			const rows = 23
			x := fresh(t, rows*d)
			for i := range x {
				if x[i] *= float32(1 + i%d); i%5 == 0 {
					x[i] = 0
				}
			}
			mul, add := make([]float64, d), make([]float64, d)
			for j := range mul {
				mul[j], add[j] = 1.5+float64(j), float64(j%3)/3
			}
			run := func() ([]float32, *Columns, *Scaling) {
				c, s, x := NewColumns(x[:d]), NewScaling(mul, add), slices.Clone(x)
				c.Add(x[:7*d])
				c.Add(x[7*d:])
				s.Apply(x[:11*d])
				s.Apply(x[11*d:])
				return x, c, s
			}
			scaled, c, s := run()
			as := use
			use = [loopCount]ISA{}
			plain, c2, s2 := run()
			use = as
			if c.Rows != rows || !slices.Equal(scaled, plain) || !slices.Equal(s.Seen, s2.Seen) ||
				!slices.Equal(c.Least, c2.Least) || !slices.Equal(c.Most, c2.Most) ||
				!slices.Equal(c.Sum, c2.Sum) || !slices.Equal(c.Squares, c2.Squares) {
				t.Fatalf("%d columns: other bits than plain Go's", d)
			}
			for j := range d {
				least, most, sum, squares, seen := x[j], x[j], 0., 0., int32(0)
				for i := j; i < len(x); i += d {
					over := float64(x[i]) - float64(x[j])
					least, most, sum, squares = min(least, x[i]), max(most, x[i]), sum+over, squares+over*over
					if scaled[i] != 0 {
						seen++
					}
					want := float64(x[i])*mul[j] + add[j]
					if math.Abs(float64(scaled[i])-want) > 1e-7*(1+math.Abs(want)) {
						t.Fatalf("%d columns: row %d, column %d scaled is %g, want %g", d, i/d, j, scaled[i], want)
					}
				}
				if c.Least[j] != least || c.Most[j] != most || math.Abs(c.Sum[j]-sum) > 1e-12*(1+squares) ||
					math.Abs(c.Squares[j]-squares) > 1e-12*(1+squares) || s.Seen[j] != seen {
					t.Fatalf("%d columns: column %d: %g to %g, sums %g and %g, %d not 0; want %g, %g, %g, %g, %d", d, j,
						c.Least[j], c.Most[j], c.Sum[j], c.Squares[j], s.Seen[j], least, most, sum, squares, seen)
				}
			}
		}
	})
}
