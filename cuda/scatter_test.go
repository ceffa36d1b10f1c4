//go:build cuda

package cuda

import (
	"fmt"
	"slices"
	"testing"
)

// TestScatter: each place is one column's, and the two directions undo each other, for any number of columns.
func TestScatter(t *testing.T) {
	sizes := []int{47236, 50000, 1 << 16, 99991}
	for d := range 300 {
		sizes = append(sizes, d+1)
	}
	for _, d := range sizes {
		c, taken := scatterOf(d, 1), make([]bool, d)
		for j := range uint32(d) {
			at := c.column(j)
			if int(at) >= d || taken[at] {
				t.Fatalf("of %d columns %d goes to %d, which is outside or taken", d, j, at)
			}
			taken[at] = true
			if was := c.columnAt(at); was != j {
				t.Fatalf("of %d columns %d goes to %d, which comes from %d", d, j, at, was)
			}
		}
	}
}

// TestScatterWeights: vectors go where their columns go, output by output, and come back; biases stay.
func TestScatterWeights(t *testing.T) {
	for _, k := range []int{1, 3, 40} {
		for _, d := range []int{1, 31, 100, 2049} {
			c, size := scatterOf(d, k), d*k+k
			v := make([]float32, 2*size) // two vectors, one behind the other
			for i := range v {
				v[i] = float32(i)
			}
			gpu, back := c.there(v, size), make([]float32, len(v))
			for i, got := range gpu {
				in := i % size
				want := in
				if in < d*k {
					want = int(c.columnAt(uint32(in/k)))*k + in%k
				}
				if got != float32(i-in+want) || c.weightAt(in) != want {
					t.Fatalf("%d columns of %d: place %d has %g, and weight %d; want %d", d, k, i, got,
						c.weightAt(in), i-in+want)
				}
			}
			err := c.back(back, size, func(w []float32) error { copy(w, gpu); return nil })
			if err != nil || !slices.Equal(back, v) {
				t.Errorf("%d columns of %d come back otherwise, %v", d, k, err)
			}
		}
	}
}

// TestScatterLines: the most frequent columns are in lines of their own, whether they come first or are the first of
// groups of equal size.
func TestScatterLines(t *testing.T) {
	for _, d := range []int{1 << 14, 47236, 50000, 1 << 20} {
		for groups := 1; groups <= 32; groups *= 2 {
			c, lines := scatterOf(d, 1), map[uint32]string{}
			each := d / lineFloats
			if groups > 1 {
				each /= 72 // as 32 beginnings are apart
			}
			for g := range groups {
				for i := range each {
					name := fmt.Sprintf("%d of group %d", i, g)
					line := c.column(uint32(g*(d/groups)+i)) / lineFloats
					if other, ok := lines[line]; ok {
						t.Fatalf("%d columns, %d groups: column %s shares a line with %s", d, groups, name, other)
					}
					lines[line] = name
				}
			}
		}
	}
}

// BenchmarkScatter is what a copy of 10 million weights takes longer, and numbers of a set that streams.
func BenchmarkScatter(b *testing.B) {
	const d = 10_000_000
	c, v := scatterOf(d, 1), make([]float32, d+1)
	b.Run("weights", func(b *testing.B) {
		b.SetBytes(4 * d)
		for range b.N {
			c.there(v, d+1)
		}
	})
	b.Run("back", func(b *testing.B) {
		b.SetBytes(4 * d)
		for range b.N {
			_ = c.back(v, d+1, func([]float32) error { return nil })
		}
	})
	b.Run("numbers", func(b *testing.B) {
		from := make([]uint32, 1<<16)
		for i := range from {
			from[i] = uint32(i) * 2654435761 % d
		}
		to := make([]uint32, len(from))
		b.SetBytes(int64(4 * len(from)))
		for range b.N {
			c.renumber(to, from, nil)
		}
	})
}
