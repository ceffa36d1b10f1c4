//go:build cuda

package cuda

import (
	"math"
	"slices"
	"testing"
)

// sums is what an evaluation adds up, in the order of a kernel's: n, loss, correct, squared
// error, sum of y and of y^2.
type sums [sumsEach]float64

// add takes in a row with the outputs z.
func (s *sums) add(z []float64, y, loss float64, values bool) {
	s[0]++
	s[1] += loss
	switch {
	case values:
		s[3] += (z[0] - y) * (z[0] - y)
		s[4] += y
		s[5] += y * y
	case len(z) == 1 && (z[0] > 0) == (y == 1), len(z) > 1 && z[int(y)] == slices.Max(z):
		s[2]++
	}
}

// check compares with the sums that the CTAs have left at an address.
func (s *sums) check(t *testing.T, g *gpuUnderTest, ctas int, at uint64, within float64) {
	t.Helper()
	var got sums
	for i, v := range get[float64](g, sumsEach*ctas, at) {
		got[i%sumsEach] += v
	}
	for i, want := range s {
		if math.Abs(got[i]-want) > within*max(1, math.Abs(want)) {
			t.Errorf("sums %v, the reference's %v", got, *s)
		}
	}
}
