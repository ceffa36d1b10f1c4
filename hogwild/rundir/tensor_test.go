package rundir

import (
	"math"
	"testing"
)

// TestHalf: all numbers of 16 bits, against the definition.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		sign, exponent, fraction := 1-2*float64(h>>15), h>>10&31, float64(h&1023)
		want := sign * math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = sign * math.Ldexp(fraction, -24)
		case exponent == 31 && fraction == 0:
			want = sign * math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		}
		got := half(uint16(h))
		if float64(got) != want && !(math.IsNaN(want) && got != got) || math.Signbit(float64(got)) != (h>>15 == 1) {
			t.Fatalf("%#x is %v, want %v", h, got, want)
		}
	}
}
